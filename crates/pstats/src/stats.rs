//! The functions of one `.prof` file or of several added up, and the order in which they are printed: pstats' class `Stats`.
//! Owns: what adding and stripping do to counts, times and callers. Never: prints (`text.rs`).

use genba_text::is_harmless;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use crate::functions::{Awaits, Callers, Function, FunctionId, Functions, PlaceOf, Prof, Row, Timing};
use crate::sort::{Key, UnknownKey, sort_keys};

#[derive(Clone, Debug)]
pub struct Stats {
    /// What the file is called in the listing, and each that was added.
    pub(crate) files: Vec<String>,
    pub(crate) functions: Functions,
    pub(crate) rows: Vec<Row>,
    pub(crate) row_of: PlaceOf,
    pub(crate) awaits: Vec<(FunctionId, Awaits)>,
    pub(crate) calls: u64,
    pub(crate) primitive_calls: u64,
    pub(crate) own_s: f64,
    /// Characters of the longest function.
    pub(crate) width: usize,
    /// Those that an old profiler called itself.
    pub(crate) top_level: Vec<FunctionId>,
    pub(crate) is_sampled: bool,
    pub(crate) order: Option<Ordered>,
}

/// Rows by their number, and by what they are ordered.
#[derive(Clone, Debug)]
pub(crate) struct Ordered {
    pub rows: Vec<usize>,
    pub by: String,
}

impl Stats {
    /// `called`: what the listing calls the file.
    #[must_use]
    pub fn new(prof: Prof, called: String) -> Stats {
        let mut stats = Stats {
            files: vec![called],
            functions: prof.functions,
            rows: Vec::new(),
            row_of: PlaceOf::default(),
            awaits: prof.awaits,
            calls: 0,
            primitive_calls: 0,
            own_s: 0.0,
            width: 0,
            top_level: Vec::new(),
            is_sampled: prof.is_sampled,
            order: None,
        };
        for (place, row) in prof.rows.iter().enumerate() {
            stats.calls = stats.calls.saturating_add(row.calls);
            stats.primitive_calls = stats.primitive_calls.saturating_add(row.primitive_calls);
            stats.own_s += row.own_s;
            stats.width = stats.width.max(stats.functions[row.function].width());
            if row.callers.functions().any(|caller| stats.functions[caller].is_old_profiler()) {
                stats.top_level.push(row.function);
            }
            stats.row_of.set(row.function, place);
        }
        // Each function is there once: they stay where they are.
        stats.rows = prof.rows;
        stats
    }

    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Of all functions.
    #[must_use]
    pub fn awaits(&self) -> Option<Awaits> {
        let all = self.awaits.iter().map(|(_, awaits)| *awaits);
        all.reduce(|mut sum, awaits| {
            add_awaits(&mut sum, awaits);
            sum
        })
    }

    /// The listing has no names of files.
    pub fn forget_files(&mut self) {
        self.files.clear();
    }

    /// Counts of the same file.
    pub fn add_part(&mut self, other: Stats) {
        self.add(Stats { files: Vec::new(), ..other });
    }

    pub fn add(&mut self, other: Stats) {
        self.files.extend(other.files);
        self.calls = self.calls.saturating_add(other.calls);
        self.primitive_calls = self.primitive_calls.saturating_add(other.primitive_calls);
        self.own_s += other.own_s;
        let ids = self.ids_of(other.functions, |function| function);
        for function in other.top_level.into_iter().map(|function| ids[function.index()]) {
            if !self.top_level.contains(&function) {
                self.top_level.push(function);
            }
        }
        self.width = self.width.max(other.width);
        self.order = None;
        let mut places = PlaceOf::default();
        let awaits = other.awaits.into_iter().map(|(function, awaits)| (ids[function.index()], awaits)).collect();
        self.awaits = summed(std::mem::take(&mut self.awaits), awaits, &mut places, add_awaits);
        for row in other.rows {
            self.insert(row.renumbered(&ids, &mut places), &mut places);
        }
    }

    /// The numbers here of functions that had others, changed or as they are.
    fn ids_of(&mut self, functions: Functions, change: impl Fn(Function) -> Function) -> Vec<FunctionId> {
        functions.into_all().into_iter().map(|function| self.functions.id(change(function))).collect()
    }

    /// Files lose their folders. Functions that are the same without them are added up; of callers that are, the last one counts, as in pstats.
    pub fn strip_folders(&mut self) {
        let functions = std::mem::take(&mut self.functions);
        let ids = self.ids_of(functions, |function| function.stripped());
        let rows = std::mem::take(&mut self.rows);
        self.row_of = PlaceOf::default();
        self.width = 0;
        let mut places = PlaceOf::default();
        for row in rows {
            let row = row.renumbered(&ids, &mut places);
            self.width = self.width.max(self.functions[row.function].width());
            self.insert(row, &mut places);
        }
        let awaits = std::mem::take(&mut self.awaits).into_iter();
        let awaits = awaits.map(|(function, awaits)| (ids[function.index()], awaits)).collect();
        self.awaits = summed(Vec::new(), awaits, &mut places, add_awaits);
        let top_level = std::mem::take(&mut self.top_level);
        for function in top_level.into_iter().map(|function| ids[function.index()]) {
            if !self.top_level.contains(&function) {
                self.top_level.push(function);
            }
        }
        self.order = None;
    }

    /// # Errors
    /// A word is no key, and no beginning of one key alone.
    pub fn sort(&mut self, words: &[&str]) -> Result<(), UnknownKey> {
        let keys = sort_keys(words, self.is_sampled)?;
        let mut rows: Vec<usize> = (0..self.rows.len()).collect();
        let names: Vec<String> = self.rows.iter().map(|row| self.name_of(row.function)).collect();
        let side = |row: usize| {
            let (row, name) = (&self.rows[row], names[row].as_str());
            Side { row, function: &self.functions[row.function], name }
        };
        rows.sort_by(|left, right| {
            let (left, right) = (side(*left), side(*right));
            keys.iter()
                .flat_map(|(keys, _)| *keys)
                .map(|key| compared(*key, &left, &right))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        });
        let by = keys.iter().map(|(_, words)| *words).collect::<Vec<_>>().join(", ");
        self.order = Some(Ordered { rows, by });
        Ok(())
    }

    /// Nothing has no order yet: it stays as it is.
    pub fn reverse(&mut self) {
        if let Some(order) = &mut self.order {
            order.rows.reverse();
        }
    }

    pub(crate) fn name_of(&self, function: FunctionId) -> String {
        self.functions[function].standard_name()
    }

    /// For the functions of `rows` those that they called, with what they had of them.
    pub(crate) fn callees(&self, rows: &[usize]) -> HashMap<FunctionId, Callers> {
        let none = |row: &usize| (self.rows[*row].function, Callers::Timed(Vec::new()));
        let mut callees: HashMap<FunctionId, Callers> = rows.iter().map(none).collect();
        for row in &self.rows {
            match &row.callers {
                Callers::Timed(callers) => {
                    for (caller, timing) in callers {
                        match callees.get_mut(caller) {
                            Some(Callers::Timed(callees)) => callees.push((row.function, *timing)),
                            Some(Callers::Counted(callees)) => callees.push((row.function, timing.calls)),
                            None => {}
                        }
                    }
                }
                Callers::Counted(callers) => {
                    for (caller, calls) in callers {
                        let Some(known) = callees.get_mut(caller) else { continue };
                        let callee = (row.function, *calls);
                        match known {
                            Callers::Counted(callees) => callees.push(callee),
                            Callers::Timed(timed) => {
                                *known = Callers::Counted(counted(std::mem::take(timed)).chain([callee]).collect());
                            }
                        }
                    }
                }
            }
        }
        callees
    }

    fn insert(&mut self, row: Row, places: &mut PlaceOf) {
        match self.row_of.get(row.function) {
            None => {
                self.row_of.set(row.function, self.rows.len());
                self.rows.push(row);
            }
            Some(known) => {
                let known = &mut self.rows[known];
                known.calls = known.calls.saturating_add(row.calls);
                known.primitive_calls = known.primitive_calls.saturating_add(row.primitive_calls);
                known.own_s += row.own_s;
                known.total_s += row.total_s;
                let callers = std::mem::replace(&mut known.callers, Callers::Timed(Vec::new()));
                known.callers = added(callers, row.callers, places);
            }
        }
    }
}

impl Function {
    /// As pstats calls it: `app.py:3(load)`, or `{built-in method builtins.len}`. What would steer a terminal is spelled out.
    #[must_use]
    pub fn standard_name(&self) -> String {
        let name = match (&*self.file, self.line) {
            ("~", 0) => match self.name.strip_prefix('<').and_then(|name| name.strip_suffix('>')) {
                Some(name) => format!("{{{name}}}"),
                None => self.name.to_string(),
            },
            (file, line) => format!("{file}:{line}({})", self.name),
        };
        spelled_out(name)
    }

    pub(crate) fn width(&self) -> usize {
        self.standard_name().chars().count()
    }

    fn stripped(&self) -> Function {
        match self.file.rsplit_once('/') {
            Some((_, name)) => Function { file: Arc::from(name), ..self.clone() },
            None => self.clone(),
        }
    }

    /// Of a profiler before 1996, whose files had such a caller of what it was given to run.
    fn is_old_profiler(&self) -> bool {
        (&*self.file, self.line, &*self.name) == ("jprofile", 0, "profiler")
    }
}

impl Callers {
    pub fn functions(&self) -> impl Iterator<Item = FunctionId> {
        let (timed, counted) = match self {
            Callers::Timed(callers) => (callers.as_slice(), [].as_slice()),
            Callers::Counted(callers) => ([].as_slice(), callers.as_slice()),
        };
        timed.iter().map(|(function, _)| *function).chain(counted.iter().map(|(function, _)| *function))
    }
}

impl Row {
    fn renumbered(self, ids: &[FunctionId], places: &mut PlaceOf) -> Row {
        Row { function: ids[self.function.index()], callers: self.callers.renumbered(ids, places), ..self }
    }
}

/// With numbers for the letters that would steer a terminal.
pub(crate) fn spelled_out(text: String) -> String {
    if text.chars().all(is_harmless) {
        return text;
    }
    let letter = |letter: char| if is_harmless(letter) { letter.into() } else { letter.escape_default().to_string() };
    text.chars().map(letter).collect()
}

/// A file of cProfile and one of profile have calls in common.
fn added(first: Callers, second: Callers, places: &mut PlaceOf) -> Callers {
    match (first, second) {
        (first, second) if second.is_empty() => first,
        (first, second) if first.is_empty() => second,
        (Callers::Timed(first), Callers::Timed(second)) => {
            Callers::Timed(summed(first, second, places, |sum, timing| {
                sum.calls = sum.calls.saturating_add(timing.calls);
                sum.primitive_calls = sum.primitive_calls.saturating_add(timing.primitive_calls);
                sum.own_s += timing.own_s;
                sum.total_s += timing.total_s;
            }))
        }
        (first, second) => {
            let calls = |callers| match callers {
                Callers::Timed(callers) => counted(callers).collect(),
                Callers::Counted(callers) => callers,
            };
            let (first, second) = (calls(first), calls(second));
            Callers::Counted(summed(first, second, places, |sum, calls| *sum = sum.saturating_add(calls)))
        }
    }
}

fn add_awaits(sum: &mut Awaits, more: Awaits) {
    sum.count = sum.count.saturating_add(more.count);
    sum.waited_s += more.waited_s;
    sum.open = sum.open.saturating_add(more.open);
}

fn counted(timed: Vec<(FunctionId, Timing)>) -> impl Iterator<Item = (FunctionId, u64)> {
    timed.into_iter().map(|(function, timing)| (function, timing.calls))
}

fn summed<Of>(
    mut sum: Vec<(FunctionId, Of)>,
    others: Vec<(FunctionId, Of)>,
    places: &mut PlaceOf,
    add: impl Fn(&mut Of, Of),
) -> Vec<(FunctionId, Of)> {
    for (place, (function, _)) in sum.iter().enumerate() {
        places.set(*function, place);
    }
    for (function, value) in others {
        match places.within(&sum, function) {
            Some(place) => add(&mut sum[place].1, value),
            None => {
                places.set(function, sum.len());
                sum.push((function, value));
            }
        }
    }
    sum
}

/// What rows are ordered by.
struct Side<'a> {
    row: &'a Row,
    function: &'a Function,
    name: &'a str,
}

/// Counts and times from the largest, names and lines from the smallest.
fn compared(key: Key, one: &Side<'_>, other: &Side<'_>) -> Ordering {
    let (left, right) = (one.row, other.row);
    match key {
        Key::PrimitiveCalls => right.primitive_calls.cmp(&left.primitive_calls),
        Key::Calls => right.calls.cmp(&left.calls),
        Key::OwnTime => right.own_s.partial_cmp(&left.own_s).unwrap_or(Ordering::Equal),
        Key::TotalTime => right.total_s.partial_cmp(&left.total_s).unwrap_or(Ordering::Equal),
        Key::File => one.function.file.cmp(&other.function.file),
        Key::Line => one.function.line.cmp(&other.function.line),
        Key::Name => one.function.name.cmp(&other.function.name),
        Key::StandardName => one.name.cmp(other.name),
    }
}
