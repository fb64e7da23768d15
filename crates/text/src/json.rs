//! JSON for people and programs: what it says is as it is, and no letter of it does harm on a screen.

use serde::Serialize;

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

/// Outside of strings JSON has no such letters, and in strings it has numbers for them.
fn escaped(mut page: String) -> String {
    page.push('\n');
    let does_harm = |letter: char| letter != '\n' && !is_harmless(letter);
    if page.contains(does_harm) {
        let mut units = [0; 2];
        let letters = page.chars().map(|letter| match does_harm(letter) {
            true => letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
            false => String::from(letter),
        });
        return letters.collect();
    }
    page
}

#[cfg(test)]
mod tests {
    use super::{compact, pretty};

    #[test]
    fn harmful_letters_are_numbers_and_come_back() {
        let names = ["\u{9b}2J\u{1b}[31m\n\t", "\u{202e}gpj\u{2028}\u{2029}\u{61c}", "мир 🐍 \"\\"];
        let page = compact(&names).expect("JSON");
        assert_eq!(page, "[\"\\u009b2J\\u001b[31m\\n\\t\",\"\\u202egpj\\u2028\\u2029\\u061c\",\"мир 🐍 \\\"\\\\\"]\n");
        assert_eq!(serde_json::from_str::<Vec<String>>(&page).expect("JSON"), names);
        assert_eq!(serde_json::from_str::<Vec<String>>(&pretty(&names).expect("JSON")).expect("JSON"), names);
    }
}
