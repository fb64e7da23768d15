//! Text that comes from programs and their files: names, values, paths. Anything may be in it.
//! Owns: which characters do harm wherever text is shown, and a text between quotes. Never: measures or cuts a text.
#![forbid(unsafe_code)]

pub mod html;
pub mod json;

/// It neither steers a terminal, nor ends a line, nor turns the direction of writing.
#[must_use]
pub fn is_harmless(character: char) -> bool {
    // Source: Unicode 16, UAX #9, explicit directional formatting characters; UAX #14, BK.
    let turns_direction =
        matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let ends_line = matches!(character, '\u{2028}' | '\u{2029}');
    !character.is_control() && !turns_direction && !ends_line
}

/// For what keeps its blanks: each character that is not harmless is one visible sign.
#[must_use]
pub fn harmless(text: &str) -> String {
    text.replace(|character: char| !is_harmless(character), "\u{fffd}")
}

/// As Python's `repr` writes a `str`.
#[must_use]
pub fn repr(text: &str) -> String {
    quoted(text, if text.contains('\'') && !text.contains('"') { '"' } else { '\'' })
}

/// Between these quotes, with escapes as Python's `repr` has them.
#[must_use]
pub fn quoted(text: &str, quote: char) -> String {
    let mut written = String::from(quote);
    for character in text.chars() {
        let number = u32::from(character);
        match character {
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            _ if character == quote => written.extend(['\\', character]),
            '\'' | '"' => written.push(character),
            _ if is_printable(character) => written.push(character),
            _ if number <= 0xff => written.push_str(&format!("\\x{number:02x}")),
            _ if number <= 0xffff => written.push_str(&format!("\\u{number:04x}")),
            _ => written.push_str(&format!("\\U{number:08x}")),
        }
    }
    written.push(quote);
    written
}

fn is_printable(character: char) -> bool {
    // A mark is printed only behind the character that it belongs to.
    ['a', character].iter().collect::<String>().escape_debug().count() == 2
}

#[cfg(test)]
mod tests {
    use super::{harmless, is_harmless, repr};

    #[test]
    fn a_text_is_written_as_python_writes_it() {
        for (text, written) in [
            ("key", "'key'"),
            ("\u{1b}[31m\n\r\t\0", r"'\x1b[31m\n\r\t\x00'"),
            ("it's", r#""it's""#),
            ("it's a \"\\\"", r#"'it\'s a "\\"'"#),
            ("\u{202e}\u{2028}\u{e0001}\u{7f}\u{ad}", r"'\u202e\u2028\U000e0001\x7f\xad'"),
            ("мир, e\u{301}", "'мир, e\u{301}'"),
            ("🐍", "'🐍'"),
        ] {
            assert_eq!(repr(text), written);
        }
    }

    #[test]
    fn what_is_quoted_is_harmless() {
        for character in '\0'..=char::MAX {
            assert!(repr(&character.to_string()).chars().all(is_harmless), "{character:?}");
        }
        assert_eq!(harmless("a\tb\u{202e}c\u{85}"), "a\u{fffd}b\u{fffd}c\u{fffd}");
    }
}
