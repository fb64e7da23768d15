//! A text as a part of a page.
//! Owns: which characters a page would take for its own. Never: makes a page.

/// For the inside of an element, or of an attribute between double quotes.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn a_text_is_no_element_and_ends_no_attribute() {
        assert_eq!(escaped("<a href=\"x\">&amp;"), "&lt;a href=&quot;x&quot;&gt;&amp;amp;");
    }
}
