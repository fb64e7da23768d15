//! What changed between two recordings, or two sets of them, and whether the samples can tell.
//! Owns: the rows of a comparison and their order. Never: compares shares (a part that grew would make all others smaller), lays out text.
//! Keeps: every row of either side is there, also those that the samples cannot tell.

pub mod aligned;
pub mod bootstrap;
pub mod certainty;
pub mod places;
mod progress;

use std::collections::HashMap;

use crate::rules::difference::aligned::{By, FileIndex, Files, Site, SiteIndex, Sites, site};
use crate::rules::difference::certainty::{Certainty, Estimate, SAMPLES_MIN, Sum, Sums, variance_of_unseen};
use crate::rules::difference::places::{Place, Series, places};
use crate::rules::difference::progress::Progress;
use crate::rules::phase::Phase;
use crate::rules::reading::Reading;
use crate::rules::weight::{Choice, Weight};
use crate::tables::profile::{FrameIndex, Home, Profile};
use crate::tables::window::Bins;

/// With fewer samples on a side nothing is certain.
pub const SIDE_SAMPLES_MIN: u64 = 100;
/// What the advice is about: a change of that part of the largest row.
pub const ADVISED_CHANGE: f64 = 0.05;

#[derive(Debug)]
pub struct Difference {
    pub choice: Choice,
    pub whole: Estimate,
    /// Expressions under one caller, and what runs outside of the user's code: certain ones first, then those that were compared, each by
    /// the size of the change.
    pub rows: Vec<Row>,
    /// Functions under one caller, where several expressions of theirs are rows; in the same order.
    pub functions: Vec<Row>,
    pub certainty: Certainty,
    pub samples_before: u64,
    pub samples_after: u64,
    pub advice: Option<Advice>,
}

#[derive(Clone, Debug)]
pub struct Row {
    pub subject: Subject,
    /// Of a function: how many.
    pub expressions: usize,
    pub samples_before: u64,
    pub samples_after: u64,
    pub estimate: Estimate,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Code { code: Code, caller: Option<Code> },
    Phase(Phase),
    NoPython,
}

/// Where and what, as it is in the newest recording that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub file: String,
    pub line: Option<u32>,
    pub function: String,
    pub expression: Option<String>,
}

/// What would make a change of `ADVISED_CHANGE` in the largest row certain.
#[derive(Clone, Debug)]
pub struct Advice {
    pub subject: Subject,
    /// On each side.
    pub runs: u32,
    /// Instead of more runs.
    pub times_longer: Option<f64>,
    pub is_enough: bool,
}

/// What a row is, in all recordings.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Expression { own: SiteIndex, caller: Option<SiteIndex> },
    Function { own: (FileIndex, String), caller: Option<(FileIndex, String)> },
    Phase(Phase),
    NoPython,
}

/// The sums of one key, run by run.
#[derive(Default)]
struct Known {
    sums: Sums,
    /// Of a function.
    expressions: Vec<SiteIndex>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// One recording, its samples' moments included.
#[derive(Debug)]
pub struct Run {
    /// Of its file.
    pub name: String,
    pub reading: Reading,
}

/// The bins that a recording with these accounts is to be built with.
#[must_use]
pub fn bins_of(accounts: &Profile) -> Bins {
    Bins::of_span(accounts.span_ns)
}

/// Each side has one recording or more. `asked`: the weight.
#[must_use]
pub fn difference(before: &[Run], after: &[Run], asked: Option<Weight>) -> Difference {
    let choice = choice(before, after, asked);
    let runs = before.iter().map(|run| (Side::Before, run)).chain(after.iter().map(|run| (Side::After, run)));
    let mut table = Table::new(choice.weight, before.len(), after.len());
    for (position, (side, run)) in runs.enumerate() {
        table.add(position, side, &run.reading);
    }
    table.settled(choice)
}

/// The weight of all, where both sides would choose wall; else CPU.
fn choice(before: &[Run], after: &[Run], asked: Option<Weight>) -> Choice {
    if let Some(weight) = asked {
        return Choice { weight, why: None };
    }
    let mut all = before.iter().chain(after);
    match all.all(|run| run.reading.choice.weight == Weight::Wall) {
        true => Choice { weight: Weight::Wall, why: Some("the program waited most of the time".to_string()) },
        false => Choice { weight: Weight::Cpu, why: None },
    }
}

struct Table {
    weight: Weight,
    runs_before: usize,
    runs_after: usize,
    files: Files,
    own: Sites,
    callers: Sites,
    whole: Sums,
    known: HashMap<Key, Known>,
    /// Of each run: what one sample weighs, later ones more.
    one_sample: Vec<f64>,
}

impl Table {
    fn new(weight: Weight, runs_before: usize, runs_after: usize) -> Table {
        Table {
            weight,
            runs_before,
            runs_after,
            files: Files::default(),
            own: Sites::new(By::Text),
            callers: Sites::new(By::TextOrLine),
            whole: Sums::default(),
            known: HashMap::new(),
            one_sample: Vec::new(),
        }
    }

    /// The next run, in the order of both sides.
    fn add(&mut self, position: usize, side: Side, reading: &Reading) {
        let places = places(reading, self.weight);
        let mut whole = Series::default();
        let mut of_key: HashMap<Key, Series> = HashMap::new();
        for (key, series) in self.keys(reading, places) {
            whole.add(&series);
            if let Key::Expression { own, caller } = key {
                let named = |site: &Site| (site.file, site.function.clone());
                let function = Key::Function {
                    own: named(self.own.get(own)),
                    caller: caller.map(|caller| named(self.callers.get(caller))),
                };
                let expressions = &mut self.known.entry(function.clone()).or_default().expressions;
                if !expressions.contains(&own) {
                    expressions.push(own);
                }
                of_key.entry(function).or_default().add(&series);
            }
            of_key.entry(key).or_default().add(&series);
        }
        let progress = Progress::of(&whole, one_sample(reading, self.weight, &whole));
        let mut buffer = Vec::new();
        // What was recorded is exact as a whole; what a filter keeps of it is not.
        let variance = if reading.kept.is_some() { whole.sum() * progress.one_sample } else { 0.0 };
        add_sum(&mut self.whole, side, position, (self.runs_before, self.runs_after), &whole, variance);
        for (key, series) in of_key {
            let variance = progress.variance(&series, &mut buffer);
            let known = self.known.entry(key).or_default();
            add_sum(&mut known.sums, side, position, (self.runs_before, self.runs_after), &series, variance);
        }
        self.one_sample.push(progress.one_sample);
    }

    /// The key of each place; two places may have one.
    fn keys(&mut self, reading: &Reading, places: Vec<(Place, Series)>) -> Vec<(Key, Series)> {
        let frames = |place: &Place| match *place {
            Place::Code { own, caller } => [Some(own), caller],
            Place::Phase(_) | Place::NoPython => [None, None],
        };
        let path = |frame: FrameIndex| match reading.function_of(frame).home {
            Home::Python { file, .. } => Some(reading.files[file].path.as_str()),
            Home::C { .. } | Home::Mark => None,
        };
        let paths = places.iter().flat_map(|(place, _)| frames(place)).flatten().filter_map(path);
        let files = self.files.add(paths);
        let mut indices = [HashMap::new(), HashMap::new()];
        for (role, sites) in [&mut self.own, &mut self.callers].into_iter().enumerate() {
            let mut found: Vec<(Site, Vec<FrameIndex>)> = Vec::new();
            let mut position_of: HashMap<Site, usize> = HashMap::new();
            let mut seen: HashMap<FrameIndex, ()> = HashMap::new();
            for frame in places.iter().filter_map(|(place, _)| frames(place)[role]) {
                let Some(site) = site(reading, &files, frame).filter(|_| seen.insert(frame, ()).is_none()) else {
                    continue;
                };
                // Processes of one recording may have rows of their own for the same code.
                let position = *position_of.entry(site.clone()).or_insert_with(|| {
                    found.push((site, Vec::new()));
                    found.len() - 1
                });
                found[position].1.push(frame);
            }
            let (added, frames): (Vec<Site>, Vec<Vec<FrameIndex>>) = found.into_iter().unzip();
            for (index, frames) in sites.add(added).into_iter().zip(frames) {
                indices[role].extend(frames.into_iter().map(|frame| (frame, index)));
            }
        }
        let [own_of, caller_of] = indices;
        let key = |place: &Place| match *place {
            Place::Phase(phase) => Key::Phase(phase),
            Place::NoPython => Key::NoPython,
            Place::Code { own, caller } => match own_of.get(&own) {
                Some(&own) => {
                    Key::Expression { own, caller: caller.and_then(|caller| caller_of.get(&caller).copied()) }
                }
                None => Key::NoPython,
            },
        };
        places.into_iter().map(|(place, series)| (key(&place), series)).collect()
    }

    fn settled(mut self, choice: Choice) -> Difference {
        // A function with one expression would be the same row twice.
        self.known.retain(|key, known| !matches!(key, Key::Function { .. }) || known.expressions.len() > 1);
        let (runs_before, runs_after) = (self.runs_before as u64, self.runs_after as u64);
        let is_too_few = self.whole.samples_before.min(self.whole.samples_after) < SIDE_SAMPLES_MIN;
        let is_compared = |sums: &Sums| {
            !is_too_few && sums.samples_before / runs_before + sums.samples_after / runs_after >= SAMPLES_MIN
        };
        let compared = 1 + self.known.values().filter(|known| is_compared(&known.sums)).count();
        for known in self.known.values_mut() {
            // What all runs of a side hardly met is as uncertain as what one run did.
            let before = known.sums.before.iter_mut().map(|sum| (sum, runs_before));
            let sums = before.chain(known.sums.after.iter_mut().map(|sum| (sum, runs_after)));
            for ((sum, runs), one_sample) in sums.zip(&self.one_sample) {
                sum.variance += variance_of_unseen(*one_sample, compared) / runs as f64;
            }
        }
        let expressions = self.known.iter().filter(|(key, _)| !matches!(key, Key::Function { .. }));
        let mut spread_of: Vec<&Sums> =
            expressions.map(|(_, known)| &known.sums).filter(|sums| is_compared(sums)).collect();
        // Sums of floats depend on their order.
        spread_of.sort_by(|one, other| {
            let values = |sums: &Sums| sums.before.iter().chain(&sums.after).map(|sum| sum.value).collect::<Vec<_>>();
            values(one).partial_cmp(&values(other)).unwrap_or(std::cmp::Ordering::Equal)
        });
        spread_of.push(&self.whole);
        let certainty = Certainty::of(&spread_of, compared, self.runs_before, self.runs_after);
        let whole = certainty.estimate(&self.whole, !is_too_few);
        let (mut rows, mut functions) = (Vec::new(), Vec::new());
        let mut largest: Option<(f64, Subject, &Sums)> = None;
        for (key, known) in &self.known {
            let sums = &known.sums;
            let row = Row {
                subject: self.subject(key),
                expressions: known.expressions.len(),
                samples_before: sums.samples_before,
                samples_after: sums.samples_after,
                estimate: certainty.estimate(sums, is_compared(sums)),
            };
            let size = row.estimate.before + row.estimate.after;
            let is_larger =
                |(other, subject, _): &(f64, Subject, &Sums)| (size, place(&row.subject)) > (*other, place(subject));
            if matches!(row.subject, Subject::Code { .. }) && largest.as_ref().is_none_or(is_larger) {
                largest = Some((size, row.subject.clone(), sums));
            }
            if matches!(key, Key::Function { .. }) { &mut functions } else { &mut rows }.push(row);
        }
        let advice = largest.filter(|_| !is_too_few).and_then(|(size, subject, sums)| {
            let change = size / 2.0 * ADVISED_CHANGE;
            let runs = certainty.runs_needed(sums, change)?;
            let is_enough = runs as usize <= self.runs_before.min(self.runs_after);
            Some(Advice { subject, runs, times_longer: certainty.times_longer(sums, change), is_enough })
        });
        sort(&mut rows);
        sort(&mut functions);
        Difference {
            choice,
            whole,
            rows,
            functions,
            certainty,
            samples_before: self.whole.samples_before,
            samples_after: self.whole.samples_after,
            advice,
        }
    }

    fn subject(&self, key: &Key) -> Subject {
        let code = |site: &Site, is_whole: bool| Code {
            file: self.files.path(site.file).to_string(),
            line: site.line.filter(|_| !is_whole),
            function: site.function.clone(),
            expression: site.text.clone().filter(|_| !is_whole),
        };
        let whole = |(file, function): &(FileIndex, String)| Code {
            file: self.files.path(*file).to_string(),
            line: None,
            function: function.clone(),
            expression: None,
        };
        match key {
            Key::Expression { own, caller } => Subject::Code {
                code: code(self.own.get(*own), false),
                caller: caller.map(|caller| code(self.callers.get(caller), false)),
            },
            Key::Function { own, caller } => Subject::Code { code: whole(own), caller: caller.as_ref().map(whole) },
            Key::Phase(phase) => Subject::Phase(*phase),
            Key::NoPython => Subject::NoPython,
        }
    }
}

fn sort(rows: &mut [Row]) {
    let rank = |row: &Row| (!row.estimate.certain, row.estimate.is_too_few);
    rows.sort_by(|one, other| {
        let size = other.estimate.change().abs().total_cmp(&one.estimate.change().abs());
        rank(one).cmp(&rank(other)).then(size).then_with(|| place(&one.subject).cmp(&place(&other.subject)))
    });
}

/// The order of rows with the same change.
fn place(subject: &Subject) -> impl Ord + use<> {
    let code = |code: &Code| (code.file.clone(), code.line, code.function.clone(), code.expression.clone());
    match subject {
        Subject::Code { code: own, caller } => (0, Some(code(own)), caller.as_ref().map(code), None),
        Subject::Phase(phase) => (1, None, None, Some(*phase)),
        Subject::NoPython => (2, None, None, None),
    }
}

/// Runs of the row's side in which it was not seen have a sum of 0.
fn add_sum(sums: &mut Sums, side: Side, position: usize, runs: (usize, usize), series: &Series, variance: f64) {
    let none = Sum { value: 0.0, variance: 0.0 };
    sums.before.resize(runs.0, none);
    sums.after.resize(runs.1, none);
    let sum = match side {
        Side::Before => &mut sums.before[position],
        Side::After => &mut sums.after[position - runs.0],
    };
    *sum = Sum { value: series.sum(), variance };
    let samples = match side {
        Side::Before => &mut sums.samples_before,
        Side::After => &mut sums.samples_after,
    };
    *samples = samples.saturating_add(series.samples);
}

/// Samples that stand for more time than others make a sum less certain: (Σ weight²) / Σ weight.
fn one_sample(reading: &Reading, weight: Weight, whole: &Series) -> f64 {
    match weight {
        Weight::Cpu => {
            let groups = reading.samples.iter();
            let (cpu_ns, cpu_us2) =
                groups.fold((0.0, 0.0), |sum, group| (sum.0 + group.cpu_ns as f64, sum.1 + group.cpu_us2 as f64));
            if cpu_ns > 0.0 { cpu_us2 * 1e6 / cpu_ns } else { 0.0 }
        }
        Weight::Wall => whole.sum() / whole.samples.max(1) as f64,
        Weight::Samples => 1.0,
    }
}
