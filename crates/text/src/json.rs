//! JSON for people and programs: what it says is as it is, and no letter of it does harm on a screen.

use std::io;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::is_harmless;

/// Over several lines, with an end of line.
///
/// # Errors
/// Of `Serialize`.
pub fn pretty(page: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(page).map(escaped)
}

/// On one line, with an end of line.
///
/// # Errors
/// Of `Serialize`.
pub fn compact(page: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(page).map(escaped)
}

/// The same, never in memory as a whole.
///
/// # Errors
/// Of `out`, and of `Serialize`.
pub fn write(page: &impl Serialize, mut out: impl io::Write) -> io::Result<()> {
    page.serialize(&mut Serializer::with_formatter(&mut out, Harmless))?;
    out.write_all(b"\n")
}

/// Outside of strings JSON has no such letters, and in strings it has numbers for them.
fn escaped(mut page: String) -> String {
    page.push('\n');
    let does_harm = |letter: char| letter != '\n' && !is_harmless(letter);
    if page.contains(does_harm) {
        let letters = page.chars().map(|letter| match does_harm(letter) {
            true => as_number(letter),
            false => String::from(letter),
        });
        return letters.collect();
    }
    page
}

fn as_number(letter: char) -> String {
    letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// On one line, as serde_json writes it by itself.
struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W>(&mut self, out: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        let mut written = 0;
        for (at, harmful) in fragment.match_indices(|letter: char| !is_harmless(letter)) {
            out.write_all(&fragment.as_bytes()[written..at])?;
            for letter in harmful.chars() {
                out.write_all(as_number(letter).as_bytes())?;
            }
            written = at + harmful.len();
        }
        out.write_all(&fragment.as_bytes()[written..])
    }
}

#[cfg(test)]
mod tests {
    use super::{compact, pretty, write};

    #[test]
    fn harmful_letters_are_numbers_and_come_back() {
        let names = ["\u{9b}2J\u{1b}[31m\n\t", "\u{202e}gpj\u{2028}\u{2029}\u{61c}", "мир 🐍 \"\\"];
        let page = compact(&names).expect("JSON");
        assert_eq!(page, "[\"\\u009b2J\\u001b[31m\\n\\t\",\"\\u202egpj\\u2028\\u2029\\u061c\",\"мир 🐍 \\\"\\\\\"]\n");
        assert_eq!(serde_json::from_str::<Vec<String>>(&page).expect("JSON"), names);
        assert_eq!(serde_json::from_str::<Vec<String>>(&pretty(&names).expect("JSON")).expect("JSON"), names);
        let mut written = Vec::new();
        write(&names, &mut written).expect("memory takes all");
        assert_eq!(String::from_utf8(written).expect("text"), page);
    }
}
