//! One broken rule: where, what was found, what to do instead. Owns: its text form. Never: finds or repairs anything.

use std::fmt;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Path below the root, with a line where there is one: `crates/signal/src/unwind.rs:41`.
    pub place: String,
    pub found: String,
    pub instead: String,
}

impl Violation {
    pub fn new(place: impl Into<String>, found: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { place: place.into(), found: found.into(), instead: instead.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}; {}", self.place, self.found, self.instead)
    }
}

/// Ok when there are none, else one line each under a heading with their number.
pub fn verdict(check: &str, mut violations: Vec<Violation>) -> Result<(), String> {
    if violations.is_empty() {
        return Ok(());
    }
    violations.sort();
    let lines: Vec<String> = violations.iter().map(|v| format!("  {v}")).collect();
    Err(format!("{check}: {} broken rule(s)\n{}", violations.len(), lines.join("\n")))
}
