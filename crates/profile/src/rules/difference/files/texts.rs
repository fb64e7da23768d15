//! Texts of files, to tell a file that was renamed from another one that took its name.
//! Owns: when two texts are those of one file. Never: keeps a text: hashes of its lines are enough.

use std::hash::{DefaultHasher, Hash, Hasher};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    whole: u64,
    /// Of the lines that are not blank, each once, in order.
    lines: Vec<u64>,
}

impl Text {
    /// `known`: of the file in an earlier recording. Most recordings have the same text, whose lines are then not hashed again.
    #[must_use]
    pub fn of(text: &str, known: Option<&Text>) -> Text {
        let whole = hash_of(text);
        if let Some(same) = known.filter(|known| known.whole == whole) {
            return same.clone();
        }
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut lines: Vec<u64> = lines.map(hash_of).collect();
        lines.sort_unstable();
        lines.dedup();
        Text { whole, lines }
    }

    /// Half of its lines or more are in the other one.
    #[must_use]
    pub fn is_edited_to(&self, other: &Text) -> bool {
        let kept = self.lines.iter().filter(|line| other.lines.binary_search(line).is_ok()).count();
        2 * kept >= self.lines.len()
    }
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn a_text_that_keeps_half_of_its_lines_was_edited() {
        let of = |text: &str| Text::of(text, None);
        let is_edited = |before: &str, after: &str| of(before).is_edited_to(&of(after));
        assert!(is_edited("a\nb\n", "x\n  b\ny\nz\n"));
        assert!(!is_edited("a\nb\nc\n", "c\nd\n"));
        assert_eq!(of("a\n"), of("a\n"));
        assert_ne!(of("a\nb\n"), of("b\na\n"));
        for known in ["a\nb\n", "a\nc\n"] {
            assert_eq!(Text::of("a\nb\n", Some(&of(known))), of("a\nb\n"));
        }
    }
}
