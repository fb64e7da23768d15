//! The functions of one `.prof` file or of several added up, and the order in which they are printed: pstats' class `Stats`.
//! Owns: what adding and stripping do to counts, times and callers. Never: prints (`text.rs`).

use genba_text::is_harmless;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use crate::functions::{Awaits, Callers, Function, Prof, Row, Timing, without_doubles};
use crate::sort::{Key, UnknownKey, sort_keys};

#[derive(Clone, Debug)]
pub struct Stats {
    /// What the file is called in the listing, and each that was added.
    pub(crate) files: Vec<String>,
    pub(crate) rows: Vec<Row>,
    pub(crate) row_of: HashMap<Function, usize>,
    pub(crate) awaits: Vec<(Function, Awaits)>,
    pub(crate) calls: u64,
    pub(crate) primitive_calls: u64,
    pub(crate) own_s: f64,
    /// Characters of the longest function.
    pub(crate) width: usize,
    /// Those that an old profiler called itself.
    pub(crate) top_level: Vec<Function>,
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
            rows: Vec::new(),
            row_of: HashMap::with_capacity(prof.rows.len()),
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
            stats.width = stats.width.max(row.function.width());
            if row.callers.functions().any(Function::is_old_profiler) {
                stats.top_level.push(row.function.clone());
            }
            stats.row_of.insert(row.function.clone(), place);
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
        for function in other.top_level {
            if !self.top_level.contains(&function) {
                self.top_level.push(function);
            }
        }
        self.width = self.width.max(other.width);
        self.order = None;
        self.awaits = summed(std::mem::take(&mut self.awaits), other.awaits, add_awaits);
        for row in other.rows {
            self.insert(row);
        }
    }

    /// Files lose their folders. Functions that are the same without them are added up; of callers that are, the last one counts, as in pstats.
    pub fn strip_folders(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        self.row_of.clear();
        self.width = 0;
        for row in rows {
            let callers = match row.callers {
                Callers::Timed(callers) => Callers::Timed(stripped(callers)),
                Callers::Counted(callers) => Callers::Counted(stripped(callers)),
            };
            let function = row.function.stripped();
            self.width = self.width.max(function.width());
            self.insert(Row { function, callers, ..row });
        }
        let awaits = std::mem::take(&mut self.awaits).into_iter();
        let awaits = awaits.map(|(function, awaits)| (function.stripped(), awaits)).collect();
        self.awaits = summed(Vec::new(), awaits, add_awaits);
        let top_level = std::mem::take(&mut self.top_level);
        for function in top_level.iter().map(Function::stripped) {
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
        let names: Vec<String> = self.rows.iter().map(|row| row.function.standard_name()).collect();
        rows.sort_by(|left, right| {
            let (left, right) = ((&self.rows[*left], &names[*left]), (&self.rows[*right], &names[*right]));
            keys.iter()
                .flat_map(|(keys, _)| *keys)
                .map(|key| compared(*key, left, right))
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

    /// For each function those that it called, with what it had of them.
    pub(crate) fn callees(&self) -> HashMap<&Function, Callers> {
        let mut callees: HashMap<&Function, Callers> = HashMap::new();
        for row in &self.rows {
            match &row.callers {
                Callers::Timed(callers) => {
                    for (caller, timing) in callers {
                        let known = callees.entry(caller).or_insert_with(|| Callers::Timed(Vec::new()));
                        match known {
                            Callers::Timed(callees) => callees.push((row.function.clone(), *timing)),
                            Callers::Counted(callees) => callees.push((row.function.clone(), timing.calls)),
                        }
                    }
                }
                Callers::Counted(callers) => {
                    for (caller, calls) in callers {
                        let known = callees.entry(caller).or_insert_with(|| Callers::Counted(Vec::new()));
                        let callee = (row.function.clone(), *calls);
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

    fn insert(&mut self, row: Row) {
        match self.row_of.get(&row.function) {
            None => {
                self.row_of.insert(row.function.clone(), self.rows.len());
                self.rows.push(row);
            }
            Some(known) => {
                let known = &mut self.rows[*known];
                known.calls = known.calls.saturating_add(row.calls);
                known.primitive_calls = known.primitive_calls.saturating_add(row.primitive_calls);
                known.own_s += row.own_s;
                known.total_s += row.total_s;
                let callers = std::mem::replace(&mut known.callers, Callers::Timed(Vec::new()));
                known.callers = added(callers, row.callers);
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
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        let (timed, counted) = match self {
            Callers::Timed(callers) => (callers.as_slice(), [].as_slice()),
            Callers::Counted(callers) => ([].as_slice(), callers.as_slice()),
        };
        timed.iter().map(|(function, _)| function).chain(counted.iter().map(|(function, _)| function))
    }
}

fn stripped<Of: Copy>(callers: Vec<(Function, Of)>) -> Vec<(Function, Of)> {
    without_doubles(callers.into_iter().map(|(function, value)| (function.stripped(), value)).collect())
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
fn added(first: Callers, second: Callers) -> Callers {
    match (first, second) {
        (first, second) if second.is_empty() => first,
        (first, second) if first.is_empty() => second,
        (Callers::Timed(first), Callers::Timed(second)) => Callers::Timed(summed(first, second, |sum, timing| {
            sum.calls = sum.calls.saturating_add(timing.calls);
            sum.primitive_calls = sum.primitive_calls.saturating_add(timing.primitive_calls);
            sum.own_s += timing.own_s;
            sum.total_s += timing.total_s;
        })),
        (first, second) => {
            let calls = |callers| match callers {
                Callers::Timed(callers) => counted(callers).collect(),
                Callers::Counted(callers) => callers,
            };
            Callers::Counted(summed(calls(first), calls(second), |sum, calls| *sum = sum.saturating_add(calls)))
        }
    }
}

fn add_awaits(sum: &mut Awaits, more: Awaits) {
    sum.count = sum.count.saturating_add(more.count);
    sum.waited_s += more.waited_s;
    sum.open = sum.open.saturating_add(more.open);
}

fn counted(timed: Vec<(Function, Timing)>) -> impl Iterator<Item = (Function, u64)> {
    timed.into_iter().map(|(function, timing)| (function, timing.calls))
}

fn summed<Of>(
    mut sum: Vec<(Function, Of)>,
    others: Vec<(Function, Of)>,
    add: impl Fn(&mut Of, Of),
) -> Vec<(Function, Of)> {
    let mut place_of: HashMap<Function, usize> =
        sum.iter().enumerate().map(|(place, (function, _))| (function.clone(), place)).collect();
    for (function, value) in others {
        match place_of.get(&function) {
            Some(place) => add(&mut sum[*place].1, value),
            None => {
                place_of.insert(function.clone(), sum.len());
                sum.push((function, value));
            }
        }
    }
    sum
}

/// Counts and times from the largest, names and lines from the smallest.
fn compared(key: Key, (left, left_name): (&Row, &String), (right, right_name): (&Row, &String)) -> Ordering {
    match key {
        Key::PrimitiveCalls => right.primitive_calls.cmp(&left.primitive_calls),
        Key::Calls => right.calls.cmp(&left.calls),
        Key::OwnTime => right.own_s.partial_cmp(&left.own_s).unwrap_or(Ordering::Equal),
        Key::TotalTime => right.total_s.partial_cmp(&left.total_s).unwrap_or(Ordering::Equal),
        Key::File => left.function.file.cmp(&right.function.file),
        Key::Line => left.function.line.cmp(&right.function.line),
        Key::Name => left.function.name.cmp(&right.function.name),
        Key::StandardName => left_name.cmp(right_name),
    }
}
