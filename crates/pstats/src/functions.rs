//! Functions, their counts, times and callers, as values.
//! Owns: nothing but their shape. Never: reads bytes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
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

/// As in a dict of Python's: the last value counts, in the place of the first. In place: a function may have callers by the million.
pub(crate) fn without_doubles<Of: Copy>(mut callers: Vec<(Function, Of)>) -> Vec<(Function, Of)> {
    let doubles = doubles(&callers);
    if doubles.is_empty() {
        return callers;
    }
    let mut is_kept = vec![true; callers.len()];
    for (first, later) in doubles {
        let value = callers[later].1;
        callers[first].1 = value;
        is_kept[later] = false;
    }
    let mut is_kept = is_kept.into_iter();
    callers.retain(|_| is_kept.next().unwrap_or(true));
    callers
}

/// Places with a function that an earlier place has, each behind the first of these; in the order of the file.
fn doubles<Of>(callers: &[(Function, Of)]) -> Vec<(usize, usize)> {
    let mut first_of: HashMap<&Function, usize> = HashMap::with_capacity(callers.len());
    let mut doubles = Vec::new();
    for (place, (function, _)) in callers.iter().enumerate() {
        match first_of.entry(function) {
            Entry::Occupied(first) => doubles.push((*first.get(), place)),
            Entry::Vacant(new) => {
                new.insert(place);
            }
        }
    }
    doubles
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

#[cfg(test)]
mod tests {
    use super::{Function, without_doubles};

    #[test]
    fn the_last_value_of_a_function_is_in_its_first_place() {
        let of = |lines: &[(i64, u64)]| -> Vec<(Function, u64)> {
            let function = |line| Function { file: "a.py".into(), line, name: "f".into() };
            lines.iter().map(|(line, calls)| (function(*line), *calls)).collect()
        };
        let doubled = of(&[(1, 10), (2, 20), (1, 11), (3, 30), (2, 21), (1, 12)]);
        assert_eq!(without_doubles(doubled), of(&[(1, 12), (2, 21), (3, 30)]));
        assert_eq!(without_doubles(of(&[(2, 20), (1, 10)])), of(&[(2, 20), (1, 10)]));
    }
}
