//! Colour for terminals. It adds nothing: without it the text is the same.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    #[default]
    Plain,
    Colour,
}

impl Paint {
    pub fn strong(self, text: &str) -> String {
        self.wrapped("1", text)
    }

    /// The mark under an expression.
    pub fn mark(self, text: &str) -> String {
        self.wrapped("1;31", text)
    }

    pub fn quiet(self, text: &str) -> String {
        self.wrapped("2", text)
    }

    pub fn warning(self, text: &str) -> String {
        self.wrapped("33", text)
    }

    fn wrapped(self, code: &str, text: &str) -> String {
        match self {
            Paint::Colour if !text.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Paint::Colour | Paint::Plain => text.to_string(),
        }
    }
}
