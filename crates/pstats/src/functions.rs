//! Functions, their counts, times and callers, as values.
//! Owns: nothing but their shape. Never: reads bytes.

use std::collections::HashMap;
use std::sync::Arc;

/// The file, line and name of a function. `~`, 0 and `<built-in method …>` are a function of C.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Function {
    pub file: Arc<str>,
    pub line: i64,
    pub name: Arc<str>,
}

/// What a caller had of a function, as cProfile tells it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    pub calls: u64,
    /// Those that are no recursion.
    pub primitive_calls: u64,
    pub own_s: f64,
    pub total_s: f64,
}

/// In the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Callers {
    /// Of cProfile: counts and times.
    Timed(Vec<(Function, Timing)>),
    /// Of profile, and of CPython's sampling profiler: a number each.
    Counted(Vec<(Function, u64)>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub function: Function,
    pub calls: u64,
    pub primitive_calls: u64,
    /// pstats' tottime.
    pub own_s: f64,
    /// pstats' cumtime.
    pub total_s: f64,
    pub callers: Callers,
}

/// How often and how long the coroutines of a function waited. Of `genba trace`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Awaits {
    pub count: u64,
    pub waited_s: f64,
    /// Those that had not ended.
    pub open: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prof {
    /// In the order of the file, each function once.
    pub rows: Vec<Row>,
    /// None: the file does not tell of any.
    pub awaits: Vec<(Function, Awaits)>,
    /// Of CPython's sampling profiler (3.15): its counts are samples.
    pub is_sampled: bool,
    /// Bytes behind the last value, which marshal does not read.
    pub rest_bytes: u64,
}

/// As in a dict of Python's: the last value counts, in the place of the first.
pub(crate) fn without_doubles<Of>(callers: Vec<(Function, Of)>) -> Vec<(Function, Of)> {
    let mut place_of: HashMap<Function, usize> = HashMap::with_capacity(callers.len());
    let mut kept: Vec<(Function, Of)> = Vec::with_capacity(callers.len());
    for (function, value) in callers {
        match place_of.get(&function) {
            Some(place) => kept[*place].1 = value,
            None => {
                place_of.insert(function.clone(), kept.len());
                kept.push((function, value));
            }
        }
    }
    kept
}

impl Callers {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Callers::Timed(callers) => callers.is_empty(),
            Callers::Counted(callers) => callers.is_empty(),
        }
    }
}
