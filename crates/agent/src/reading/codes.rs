//! The code objects seen so far: rows of the recording's table, and the table by which the handler knows them.
//! Owns: `Seen` (I-08: only the sampler writes it), reading of tail entries. Never: reads a code object itself.

use crate::reading::modules::nobody_walks;
use crate::writing::tables::Tables;
use genba_format::proto;
use genba_python::code_capture::{COMPLETE, PROBES_MAX, Seen, SeenEntry, TailHead, is_init_cleanup};
use genba_signal::handler::SHARED;
use rustc_hash::FxHashMap;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};

struct Known {
    row: u32,
    linetable_known: u32,
    linetable_bytes: u32,
}

pub struct Codes {
    known: FxHashMap<u64, Known>,
    table: Box<SeenTable>,
    #[expect(clippy::vec_box, reason = "a handler may still hold the address")]
    retired: Vec<Box<SeenTable>>,
    /// Row of the interpreter's own code between a class that is called and its `__init__`.
    init_cleanup: Option<u32>,
}

struct SeenTable {
    entries: Vec<SeenEntry>,
    reader: Seen,
}

impl SeenTable {
    fn new(entries: usize) -> Box<SeenTable> {
        let entries: Vec<SeenEntry> = (0..entries).map(|_| SeenEntry { key: 0.into(), progress: 0.into() }).collect();
        let reader = Seen { entries: entries.as_ptr(), mask: entries.len() as u64 - 1 };
        Box::new(SeenTable { entries, reader })
    }

    /// Forgets all entries, and those beyond `entries` for good. In place: a forked child needs no memory for it. The caller knows that
    /// no handler reads the table.
    fn empty(&mut self, entries: usize) {
        self.entries.truncate(entries);
        self.entries.shrink_to_fit();
        // A page without entries is only read, so that it stays shared with the parent of a forked child.
        for entry in self.entries.iter().filter(|entry| entry.key.load(Relaxed) != 0) {
            entry.key.store(0, Relaxed);
        }
        self.reader = Seen { entries: self.entries.as_ptr(), mask: self.entries.len() as u64 - 1 };
    }

    /// False: no room near the key's slot.
    fn set(&self, key: u64, progress: u64) -> bool {
        let mut slot = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        for _ in 0..PROBES_MAX {
            let entry = &self.entries[(slot & self.reader.mask) as usize];
            match entry.key.load(Relaxed) {
                0 => {
                    entry.progress.store(progress, Relaxed);
                    // Release: pairs with the Acquire in genba_python::seen::find.
                    entry.key.store(key, Release);
                    return true;
                }
                found if found == key => {
                    entry.progress.store(progress, Relaxed);
                    return true;
                }
                _ => slot += 1,
            }
        }
        false
    }
}

impl Codes {
    const ENTRIES_FIRST: usize = 1 << 12;
    const ENTRIES_MAX: usize = 1 << 20;

    #[must_use]
    pub fn new() -> Codes {
        let table = SeenTable::new(Self::ENTRIES_FIRST);
        publish(&table);
        Codes { known: FxHashMap::default(), table, retired: Vec::new(), init_cleanup: None }
    }

    /// The row of the code object that the tail describes at `position`; new or longer ones go into `tables`.
    pub fn register(&mut self, tables: &mut Tables, tail: &[u64], position: u32) -> Option<u32> {
        let (head, rest) = TailHead::read(tail, position as usize)?;
        let (qualname, rest) = rest.split_at_checked(head.qualname.words())?;
        let (filename, rest) = rest.split_at_checked(head.filename.words())?;
        let part = bytes_of(rest, head.part_bytes as usize)?;
        if let Some(known) = self.known.get_mut(&head.key) {
            if head.part_offset == known.linetable_known && head.part_bytes > 0 {
                known.linetable_known += head.part_bytes;
                tables.code_part(proto::CodePart { code: known.row, offset: head.part_offset, linetable: part });
            }
        } else if head.qualname.kind == 0 || head.part_offset != 0 {
            // The rest of an object that was forgotten when the table was full.
            return None;
        } else {
            let (qualname, filename) = (head.qualname.text(qualname)?, head.filename.text(filename)?);
            let is_init_cleanup = is_init_cleanup(&qualname, &filename, head.linetable_bytes);
            let qualname = tables.string(qualname.as_bytes());
            let filename = tables.string(filename.as_bytes());
            let row = tables.code(proto::Code {
                qualname,
                filename,
                first_line: head.first_line,
                linetable_bytes: head.linetable_bytes,
                linetable: part,
            });
            if is_init_cleanup {
                self.init_cleanup = Some(row);
            }
            let known = Known { row, linetable_known: head.part_bytes, linetable_bytes: head.linetable_bytes };
            self.known.insert(head.key, known);
        }
        let known = self.known.get(&head.key)?;
        let row = known.row;
        let progress =
            if known.linetable_known >= known.linetable_bytes { COMPLETE } else { u64::from(known.linetable_known) };
        if !self.table.set(head.key, u64::from(row) << 32 | progress) || self.known.len() * 2 > self.table.entries.len()
        {
            self.grow();
        }
        Some(row)
    }

    /// Forgets the rows of a recording: the next one, or a forked child's, begins without any.
    pub fn begin_anew(&mut self) {
        self.known = FxHashMap::default();
        self.init_cleanup = None;
        if nobody_walks() {
            self.retired.clear();
            self.table.empty(Self::ENTRIES_FIRST);
        } else {
            let table = SeenTable::new(Self::ENTRIES_FIRST);
            publish(&table);
            self.retired.push(std::mem::replace(&mut self.table, table));
        }
    }

    /// Whether this row is no function of the program, nor of any library: no traceback shows it.
    #[must_use]
    pub fn is_interpreters_own(&self, row: u32) -> bool {
        self.init_cleanup == Some(row)
    }

    /// A table of twice the size. At the largest one everything is forgotten instead: it will be seen again.
    fn grow(&mut self) {
        let entries = self.table.entries.len() * 2;
        let table = if entries > Self::ENTRIES_MAX {
            self.known.clear();
            SeenTable::new(Self::ENTRIES_FIRST)
        } else {
            SeenTable::new(entries)
        };
        for (&key, known) in &self.known {
            let progress = if known.linetable_known >= known.linetable_bytes {
                COMPLETE
            } else {
                u64::from(known.linetable_known)
            };
            // What finds no place is seen as new again and gets the same row by its key.
            table.set(key, u64::from(known.row) << 32 | progress);
        }
        publish(&table);
        self.retired.push(std::mem::replace(&mut self.table, table));
    }

    pub fn free_retired(&mut self) {
        if !self.retired.is_empty() && nobody_walks() {
            self.retired.clear();
        }
    }
}

fn publish(table: &SeenTable) {
    // SeqCst: a handler swaps its buffer to Walking before it loads this pointer (I-08).
    SHARED.seen.store((&raw const table.reader).cast_mut(), SeqCst);
}

fn bytes_of(words: &[u64], bytes: usize) -> Option<Vec<u8>> {
    let words = words.get(..bytes.div_ceil(8))?;
    let mut out: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    out.truncate(bytes);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::Codes;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn a_table_that_grew_is_small_and_empty_for_the_next_recording() {
        let mut codes = Codes::new();
        assert!(codes.table.set(4096, 1));
        codes.grow();
        assert!(codes.table.set(8192, 1));
        assert_eq!(codes.table.entries.len(), 2 * Codes::ENTRIES_FIRST);
        codes.begin_anew();
        assert_eq!(codes.table.entries.len(), Codes::ENTRIES_FIRST);
        assert!(codes.table.entries.iter().all(|entry| entry.key.load(Relaxed) == 0));
        assert_eq!(codes.table.reader.mask, Codes::ENTRIES_FIRST as u64 - 1);
        assert_eq!(codes.table.reader.entries, codes.table.entries.as_ptr());
    }
}
