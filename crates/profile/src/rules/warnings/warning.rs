//! A warning: what is wrong, and what a reader can do about it.
//! Owns: that none is made without a remedy. What nobody can act on is a line of the accounting, and no warning.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    what: String,
    remedy: String,
}

impl Warning {
    /// Neither ends with a mark. `remedy`: a command, or what to change.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Warning {
        Warning { what: what.into(), remedy: remedy.into() }
    }

    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    #[must_use]
    pub fn remedy(&self) -> &str {
        &self.remedy
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}
