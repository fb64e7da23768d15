//! Functions, their counts, times and callers, as values.
//! Owns: their shape, and the number that a function has wherever it is named. Never: reads bytes.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::ops::Index;
use std::sync::Arc;

/// The file, line and name of a function. `~`, 0 and `<built-in method …>` are a function of C.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Function {
    pub file: Arc<str>,
    pub line: i64,
    pub name: Arc<str>,
}

/// A function's number in its profile: four bytes in place of forty, for a function may be the caller of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionId(u32);

impl FunctionId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Each function of a profile once, in the order in which they were met.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    all: Vec<Function>,
    /// By their hashes: a function's number and 1, or 0 for none; at most half are taken. A map from functions would hold each once more.
    slots: Vec<u32>,
    /// Another one in each profile: no file can be written whose functions all want one slot.
    hasher: RandomState,
}

const SLOTS_MIN: usize = 16;

impl Functions {
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn id(&mut self, function: Function) -> FunctionId {
        if 2 * (self.all.len() + 1) > self.slots.len() {
            self.grow();
        }
        let slot = self.slot(&function);
        if let Some(known) = self.slots[slot].checked_sub(1) {
            return FunctionId(known);
        }
        let id = FunctionId(self.all.len() as u32);
        self.slots[slot] = id.0 + 1;
        self.all.push(function);
        id
    }

    pub(crate) fn into_all(self) -> Vec<Function> {
        self.all
    }

    fn grow(&mut self) {
        let slots = (2 * self.slots.len()).max(SLOTS_MIN);
        // The old ones go before the new ones come.
        self.slots = Vec::new();
        self.slots = vec![0; slots];
        for (place, function) in self.all.iter().enumerate() {
            let slot = self.slot(function);
            self.slots[slot] = place as u32 + 1;
        }
    }

    /// Where the function is, or may be.
    fn slot(&self, function: &Function) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (self.hasher.hash_one(function) as usize) & mask;
        loop {
            match self.slots[slot].checked_sub(1) {
                Some(other) if self.all[other as usize] != *function => slot = (slot + 1) & mask,
                _ => return slot,
            }
        }
    }
}

impl Index<FunctionId> for Functions {
    type Output = Function;

    fn index(&self, id: FunctionId) -> &Function {
        &self.all[id.index()]
    }
}

/// Where functions are in a list: a place and 1, or 0 for none, by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlaceOf(Vec<u32>);

impl PlaceOf {
    pub fn get(&self, function: FunctionId) -> Option<usize> {
        let place = self.0.get(function.index())?.checked_sub(1)?;
        Some(place as usize)
    }

    pub fn set(&mut self, function: FunctionId, place: usize) {
        if self.0.len() <= function.index() {
            self.0.resize(function.index() + 1, 0);
        }
        self.0[function.index()] = place as u32 + 1;
    }

    /// In this list. A place that was noted for another one is not believed, so that one table serves many lists.
    pub fn within<Of>(&self, list: &[(FunctionId, Of)], function: FunctionId) -> Option<usize> {
        self.get(function).filter(|place| list.get(*place).is_some_and(|(known, _)| *known == function))
    }

    /// As in a dict of Python's: the last value counts, in the place of the first. Whether the list has become longer.
    pub fn put<Of>(&mut self, list: &mut Vec<(FunctionId, Of)>, function: FunctionId, value: Of) -> bool {
        match self.within(list, function) {
            Some(place) => {
                list[place].1 = value;
                false
            }
            None => {
                self.set(function, list.len());
                list.push((function, value));
                true
            }
        }
    }
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

/// In the order of the file, each once.
#[derive(Clone, Debug, PartialEq)]
pub enum Callers {
    /// Of cProfile: counts and times.
    Timed(Vec<(FunctionId, Timing)>),
    /// Of profile, and of CPython's sampling profiler: a number each.
    Counted(Vec<(FunctionId, u64)>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub function: FunctionId,
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

#[derive(Clone, Debug, Default)]
pub struct Prof {
    /// Whose numbers rows, callers and awaits have.
    pub functions: Functions,
    /// In the order of the file, each function once.
    pub rows: Vec<Row>,
    /// None: the file does not tell of any.
    pub awaits: Vec<(FunctionId, Awaits)>,
    /// Of CPython's sampling profiler (3.15): its counts are samples.
    pub is_sampled: bool,
    /// Bytes behind the last value, which marshal does not read.
    pub rest_bytes: u64,
}

impl Callers {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Callers::Timed(callers) => callers.is_empty(),
            Callers::Counted(callers) => callers.is_empty(),
        }
    }

    /// With other numbers; of functions that have one now, the last value counts.
    pub(crate) fn renumbered(self, ids: &[FunctionId], places: &mut PlaceOf) -> Callers {
        match self {
            Callers::Timed(callers) => Callers::Timed(renumbered(callers, ids, places)),
            Callers::Counted(callers) => Callers::Counted(renumbered(callers, ids, places)),
        }
    }
}

/// `ids`: the new number of each old one. In place: a function may have callers by the million.
fn renumbered<Of: Copy>(
    mut callers: Vec<(FunctionId, Of)>,
    ids: &[FunctionId],
    places: &mut PlaceOf,
) -> Vec<(FunctionId, Of)> {
    let mut kept = 0;
    for place in 0..callers.len() {
        let (old, value) = callers[place];
        let function = ids[old.index()];
        match places.within(&callers[..kept], function) {
            Some(first) => callers[first].1 = value,
            None => {
                places.set(function, kept);
                callers[kept] = (function, value);
                kept += 1;
            }
        }
    }
    callers.truncate(kept);
    callers
}

#[cfg(test)]
mod tests {
    use super::{Function, FunctionId, Functions, PlaceOf, renumbered};

    fn function(line: i64) -> Function {
        Function { file: "a.py".into(), line, name: "f".into() }
    }

    fn of(lines: &[(u32, u64)]) -> Vec<(FunctionId, u64)> {
        lines.iter().map(|(id, calls)| (FunctionId(*id), *calls)).collect()
    }

    #[test]
    fn each_function_has_one_number() {
        let mut functions = Functions::default();
        let ids: Vec<FunctionId> = (0..1_000).map(|line| functions.id(function(line))).collect();
        assert_eq!(ids, (0..1_000).map(FunctionId).collect::<Vec<_>>());
        assert!((0..1_000).all(|line| functions.id(function(line)) == ids[line as usize]));
        assert_eq!((functions.count(), &functions[ids[7]]), (1_000, &function(7)));
    }

    #[test]
    fn the_last_value_of_a_function_is_in_its_first_place() {
        let mut places = PlaceOf::default();
        let mut put_all = |lines: &[(u32, u64)]| {
            let mut list = Vec::new();
            for (function, calls) in of(lines) {
                places.put(&mut list, function, calls);
            }
            list
        };
        assert_eq!(put_all(&[(1, 10), (2, 20), (1, 11), (3, 30), (2, 21), (1, 12)]), of(&[(1, 12), (2, 21), (3, 30)]));
        // The places of the list before are not this one's.
        assert_eq!(put_all(&[(2, 20), (1, 10), (3, 30), (1, 11)]), of(&[(2, 20), (1, 11), (3, 30)]));
    }

    #[test]
    fn functions_that_become_one_have_the_last_value() {
        let ids = [7, 5, 7, 6].map(FunctionId);
        let renumbered = renumbered(of(&[(3, 1), (0, 2), (1, 3), (2, 4)]), &ids, &mut PlaceOf::default());
        assert_eq!(renumbered, of(&[(6, 1), (7, 4), (5, 3)]));
    }
}
