//! What a row of a comparison is.
//! Owns: whose difference it tells, and what tells rows apart. Never: computes one.

use crate::rules::difference::aligned::{Function, SiteIndex};
use crate::rules::difference::certainty::Estimate;
use crate::rules::phase::Phase;

#[derive(Clone, Debug)]
pub struct Row {
    pub subject: Subject,
    /// Of a function: how many.
    pub expressions: usize,
    pub samples_before: u64,
    pub samples_after: u64,
    pub estimate: Estimate,
    /// Only one side has it, and it is part of a row of `rewritten`.
    pub is_rewritten: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Code { code: Code, caller: Option<Code> },
    Phase(Phase),
    NoPython,
}

/// Where and what, as it is in the newest recording that has it: of a row that only A has, in one of A.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub file: String,
    pub line: Option<u32>,
    pub function: String,
    pub expression: Option<String>,
}

/// What a row is, in all recordings.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Key {
    Expression { own: SiteIndex, caller: Option<SiteIndex> },
    Function { own: Function, caller: Option<Function> },
    Phase(Phase),
    NoPython,
}
