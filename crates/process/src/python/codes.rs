//! The code objects that were copied out of a process so far.
//! Owns: the table that the walk looks them up in, decoding copies. Never: reads the process (crates/python copies).
//! Partner: crates/python/src/code_capture.rs, which says where in the table a key is looked for.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

use genba_python::code_capture::{COMPLETE, PROBES_MAX, Seen, SeenEntry, TailHead, is_init_cleanup};

const SLOTS: usize = 1 << 14;

/// A code object, copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Code {
    pub qualname: String,
    pub filename: String,
    pub first_line: u32,
    pub linetable: Vec<u8>,
    linetable_bytes: u32,
}

impl Code {
    /// Whether it is no function of the program, nor of any library.
    #[must_use]
    pub fn is_interpreters_own(&self) -> bool {
        is_init_cleanup(&self.qualname, &self.filename, self.linetable_bytes)
    }
}

/// Rows are never removed: a key stands for one code object as long as it lives, and for one like it afterwards.
pub struct Codes {
    rows: Vec<Code>,
    by_key: HashMap<u64, u32>,
    slots: Vec<SeenEntry>,
}

impl Default for Codes {
    fn default() -> Codes {
        let empty = || SeenEntry { key: AtomicU64::new(0), progress: AtomicU64::new(0) };
        Codes { rows: Vec::new(), by_key: HashMap::new(), slots: (0..SLOTS).map(|_| empty()).collect() }
    }
}

impl Codes {
    #[must_use]
    pub fn row(&self, index: u32) -> Option<&Code> {
        self.rows.get(index as usize)
    }

    /// What the walk asks which codes are known.
    #[must_use]
    pub fn seen(&self) -> Seen {
        Seen { entries: self.slots.as_ptr(), mask: SLOTS as u64 - 1 }
    }

    /// The row of the code object that the walk copied to this place, which is known from now on.
    pub fn take(&mut self, tail: &[u64], position: u32) -> Option<u32> {
        let (head, words) = TailHead::read(tail, position as usize)?;
        let (qualname, rest) = words.split_at_checked(head.qualname.words())?;
        let (filename, rest) = rest.split_at_checked(head.filename.words())?;
        let part = bytes(rest, head.part_bytes);
        let index = match self.by_key.get(&head.key) {
            Some(&index) => index,
            None => {
                self.rows.push(Code {
                    qualname: head.qualname.text(qualname).unwrap_or_default(),
                    filename: head.filename.text(filename).unwrap_or_default(),
                    first_line: head.first_line,
                    linetable: Vec::new(),
                    linetable_bytes: head.linetable_bytes,
                });
                let index = u32::try_from(self.rows.len() - 1).ok()?;
                self.by_key.insert(head.key, index);
                index
            }
        };
        let row = self.rows.get_mut(index as usize)?;
        if row.linetable.len() == head.part_offset as usize {
            row.linetable.extend(part);
        }
        let known =
            if row.linetable.len() >= row.linetable_bytes as usize { COMPLETE } else { row.linetable.len() as u64 };
        self.publish(head.key, u64::from(index) << 32 | known);
        Some(index)
    }

    /// A key without a free slot is copied again each time.
    fn publish(&mut self, key: u64, progress: u64) {
        let first = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        for slot in (first..).take(PROBES_MAX) {
            let Some(entry) = self.slots.get_mut(slot as usize & (SLOTS - 1)) else { return };
            if matches!(*entry.key.get_mut(), found if found == 0 || found == key) {
                *entry = SeenEntry { key: AtomicU64::new(key), progress: AtomicU64::new(progress) };
                return;
            }
        }
    }
}

fn bytes(words: &[u64], count: u32) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).take(count as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::Codes;
    use genba_python::code_capture::COMPLETE;

    #[test]
    fn a_published_key_is_found() {
        let mut codes = Codes::default();
        for key in 1..5000_u64 {
            codes.publish(key | 1, key << 32 | COMPLETE);
        }
        let found = (1..5000_u64).filter(|key| codes.seen().find(key | 1).is_some()).count();
        assert!(found > 4900, "{found}");
        assert_eq!(codes.seen().find(1 << 40 | 1), None);
    }
}
