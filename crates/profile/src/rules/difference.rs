//! What changed between two recordings, or two sets of them, and whether the samples can tell.
//! Owns: the rows of a comparison and their order. Never: compares shares (a part that grew would make all others smaller), lays out text.
//! Over twelve files: each is one step of a comparison.
//! Keeps: every row of either side is there, also those that the samples cannot tell.

pub mod aligned;
pub mod call_tree;
pub mod certainty;
mod choice;
mod codebase;
pub mod comparable;
mod division;
mod files;
mod order;
pub mod paired;
pub mod places;
mod rewritten;
mod rows;
mod same_code;
pub mod tried;
mod within_run;

use foldhash::{HashMap, HashSet};
use std::collections::BTreeSet;

use crate::rules::difference::aligned::{Begins, By, Function, Site, SiteIndex, Sites, sites_of};
use crate::rules::difference::certainty::{Busy, Certainty, Estimate, Longer, SAMPLES_MIN, Sums, variance_of_unseen};
pub use crate::rules::difference::choice::without;
use crate::rules::difference::codebase::Codebase;
pub use crate::rules::difference::comparable::Run;
use crate::rules::difference::comparable::of_any_row::{OfAnyRow, apart};
use crate::rules::difference::comparable::{Facts, longer_part, obstacles, unlike, waited_for_cpu};
use crate::rules::difference::division::{Division, Ways};
use crate::rules::difference::files::Side;
use crate::rules::difference::order::{place, sort};
use crate::rules::difference::places::{Place, Series, places, whole_run};
use crate::rules::difference::rewritten::Rewritten;
use crate::rules::difference::rows::Key;
pub use crate::rules::difference::rows::{Code, Row, Subject};
use crate::rules::difference::same_code::homonyms::Instance;
use crate::rules::difference::within_run::Sum;
use crate::rules::difference::within_run::progress::{Progress, one_sample};
use crate::rules::phase::Phase;
use crate::rules::reading::Reading;
use crate::rules::weight::{Choice, Weight};
use crate::tables::profile::{FrameIndex, Profile};
use crate::tables::window::Bins;

/// With fewer samples on both sides nothing is certain.
pub const SAMPLES_OF_ONE_SIDE_MIN: u64 = 100;
/// Nor with fewer on either one. What became much faster has few, and how few they are is what there is to tell.
pub const SAMPLES_OF_EACH_SIDE_MIN: u64 = 10;

#[must_use]
pub fn are_too_few(before: u64, after: u64) -> bool {
    before.max(after) < SAMPLES_OF_ONE_SIDE_MIN || before.min(after) < SAMPLES_OF_EACH_SIDE_MIN
}
/// What the advice is about: a change of that part of the largest row.
pub const ADVISED_CHANGE: f64 = 0.05;

#[derive(Debug)]
pub struct Difference {
    pub choice: Choice,
    pub whole: Estimate,
    /// Expressions under one caller (the nearest at which the ways to the function divide), and what runs outside of the user's code: certain ones first, then those that were compared, each by
    /// the size of the change.
    pub rows: Vec<Row>,
    /// Functions under one caller, where several expressions of theirs are rows; in the same order.
    pub functions: Vec<Row>,
    /// What each side has under its own text or name: the rows that are only in A with those that are only in B, as one.
    pub rewritten: Vec<Row>,
    pub certainty: Certainty,
    pub busy: Busy,
    pub samples_before: u64,
    pub samples_after: u64,
    /// Functions of one name in one file that nothing tells apart, each name once: their rows are of all of them.
    pub merged: Vec<(String, String)>,
    pub advice: Option<Advice>,
    /// Why the sides cannot be compared: with any of these nothing is certain.
    pub obstacles: Vec<String>,
    /// How else the sides differ.
    pub unlike: Vec<String>,
    codebase: Codebase,
}

/// What would make a change of `ADVISED_CHANGE` in the largest row certain.
#[derive(Clone, Debug)]
pub struct Advice {
    pub subject: Subject,
    /// On each side.
    pub runs: u32,
    /// Instead of more runs.
    pub times_longer: Option<f64>,
    pub fewer_longer: Option<Longer>,
    pub is_enough: bool,
}

/// The sums of one key, run by run.
#[derive(Default)]
struct Known {
    sums: Sums,
    /// Of a function.
    expressions: HashSet<SiteIndex>,
}

/// The bins that a recording with these accounts is to be built with.
#[must_use]
pub fn bins_of(accounts: &Profile) -> Bins {
    Bins::of_span(accounts.span_ns, Bins::MAX)
}

/// Each side has one recording or more. `asked`: the weight.
#[must_use]
pub fn difference(before: &[Run], after: &[Run], asked: Option<Weight>) -> Difference {
    let choice = choice::choice(before, after, asked);
    let runs = before.iter().map(|run| (Side::Before, run)).chain(after.iter().map(|run| (Side::After, run)));
    let profiles: Vec<&Profile> = before.iter().chain(after).map(|run| &run.reading.profile).collect();
    let mut table = Table::new(choice.weight, (before.len(), after.len()), Codebase::of(&profiles, before.len()));
    for (position, (side, run)) in runs.enumerate() {
        table.add(side, &run.reading, position);
    }
    table.add_up();
    let weight = choice.weight;
    let longest_ns = before.iter().chain(after).map(|run| run.reading.wall_ns()).max().unwrap_or(0);
    let facts = |runs: &[Run]| runs.iter().map(Facts::of).collect::<Vec<_>>();
    let (before, after) = (facts(before), facts(after));
    let mut difference = table.settled(choice, longest_ns, longer_part(&before, &after));
    difference.obstacles = obstacles(&before, &after, weight);
    difference.unlike = unlike(&before, &after);
    if !difference.obstacles.is_empty() {
        let rows = difference.rows.iter_mut().chain(&mut difference.functions).chain(&mut difference.rewritten);
        rows.map(|row| &mut row.estimate).chain([&mut difference.whole]).for_each(|estimate| estimate.certain = false);
        difference.advice = None;
    }
    difference
}

impl Difference {
    /// The paths of one file, A's and B's, where they differ.
    #[must_use]
    pub fn moved_files(&self) -> BTreeSet<(&str, &str)> {
        self.codebase.moved()
    }

    /// The certain row with the largest change. Rows that only one side has count together with those of the other side that they may be.
    #[must_use]
    pub fn largest_certain(&self) -> Option<&Row> {
        let rows = self.functions.iter().chain(&self.rows).filter(|row| !row.is_rewritten);
        let certain = rows.chain(&self.rewritten).filter(|row| row.estimate.certain);
        certain.max_by(|one, other| one.estimate.change().abs().total_cmp(&other.estimate.change().abs()))
    }
}

/// A place in the tables of all runs.
enum Aligned {
    Code { own: SiteIndex, callers: Vec<SiteIndex> },
    Phase(Phase),
    NoPython,
}

struct RunPlaces {
    side: Side,
    places: Vec<(Aligned, Series)>,
    whole: Series,
    progress: Progress,
}

struct Table {
    weight: Weight,
    runs_before: usize,
    runs_after: usize,
    codebase: Codebase,
    own: Sites,
    callers: Sites,
    runs: Vec<RunPlaces>,
    ways: HashMap<Function, Ways>,
    begins: Begins,
    whole: Sums,
    known: HashMap<Key, Known>,
    rewritten: Rewritten,
    /// Of each run: what one sample weighs, later ones more.
    one_sample: Vec<f64>,
    /// Of each run: its sum, what filters leave out included.
    recorded: Vec<f64>,
    /// Of each run.
    of_any_row: Vec<OfAnyRow>,
    busy: Busy,
}

impl Table {
    fn new(weight: Weight, (runs_before, runs_after): (usize, usize), codebase: Codebase) -> Table {
        Table {
            weight,
            runs_before,
            runs_after,
            codebase,
            own: Sites::new(By::Text),
            callers: Sites::new(By::TextOrLine),
            runs: Vec::new(),
            ways: HashMap::default(),
            begins: Begins::default(),
            whole: Sums::default(),
            known: HashMap::default(),
            rewritten: Rewritten::default(),
            one_sample: Vec::new(),
            recorded: Vec::new(),
            of_any_row: Vec::new(),
            busy: Busy::default(),
        }
    }

    /// The next run, in the order of both sides; `position` counts them.
    fn add(&mut self, side: Side, reading: &Reading, position: usize) {
        if position == self.runs_before {
            self.own.keep_before();
            self.callers.keep_before();
            self.begins.keep_before();
        }
        let busy = match side {
            Side::Before => &mut self.busy.before,
            Side::After => &mut self.busy.after,
        };
        *busy = busy.max(waited_for_cpu(reading).unwrap_or(0.0));
        let places = self.aligned(reading, position);
        for (place, series) in &places {
            if let Aligned::Code { own, callers } = place {
                self.ways.entry(self.own.get(*own).function()).or_default().add(callers, series.sum());
            }
        }
        let mut whole = Series::default();
        places.iter().for_each(|(_, series)| whole.add(series));
        let run = whole_run(reading, self.weight);
        let progress = Progress::of(&run, &whole, one_sample(reading, self.weight, &run));
        self.recorded.push(run.sum());
        self.of_any_row.push(OfAnyRow::of(reading, self.weight));
        self.one_sample.push(progress.one_sample);
        self.runs.push(RunPlaces { side, places, whole, progress });
    }

    /// When all runs are known, the rows are.
    fn add_up(&mut self) {
        let divisions: HashMap<Function, Division> =
            std::mem::take(&mut self.ways).into_iter().map(|(function, ways)| (function, ways.division())).collect();
        let runs = std::mem::take(&mut self.runs);
        let keys_of = |place: &Aligned| match place {
            Aligned::Phase(phase) => (Key::Phase(*phase), None),
            Aligned::NoPython => (Key::NoPython, None),
            Aligned::Code { own, callers } => {
                let own_function = self.own.get(*own).function();
                let caller = divisions.get(&own_function).and_then(|division| division.caller(callers));
                let caller_function = caller.map(|caller| self.callers.get(caller).function());
                let function = Key::Function { own: own_function, caller: caller_function };
                (Key::Expression { own: *own, caller }, Some(function))
            }
        };
        let of_run = |run: &RunPlaces| run.places.iter().map(|(place, _)| keys_of(place)).collect::<Vec<_>>();
        let keys: Vec<Vec<(Key, Option<Key>)>> = runs.iter().map(of_run).collect();
        let met = runs.iter().zip(&keys).flat_map(|(run, keys)| {
            keys.iter()
                .zip(&run.places)
                .map(|((key, function), (_, series))| (run.side, key, function.as_ref(), series))
        });
        self.rewritten = Rewritten::of(met);
        let sides = (self.runs_before, self.runs_after);
        let mut buffer = Vec::new();
        for (position, (run, keys)) in runs.into_iter().zip(keys).enumerate() {
            let mut of_key: HashMap<Key, Series> = HashMap::default();
            let mut rewritten = self.rewritten.nothing();
            for ((key, function), (_, series)) in keys.into_iter().zip(&run.places) {
                if let (Some(function), Key::Expression { own, .. }) = (function, &key) {
                    self.known.entry(function.clone()).or_default().expressions.insert(*own);
                    of_key.entry(function).or_default().add(series);
                }
                if let Some(part) = self.rewritten.part(&key) {
                    rewritten[part].add(series);
                }
                of_key.entry(key).or_default().add(series);
            }
            // What was recorded is exact as a whole; what a filter keeps of it is a row of the run like others.
            let sum = run.progress.sum(&run.whole, &mut buffer);
            add_sum(&mut self.whole, run.side, position, sides, run.whole.samples, sum);
            for (sums, series) in self.rewritten.sums().zip(rewritten) {
                let sum = run.progress.sum(&series, &mut buffer);
                add_sum(sums, run.side, position, sides, series.samples, sum);
            }
            for (key, series) in of_key {
                let sum = run.progress.sum(&series, &mut buffer);
                add_sum(&mut self.known.entry(key).or_default().sums, run.side, position, sides, series.samples, sum);
            }
        }
    }

    /// Each place of the next run with its sites in the tables of all runs; two places may be one.
    fn aligned(&mut self, reading: &Reading, position: usize) -> Vec<(Aligned, Series)> {
        let places = places(reading, self.weight);
        let frames = |place: &Place| match place {
            Place::Code { own, callers } => (Some(*own), callers.clone()),
            Place::Phase(_) | Place::NoPython => (None, Vec::new()),
        };
        let distinct = |frames: &mut dyn Iterator<Item = FrameIndex>| {
            let mut seen = HashSet::default();
            frames.filter(|frame| seen.insert(*frame)).collect::<Vec<FrameIndex>>()
        };
        let own = distinct(&mut places.iter().filter_map(|(place, _)| frames(place).0));
        let callers = distinct(&mut places.iter().flat_map(|(place, _)| frames(place).1));
        let run = (position, &self.codebase);
        let own_of = sites_of(&mut self.own, reading, run, own);
        let caller_of = sites_of(&mut self.callers, reading, run, callers);
        self.begins.add(&[(&self.own, &own_of), (&self.callers, &caller_of)]);
        let aligned = |place: &Place| match place {
            Place::Phase(phase) => Aligned::Phase(*phase),
            Place::NoPython => Aligned::NoPython,
            Place::Code { own, callers } => match own_of.get(own) {
                Some(&own) => {
                    let callers = callers.iter().filter_map(|caller| caller_of.get(caller).copied()).collect();
                    Aligned::Code { own, callers }
                }
                None => Aligned::NoPython,
            },
        };
        places.into_iter().map(|(place, series)| (aligned(&place), series)).collect()
    }

    fn settled(mut self, choice: Choice, longest_ns: u64, longer_part: f64) -> Difference {
        // A function with one expression would be the same row twice.
        self.known.retain(|key, known| !matches!(key, Key::Function { .. }) || known.expressions.len() > 1);
        let (runs_before, runs_after) = (self.runs_before as u64, self.runs_after as u64);
        let is_too_few = are_too_few(self.whole.samples_before, self.whole.samples_after);
        let is_compared = |sums: &Sums| {
            !is_too_few && sums.samples_before / runs_before + sums.samples_after / runs_after >= SAMPLES_MIN
        };
        let compared = 1 + self.known.values().filter(|known| is_compared(&known.sums)).count();
        for sums in self.known.values_mut().map(|known| &mut known.sums).chain(self.rewritten.sums()) {
            // What all runs of a side hardly met is as uncertain as what one run did.
            let before = sums.before.iter_mut().map(|sum| (sum, runs_before));
            let sums = before.chain(sums.after.iter_mut().map(|sum| (sum, runs_after)));
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
        let mean = |runs: &[f64]| runs.iter().sum::<f64>() / runs.len().max(1) as f64;
        let (of_any_row_before, of_any_row_after) = self.of_any_row.split_at(self.runs_before);
        let certainty = Certainty::of(&spread_of, &self.whole, compared, self.busy)
            .with_neighbours_in(mean(&self.recorded))
            .with_uncovered(apart(of_any_row_before, of_any_row_after))
            .with_longer(longer_part);
        let whole = certainty.estimate(&self.whole, !is_too_few);
        let (mut rows, mut functions) = (Vec::new(), Vec::new());
        let mut largest: Option<(f64, Subject, &Sums)> = None;
        for (key, known) in &self.known {
            let sums = &known.sums;
            let row = Row {
                subject: self.subject(key, named_by(sums)),
                expressions: known.expressions.len(),
                samples_before: sums.samples_before,
                samples_after: sums.samples_after,
                estimate: certainty.estimate(sums, is_compared(sums)),
                is_rewritten: self.rewritten.part(key).is_some(),
            };
            if row.estimate.certain {
                self.rewritten.claim(key);
            }
            let size = row.estimate.before + row.estimate.after;
            let is_larger =
                |(other, subject, _): &(f64, Subject, &Sums)| (size, place(&row.subject)) > (*other, place(subject));
            if matches!(row.subject, Subject::Code { .. }) && largest.as_ref().is_none_or(is_larger) {
                largest = Some((size, row.subject.clone(), sums));
            }
            if matches!(key, Key::Function { .. }) { &mut functions } else { &mut rows }.push(row);
        }
        let advice = largest.filter(|_| !is_too_few).and_then(|(size, subject, sums)| {
            // Of A: where B takes that much longer, A is less than the middle of both.
            let change = size / 2.0 / (1.0 + ADVISED_CHANGE / 2.0) * ADVISED_CHANGE;
            let runs = certainty.runs_needed(sums, change)?;
            let is_enough = runs as usize <= self.runs_before.min(self.runs_after);
            let times_longer = certainty.times_longer(sums, change);
            let fewer_longer = certainty.fewer_longer(sums, change, runs, longest_ns);
            Some(Advice { subject, runs, times_longer, fewer_longer, is_enough })
        });
        sort(&mut rows);
        sort(&mut functions);
        let mut rewritten = self.rewritten.claimed(|key, side| self.subject(key, side), &certainty, is_compared);
        sort(&mut rewritten);
        Difference {
            choice,
            whole,
            rows,
            functions,
            rewritten,
            certainty,
            busy: self.busy,
            samples_before: self.whole.samples_before,
            samples_after: self.whole.samples_after,
            merged: self.merged(),
            advice,
            obstacles: Vec::new(),
            unlike: Vec::new(),
            codebase: self.codebase,
        }
    }

    /// Each file and name once, as rows have them.
    fn merged(&self) -> Vec<(String, String)> {
        let mut found: BTreeSet<(String, String)> = BTreeSet::new();
        for (key, known) in &self.known {
            let Key::Expression { own, .. } = key else { continue };
            let site = self.own.get(*own);
            if site.instance == Instance::Merged {
                let path = self.codebase.path(site.file, named_by(&known.sums));
                found.insert((path.to_string(), site.function.clone()));
            }
        }
        found.into_iter().collect()
    }

    fn subject(&self, key: &Key, side: Side) -> Subject {
        let code = |site: &Site, is_whole: bool| Code {
            file: self.codebase.path(site.file, side).to_string(),
            line: site.line.filter(|_| !is_whole),
            function: site.function.clone(),
            expression: site.text.clone().filter(|_| !is_whole),
        };
        let whole = |function: &Function| Code {
            file: self.codebase.path(function.0, side).to_string(),
            line: self.begins.line_among_several(function, side),
            function: function.1.clone(),
            expression: None,
        };
        match key {
            Key::Expression { own, caller } => Subject::Code {
                code: code(self.own.on(*own, side), false),
                caller: caller.map(|caller| code(self.callers.on(caller, side), false)),
            },
            Key::Function { own, caller } => Subject::Code { code: whole(own), caller: caller.as_ref().map(whole) },
            Key::Phase(phase) => Subject::Phase(*phase),
            Key::NoPython => Subject::NoPython,
        }
    }
}

/// The side whose paths and lines a row has.
fn named_by(sums: &Sums) -> Side {
    if sums.samples_before > 0 && sums.samples_after == 0 { Side::Before } else { Side::After }
}

/// Runs of the row's side in which it was not seen have a sum of 0.
fn add_sum(sums: &mut Sums, side: Side, position: usize, runs: (usize, usize), samples: u64, sum: Sum) {
    let none = Sum::default();
    sums.before.resize(runs.0, none);
    sums.after.resize(runs.1, none);
    let (own, all_samples) = match side {
        Side::Before => (&mut sums.before[position], &mut sums.samples_before),
        Side::After => (&mut sums.after[position - runs.0], &mut sums.samples_after),
    };
    *own = sum;
    *all_samples = all_samples.saturating_add(samples);
}
