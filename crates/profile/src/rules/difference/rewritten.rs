//! Code that each side has under its own text: an expression that was rewritten, a function that was moved to another file or has another caller.
//! Owns: which rows that are only in A are taken together with which rows that are only in B. Never: says that they are the same code, or changes
//! their rows. Keeps: what is claimed of both together has a row that is certain by itself.

use foldhash::HashMap;

use crate::rules::difference::certainty::{Certainty, SAMPLES_MIN, Sums};
use crate::rules::difference::files::Side;
use crate::rules::difference::places::Series;
use crate::rules::difference::rows::{Key, Row, Subject};

/// Rows are together where both sides have the function under the caller, or the function of that name only elsewhere.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Of {
    Function(Key),
    Name(String),
}

#[derive(Default)]
struct Part {
    sums: Sums,
    expressions: usize,
    is_claimed: bool,
    /// Of each side: the largest expression with its function.
    largest: [Option<Largest>; 2],
    /// Of each side.
    size: [f64; 2],
}

struct Largest {
    key: Key,
    function: Key,
    size: f64,
}

#[derive(Default)]
pub struct Rewritten {
    parts: Vec<Part>,
    part_of: HashMap<Key, usize>,
}

#[derive(Default)]
struct Met {
    samples: [u64; 2],
    size: f64,
}

fn position(side: Side) -> usize {
    match side {
        Side::Before => 0,
        Side::After => 1,
    }
}

impl Met {
    fn add(&mut self, side: Side, series: &Series) {
        let samples = &mut self.samples[position(side)];
        *samples = samples.saturating_add(series.samples);
        self.size += series.sum();
    }

    /// None: both sides have it, or none has.
    fn only_side(&self) -> Option<Side> {
        match self.samples.map(|samples| samples > 0) {
            [true, false] => Some(Side::Before),
            [false, true] => Some(Side::After),
            [true, true] | [false, false] => None,
        }
    }
}

impl Rewritten {
    /// All that was met: its side, its row, its function under a caller, and its samples.
    pub fn of<'k>(met: impl Iterator<Item = (Side, &'k Key, Option<&'k Key>, &'k Series)>) -> Rewritten {
        let mut expressions: HashMap<&Key, (&Key, Met)> = HashMap::default();
        let mut functions: HashMap<&Key, Met> = HashMap::default();
        for (side, key, function, series) in met {
            let Some(function) = function else { continue };
            expressions.entry(key).or_insert_with(|| (function, Met::default())).1.add(side, series);
            functions.entry(function).or_default().add(side, series);
        }
        let together = |function: &Key| match (function, functions.get(function).and_then(Met::only_side)) {
            (Key::Function { own: (_, name, _), .. }, Some(_)) => Of::Name(name.clone()),
            _ => Of::Function(function.clone()),
        };
        let mut found: HashMap<Of, (Part, Vec<Key>)> = HashMap::default();
        for (key, (function, met)) in &expressions {
            let Some(side) = met.only_side() else { continue };
            let (part, keys) = found.entry(together(function)).or_default();
            part.add(side, key, function, met.size);
            keys.push((*key).clone());
            if functions.get(function).is_some_and(|met| met.only_side().is_some()) {
                keys.push((*function).clone());
            }
        }
        let mut rewritten = Rewritten::default();
        for (part, keys) in found.into_values().filter(|(part, _)| part.largest.iter().all(Option::is_some)) {
            rewritten.part_of.extend(keys.into_iter().map(|key| (key, rewritten.parts.len())));
            rewritten.parts.push(part);
        }
        rewritten
    }

    pub fn part(&self, key: &Key) -> Option<usize> {
        self.part_of.get(key).copied()
    }

    pub fn nothing(&self) -> Vec<Series> {
        self.parts.iter().map(|_| Series::default()).collect()
    }

    pub fn sums(&mut self) -> impl Iterator<Item = &mut Sums> {
        self.parts.iter_mut().map(|part| &mut part.sums)
    }

    /// The row is certain.
    pub fn claim(&mut self, key: &Key) {
        if let Some(&part) = self.part_of.get(key) {
            self.parts[part].is_claimed = true;
        }
    }

    /// What has a certain row, each as one row. These are compared beside all others, so a claim has to be more certain by that much.
    pub fn claimed(
        &self,
        subject: impl Fn(&Key, Side) -> Subject,
        certainty: &Certainty,
        is_compared: impl Fn(&Sums) -> bool,
    ) -> Vec<Row> {
        let claimed = || self.parts.iter().filter(|part| part.is_claimed);
        let certainty = certainty.comparing(certainty.compared + claimed().count());
        let row = |part: &Part| {
            let (key, side) = part.named()?;
            Some(Row {
                subject: subject(key, side),
                expressions: part.expressions,
                samples_before: part.sums.samples_before,
                samples_after: part.sums.samples_after,
                estimate: certainty.estimate(&part.sums, is_compared(&part.sums)),
                is_rewritten: false,
            })
        };
        claimed().filter_map(row).collect()
    }
}

impl Part {
    fn add(&mut self, side: Side, key: &Key, function: &Key, size: f64) {
        self.expressions += 1;
        self.size[position(side)] += size;
        // Of two as large as each other the same one in each order.
        let place = |key: &Key| match key {
            Key::Expression { own, caller } => Some((*own, *caller)),
            Key::Function { .. } | Key::Phase(_) | Key::NoPython => None,
        };
        let largest = &mut self.largest[position(side)];
        if largest.as_ref().is_none_or(|largest| (size, place(key)) > (largest.size, place(&largest.key))) {
            *largest = Some(Largest { key: key.clone(), function: function.clone(), size });
        }
    }

    /// B's, as it is now; A's where B has hardly any of it. An expression that has most of it, or the function.
    fn named(&self) -> Option<(&Key, Side)> {
        let runs = self.sums.after.len().max(1) as u64;
        let is_in_after = self.sums.samples_after / runs >= SAMPLES_MIN;
        let side = if is_in_after { Side::After } else { Side::Before };
        let largest = self.largest[position(side)].as_ref()?;
        let is_most = largest.size > self.size[position(side)] / 2.0;
        Some((if is_most { &largest.key } else { &largest.function }, side))
    }
}
