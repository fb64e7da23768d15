//! Why something cannot be measured: what, where, and what helps. The command turns it into `error:` and `hint:`.
//! Owns: the shape. Never: prints.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub what: String,
    pub details: Vec<String>,
    pub hint: String,
    /// The command line cannot be carried out as written.
    pub is_usage: bool,
}

impl Refusal {
    #[must_use]
    pub fn no(what: impl Into<String>, hint: impl Into<String>) -> Refusal {
        Refusal { what: what.into(), details: Vec::new(), hint: hint.into(), is_usage: false }
    }

    #[must_use]
    pub fn usage(what: impl Into<String>, hint: impl Into<String>) -> Refusal {
        Refusal { is_usage: true, ..Refusal::no(what, hint) }
    }

    #[must_use]
    pub fn detail(mut self, line: impl Into<String>) -> Refusal {
        self.details.push(line.into());
        self
    }
}

/// The system's words without Rust's `(os error 13)`.
#[must_use]
pub fn of_system(error: &std::io::Error) -> String {
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = plain.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
