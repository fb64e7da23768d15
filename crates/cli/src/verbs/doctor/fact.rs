//! A line of `genba doctor`: a fact, why it matters, and what would change it.
//! Owns: the words of JSON for how a fact stands. Never: finds one out.

use serde::Serialize;

/// What a fact means for the program and for genba.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// As it should be.
    Ok,
    /// It costs the program time.
    Slow,
    /// It keeps genba from something.
    Hinders,
    /// It cannot be told from here.
    Unknown,
    /// Neither good nor bad.
    Fact,
}

impl Standing {
    pub const fn word(self) -> &'static str {
        match self {
            Standing::Ok => "ok",
            Standing::Slow => "slow",
            Standing::Hinders => "hinders",
            Standing::Unknown => "unknown",
            Standing::Fact => "-",
        }
    }

    pub const fn is_wrong(self) -> bool {
        matches!(self, Standing::Slow | Standing::Hinders)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    pub group: &'static str,
    pub name: String,
    pub value: String,
    /// Why it matters.
    pub why: String,
    pub standing: Standing,
    /// What would change it, where that would help.
    pub remedy: Option<String>,
}

/// Facts of one group, as they are found.
pub struct Facts {
    group: &'static str,
    pub rows: Vec<Fact>,
}

impl Facts {
    pub const fn of(group: &'static str) -> Facts {
        Facts { group, rows: Vec::new() }
    }

    fn push(
        &mut self,
        standing: Standing,
        name: impl Into<String>,
        value: impl Into<String>,
        why: &str,
        remedy: Option<String>,
    ) {
        let (name, value, why) = (name.into(), value.into(), why.to_owned());
        self.rows.push(Fact { group: self.group, name, value, why, standing, remedy });
    }

    pub fn ok(&mut self, name: impl Into<String>, value: impl Into<String>, why: &str) {
        self.push(Standing::Ok, name, value, why, None);
    }

    pub fn fact(&mut self, name: impl Into<String>, value: impl Into<String>, why: &str) {
        self.push(Standing::Fact, name, value, why, None);
    }

    pub fn unknown(&mut self, name: impl Into<String>, value: impl Into<String>, why: &str) {
        self.push(Standing::Unknown, name, value, why, None);
    }

    pub fn slow(&mut self, name: impl Into<String>, value: impl Into<String>, why: &str, remedy: impl Into<String>) {
        self.push(Standing::Slow, name, value, why, Some(remedy.into()));
    }

    pub fn hinders(&mut self, name: impl Into<String>, value: impl Into<String>, why: &str, remedy: impl Into<String>) {
        self.push(Standing::Hinders, name, value, why, Some(remedy.into()));
    }
}
