//! Texts of the program as they are copied: whole up to a bound in letters, whatever their width; beyond it both ends and a hash.

use genba_python::code_capture::{HASHED_BYTES_MAX, LETTERS_MAX, Tail, locate};
use genba_python::memory::{Address, Fault, Memory};

use crate::layouts::LAYOUTS;

const OBJECT: u64 = 0x10_0000;
const LETTERS: usize = LETTERS_MAX as usize;

/// A str of one width, and nothing behind it.
struct Str(Vec<u8>);

impl Str {
    fn of(letters: &[u32], kind: u8) -> Str {
        let strings = &LAYOUTS[0].strings;
        let mut bytes = vec![0; strings.compact as usize];
        bytes[strings.length as usize..][..8].copy_from_slice(&(letters.len() as u64).to_le_bytes());
        bytes[strings.state as usize..][..4].copy_from_slice(&(u32::from(kind) << 2 | 1 << 5).to_le_bytes());
        bytes.extend(letters.iter().flat_map(|letter| letter.to_le_bytes().into_iter().take(kind.into())));
        Str(bytes)
    }

    fn copied(&self) -> String {
        let located = locate(self, &LAYOUTS[0], Address(OBJECT)).unwrap();
        let mut words = vec![0; located.copied.words()];
        let mut tail = Tail::new(&mut words);
        tail.push_text(self, &located).unwrap();
        assert_eq!(tail.len(), located.copied.words());
        located.copied.text(&words).unwrap()
    }
}

impl Memory for Str {
    fn word(&self, address: Address) -> Result<u64, Fault> {
        let at = address.0.checked_sub(OBJECT).ok_or(Fault)? as usize;
        // Bytes are read out of the aligned word that they lie in, which may end behind the object.
        if at >= self.0.len() {
            return Err(Fault);
        }
        Ok(u64::from_le_bytes(std::array::from_fn(|byte| self.0.get(at + byte).copied().unwrap_or(0))))
    }
}

const WIDTHS: [(u8, char); 3] = [(1, 'é'), (2, 'Я'), (4, '😀')];

#[test]
fn a_text_of_any_width_is_whole_up_to_the_bound() {
    for (kind, letter) in WIDTHS {
        for count in [0, 1, 7, 8, 9, 255, LETTERS - 1, LETTERS] {
            let letters = vec![letter as u32; count];
            assert_eq!(Str::of(&letters, kind).copied(), letter.to_string().repeat(count), "{kind} {count}");
        }
    }
    assert_eq!(Str::of(&[0xDCE9, 'a' as u32], 2).copied(), "\\udce9a");
}

#[test]
fn of_a_longer_text_both_ends_are_copied_and_each_letter_tells_it_from_others() {
    for (kind, letter) in WIDTHS {
        let count = (2 * HASHED_BYTES_MAX as usize / usize::from(kind)).min(3 * LETTERS) - 1;
        let letters = vec![letter as u32; count];
        let same = Str::of(&letters, kind).copied();
        assert_eq!(Str::of(&letters, kind).copied(), same);
        let end = letter.to_string().repeat(LETTERS / 2);
        assert!(same.starts_with(&format!("{end}…({count} letters, ")) && same.ends_with(&format!(")…{end}")));
        for place in [0, LETTERS / 2, count / 2, count / 2 + 1, count - LETTERS / 2 - 1, count - 1] {
            let mut other = letters.clone();
            other[place] = 'z' as u32;
            assert_ne!(Str::of(&other, kind).copied(), same, "{kind} {place}");
        }
        assert_ne!(Str::of(&letters[1..], kind).copied(), same);
    }
}
