//! A text as a part of a page.
//! Owns: which characters a page would take for its own. Never: makes a page.

use crate::is_harmless;

/// For the inside of an element, or of an attribute between double quotes. Each character that is not harmless is one visible sign; lines stay.
#[must_use]
pub fn escaped(text: &str) -> String {
    let does_harm = |character: char| !matches!(character, '\n' | '\t') && !is_harmless(character);
    let text = text.replace(does_harm, "\u{fffd}");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn a_text_is_no_element_and_ends_no_attribute() {
        assert_eq!(escaped("<a href=\"x\">&amp;"), "&lt;a href=&quot;x&quot;&gt;&amp;amp;");
    }

    #[test]
    fn a_text_does_not_turn_the_direction_of_a_page() {
        assert_eq!(escaped("a\u{202e}b\x1bc\u{2028}d\r\te\nf"), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}\te\nf");
    }
}
