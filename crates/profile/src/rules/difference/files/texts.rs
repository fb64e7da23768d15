//! Texts of files, as far as they tell a file that was renamed from another one that took its name.
//! Owns: when two texts are of one file. Never: keeps a text: hashes of its lines tell.

use std::hash::{DefaultHasher, Hash, Hasher};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    whole: u64,
    /// Of the lines that are not blank, each once, in order.
    lines: Vec<u64>,
}

impl Text {
    #[must_use]
    pub fn of(text: &str) -> Text {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut lines: Vec<u64> = lines.map(hash_of).collect();
        lines.sort_unstable();
        lines.dedup();
        Text { whole: hash_of(text), lines }
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
        let is_edited = |before: &str, after: &str| Text::of(before).is_edited_to(&Text::of(after));
        assert!(is_edited("a\nb\n", "x\n  b\ny\nz\n"));
        assert!(!is_edited("a\nb\nc\n", "c\nd\n"));
        assert_eq!(Text::of("a\n"), Text::of("a\n"));
        assert_ne!(Text::of("a\nb\n"), Text::of("b\na\n"));
    }
}
