//! The call trees of all recordings of a comparison as one tree, each box with its sums before and after.
//! Owns: which calls are the same box, and which boxes are kept and compared. Never: lays out a picture.
//! Keeps: the rows of a comparison do not depend on it; its boxes err together as rarely as all rows do.
//!
//! Boxes are found like rows are: files by their paths, functions by their names, expressions by their text and line.

use foldhash::HashMap;
use std::collections::hash_map::Entry;

use crate::rules::difference::aligned::{Begins, By, Function, SiteIndex, Sites, sites_of};
use crate::rules::difference::certainty::{Estimate, SAMPLES_MIN, Sums, variance_of_unseen};
use crate::rules::difference::codebase::Codebase;
use crate::rules::difference::files::Side;
use crate::rules::difference::places::{Series, leaves, whole_run};
use crate::rules::difference::within_run::Sum;
use crate::rules::difference::within_run::progress::{Progress, one_sample};
use crate::rules::difference::{Difference, Run, are_too_few};
use crate::rules::phase::Phase;
use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::own_code::{own_code, without_parts};
use crate::tables::owner::Library;
use crate::tables::profile::{FrameIndex, FrameKind, Home, NodeIndex, Profile};
use crate::tables::state::in_words;
use genba_format::state::State;

/// A box with less of the larger side is left out, and counted.
const KEPT_SHARE_MIN: f64 = 0.002;
const KEPT_MAX: usize = 2000;
/// A box with less is shown and not compared: each comparison more makes all others less certain.
pub const COMPARED_SHARE_MIN: f64 = 0.01;

/// Standard deviation, as a part of an expression's time, of what half of it inside takes from the other half between runs of one program. Which of two C
/// functions the processor is seen in is a matter of where memory lies: of `sum(range(n))`, run 14 times, `pymalloc_alloc` had 3 to 24 %.
const ASSUMED_EXCHANGE_INSIDE: f64 = 0.12;

#[derive(Debug)]
pub struct CallTree {
    /// A parent stands before its children; the first is everything.
    pub boxes: Vec<CallBox>,
    /// Sums that were compared: a box with the same sums as its caller is no other comparison.
    pub compared: usize,
    /// Boxes with too little time to be kept.
    pub left_out: usize,
}

#[derive(Clone, Debug)]
pub struct CallBox {
    pub parent: Option<usize>,
    pub step: CallStep,
    pub estimate: Estimate,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallStep {
    All,
    /// `file`: its path in B, or in A where only A has the box.
    Function {
        file: String,
        name: String,
        /// Where several functions of the file have that name: its first.
        line: Option<u32>,
    },
    /// Of the function above: where the user's own code hands over.
    Expression {
        file: String,
        line: Option<u32>,
        column: Option<u32>,
        text: Option<String>,
    },
    C {
        module: String,
        name: String,
    },
    /// What is no call: `interpreter start-up`, a state, a mark.
    Words(String),
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Step {
    Function(Function),
    Expression(SiteIndex),
    C(String, String),
    Words(String),
}

#[derive(Default)]
struct Growing {
    parents: Vec<Option<usize>>,
    steps: Vec<Option<Step>>,
    known: HashMap<(usize, Step), usize>,
    /// `runs` numbers a box.
    sums: Vec<f64>,
    runs: usize,
}

struct RunLeaves {
    /// With the box that each stack ends in.
    leaves: Vec<(usize, Series)>,
    progress: Progress,
}

/// Each side has one recording or more.
#[must_use]
pub fn call_tree(before: &[Run], after: &[Run], difference: &Difference) -> CallTree {
    let weight = difference.choice.weight;
    let codebase = &difference.codebase;
    let mut sites = Sites::new(By::Text);
    let mut tree = Growing { runs: before.len() + after.len(), ..Growing::default() };
    tree.push(None, None);
    let mut begins = Begins::default();
    let mut runs: Vec<RunLeaves> = Vec::new();
    for (position, run) in before.iter().chain(after).enumerate() {
        if position == before.len() {
            sites.keep_before();
            begins.keep_before();
        }
        let profile = &run.reading.profile;
        let paths = PathsOf::new(profile, (position, codebase), &mut sites);
        begins.add(&[(&sites, &paths.sites)]);
        let mut found: Vec<(usize, Series)> = Vec::new();
        for ((node, state), series) in leaves(profile, weight) {
            let leaf = tree.add(paths.steps(node, state), position, series.sum());
            found.push((leaf, series));
        }
        let whole = whole_run(&run.reading, weight);
        let mut kept = Series::default();
        found.iter().for_each(|(_, series)| kept.add(series));
        let progress = Progress::of(&whole, &kept, one_sample(profile, weight, &whole));
        runs.push(RunLeaves { leaves: found, progress });
    }
    let (kept, left_out) = tree.kept(before.len());
    let order = tree.order();
    for run in &mut runs {
        run.leaves.sort_by_key(|(leaf, _)| order[*leaf].0);
    }
    let sums = tree.sums_of(&kept, &order, &runs, before.len());
    settled(&tree, &kept, sums, left_out, difference, (before.len(), &runs), |step, side| match step {
        None => CallStep::All,
        Some(Step::Function(function)) => CallStep::Function {
            file: codebase.path(function.0, side).to_string(),
            name: function.1.clone(),
            line: begins.line_among_several(function, side),
        },
        Some(Step::Expression(site)) => {
            let site = sites.on(*site, side);
            CallStep::Expression {
                file: codebase.path(site.file, side).to_string(),
                line: site.line,
                column: site.column,
                text: site.text.clone(),
            }
        }
        Some(Step::C(module, name)) => CallStep::C { module: module.clone(), name: name.clone() },
        Some(Step::Words(words)) => CallStep::Words(words.clone()),
    })
}

fn settled(
    tree: &Growing,
    kept: &[usize],
    mut sums: Vec<Option<Sums>>,
    left_out: usize,
    difference: &Difference,
    (runs_before, runs): (usize, &[RunLeaves]),
    named: impl Fn(Option<&Step>, Side) -> CallStep,
) -> CallTree {
    let runs_after = runs.len() - runs_before;
    let is_side_too_small = are_too_few(difference.samples_before, difference.samples_after);
    let has_samples =
        |sums: &Sums| sums.samples_before / runs_before as u64 + sums.samples_after / runs_after as u64 >= SAMPLES_MIN;
    let compared = sums.iter().flatten().filter(|sums| has_samples(sums)).count();
    for sums in sums.iter_mut().flatten() {
        let before = sums.before.iter_mut().map(|sum| (sum, runs_before));
        let sides = before.chain(sums.after.iter_mut().map(|sum| (sum, runs_after)));
        for ((sum, count), run) in sides.zip(runs) {
            sum.variance += variance_of_unseen(run.progress.one_sample, compared) / count as f64;
        }
    }
    let certainty = difference.certainty.comparing(compared);
    let row_of: HashMap<usize, usize> = kept.iter().copied().zip(0..).collect();
    let mut boxes: Vec<CallBox> = Vec::with_capacity(kept.len());
    for (&at, sums) in kept.iter().zip(&sums) {
        let parent = tree.parents[at].map(|parent| row_of[&parent]);
        let estimate = match (parent, sums) {
            (None, _) => difference.whole,
            (Some(_), Some(sums)) => certainty.estimate(sums, !is_side_too_small && has_samples(sums)),
            (Some(parent), None) if tree.is_like_parent(at) => boxes[parent].estimate,
            (Some(_), None) => {
                let (before, after) = tree.means(at, runs_before);
                let change = after - before;
                Estimate {
                    before,
                    after,
                    low: change,
                    high: change,
                    certain: false,
                    is_too_few: true,
                    runs_needed: None,
                }
            }
        };
        let is_only_before = estimate.before > 0.0 && estimate.after <= 0.0;
        let side = if is_only_before { Side::Before } else { Side::After };
        boxes.push(CallBox { parent, step: named(tree.steps[at].as_ref(), side), estimate });
    }
    if !difference.obstacles.is_empty() {
        boxes.iter_mut().for_each(|found| found.estimate.certain = false);
    }
    CallTree { boxes, compared, left_out }
}

impl Growing {
    fn push(&mut self, parent: Option<usize>, step: Option<Step>) -> usize {
        self.parents.push(parent);
        self.steps.push(step);
        self.sums.resize(self.parents.len() * self.runs, 0.0);
        self.parents.len() - 1
    }

    /// The box of a stack, outermost step first, after its weight was added to each box on the way.
    fn add(&mut self, steps: Vec<Step>, run: usize, value: f64) -> usize {
        let mut at = 0;
        self.sums[run] += value;
        for step in steps {
            at = match self.known.get(&(at, step.clone())) {
                Some(&child) => child,
                None => {
                    let child = self.push(Some(at), Some(step.clone()));
                    self.known.insert((at, step), child);
                    child
                }
            };
            self.sums[at * self.runs + run] += value;
        }
        at
    }

    fn of(&self, at: usize) -> &[f64] {
        &self.sums[at * self.runs..(at + 1) * self.runs]
    }

    /// Of one run of each side.
    fn means(&self, at: usize, runs_before: usize) -> (f64, f64) {
        let (before, after) = self.of(at).split_at(runs_before);
        let mean = |sums: &[f64]| sums.iter().sum::<f64>() / sums.len() as f64;
        (mean(before), mean(after))
    }

    fn larger(&self, at: usize, runs_before: usize) -> f64 {
        let (before, after) = self.means(at, runs_before);
        before.max(after)
    }

    /// In their order, and how many are not kept. No box is larger than its caller, so callers of kept boxes are kept.
    fn kept(&self, runs_before: usize) -> (Vec<usize>, usize) {
        let smallest = self.larger(0, runs_before) * KEPT_SHARE_MIN;
        let mut kept: Vec<usize> = (0..self.parents.len()).collect();
        kept.retain(|&at| at == 0 || self.larger(at, runs_before) >= smallest.max(f64::MIN_POSITIVE));
        kept.sort_by(|&one, &other| {
            self.larger(other, runs_before).total_cmp(&self.larger(one, runs_before)).then(one.cmp(&other))
        });
        kept.truncate(KEPT_MAX);
        kept.sort_unstable();
        let seen = (0..self.parents.len()).filter(|&at| self.larger(at, runs_before) > 0.0).count();
        let left_out = seen.saturating_sub(kept.len());
        (kept, left_out)
    }

    /// Where the walk from the root enters each box, and the first position behind everything below the box.
    fn order(&self) -> Vec<(usize, usize)> {
        let mut sizes = vec![1; self.parents.len()];
        for at in (1..self.parents.len()).rev() {
            if let Some(parent) = self.parents[at] {
                sizes[parent] += sizes[at];
            }
        }
        let mut order = vec![(0, sizes[0]); self.parents.len()];
        let mut next: Vec<usize> = vec![1; self.parents.len()];
        for at in 1..self.parents.len() {
            if let Some(parent) = self.parents[at] {
                let enter = next[parent];
                next[parent] += sizes[at];
                order[at] = (enter, enter + sizes[at]);
                next[at] = enter + 1;
            }
        }
        order
    }

    fn is_like_parent(&self, at: usize) -> bool {
        self.parents[at].is_some_and(|parent| {
            self.of(at).iter().zip(self.of(parent)).all(|(own, above)| (own - above).abs() <= above * 1e-9)
        })
    }

    /// Standard deviation of what a box inside of an expression takes from the others in it, in one run.
    fn exchange_inside(&self, at: usize, run: usize) -> f64 {
        let whole = self.expression_above(at).map_or(0.0, |expression| self.of(expression)[run]);
        let part = if whole > 0.0 { (self.of(at)[run] / whole).clamp(0.0, 1.0) } else { 0.0 };
        ASSUMED_EXCHANGE_INSIDE * whole * 2.0 * (part * (1.0 - part)).sqrt()
    }

    /// Of what runs for no expression: the outermost box.
    fn expression_above(&self, at: usize) -> Option<usize> {
        let mut outermost = at;
        let mut next = self.parents[at];
        while let Some(above) = next.filter(|above| *above > 0) {
            if matches!(self.steps[above], Some(Step::Expression(_))) {
                return Some(above);
            }
            outermost = above;
            next = self.parents[above];
        }
        matches!(self.steps[at], Some(Step::C(..))).then_some(outermost)
    }

    fn is_compared(&self, at: usize, runs_before: usize) -> bool {
        let smallest = self.larger(0, runs_before) * COMPARED_SHARE_MIN;
        at > 0 && self.larger(at, runs_before) >= smallest && !self.is_like_parent(at)
    }

    /// Of those kept boxes that are compared. `order`: as the leaves of the runs are sorted. Each box hands its bins of progress to its caller's, so a
    /// stack costs as much as it is deep, and not its square.
    fn sums_of(
        &self,
        kept: &[usize],
        order: &[(usize, usize)],
        runs: &[RunLeaves],
        runs_before: usize,
    ) -> Vec<Option<Sums>> {
        let is_compared = |at: usize| self.is_compared(at, runs_before).then(Sums::default);
        let mut sums: Vec<Option<Sums>> = kept.iter().map(|&at| is_compared(at)).collect();
        let row_of: HashMap<usize, usize> = kept.iter().copied().zip(0..).collect();
        let mut last_first: Vec<usize> = (0..self.parents.len()).collect();
        last_first.sort_unstable_by_key(|&at| std::cmp::Reverse(order[at].0));
        for (position, run) in runs.iter().enumerate() {
            // Of callers of the box that is at hand, and of that one.
            let mut below: HashMap<usize, Below> = HashMap::default();
            let mut leaves = run.leaves.iter().rev().peekable();
            for &at in &last_first {
                while let Some((_, series)) = leaves.next_if(|(leaf, _)| *leaf == at) {
                    let own = below.entry(at).or_insert_with(|| Below { samples: 0, bins: run.progress.nothing() });
                    own.samples = own.samples.saturating_add(series.samples);
                    run.progress.spread(series, &mut own.bins);
                }
                let own = below.remove(&at);
                if let Some(Some(sums)) = row_of.get(&at).map(|row| &mut sums[*row]) {
                    let value = self.of(at)[position];
                    let samples = own.as_ref().map_or(0, |own| own.samples);
                    let mut sum =
                        own.as_ref().map_or_else(Sum::default, |own| run.progress.sum_of(value, samples, &own.bins));
                    sum.variance += self.exchange_inside(at, position).powi(2);
                    let (sums_of_side, samples_of_side) = match position < runs_before {
                        true => (&mut sums.before, &mut sums.samples_before),
                        false => (&mut sums.after, &mut sums.samples_after),
                    };
                    sums_of_side.push(sum);
                    *samples_of_side = samples_of_side.saturating_add(samples);
                }
                if let (Some(own), Some(parent)) = (own, self.parents[at]) {
                    match below.entry(parent) {
                        Entry::Vacant(place) => drop(place.insert(own)),
                        Entry::Occupied(mut place) => place.get_mut().add(&own),
                    }
                }
            }
        }
        sums
    }
}

/// What was sampled in a box and below it, in bins of progress.
struct Below {
    samples: u64,
    bins: Vec<f64>,
}

impl Below {
    fn add(&mut self, other: &Below) {
        self.samples = self.samples.saturating_add(other.samples);
        self.bins.iter_mut().zip(&other.bins).for_each(|(sum, bin)| *sum += bin);
    }
}

/// What the frames of one recording are in the tree of all.
struct PathsOf<'p> {
    profile: &'p Profile,
    event_loop: EventLoop,
    sites: HashMap<FrameIndex, SiteIndex>,
    functions: HashMap<FrameIndex, Function>,
}

impl<'p> PathsOf<'p> {
    fn new(profile: &'p Profile, run: (usize, &Codebase), sites: &mut Sites) -> PathsOf<'p> {
        let python = profile.frames.enumerate().filter(|(_, frame)| frame.kind == FrameKind::Python);
        let found = sites_of(sites, profile, run, python.map(|(index, _)| index).collect());
        let functions = found.iter().map(|(frame, site)| (*frame, sites.get(*site).function())).collect();
        PathsOf { profile, event_loop: EventLoop::of(profile), sites: found, functions }
    }

    /// Outermost first. C frames above the first Python frame start the program and are left out.
    fn steps(&self, leaf: Option<NodeIndex>, state: State) -> Vec<Step> {
        let own = own_code(self.profile, &self.event_loop, leaf);
        let given = self.event_loop.given(self.profile, leaf);
        let mut frames: Vec<FrameIndex> = self.profile.stack(leaf).take(given.unwrap_or(usize::MAX)).collect();
        let is_python = |frame: &FrameIndex| self.profile.frames[*frame].kind == FrameKind::Python;
        let handed_over = own.deepest.and_then(|deepest| frames.iter().position(|frame| *frame == deepest));
        let outermost_python = frames.iter().rposition(is_python);
        let mut steps = Vec::new();
        match Phase::of(self.profile, &self.event_loop, leaf, &own.frames, state.is_waiting()) {
            Some((phase, _)) => steps.push(Step::Words(phase.name().to_string())),
            None if outermost_python.is_none() => steps.push(Step::Words("no Python on the stack".to_string())),
            None if given.is_some() => steps.push(Step::Words(Phase::EventLoop.name().to_string())),
            None => {}
        }
        frames.truncate(outermost_python.map_or(frames.len(), |outermost| outermost + 1));
        for (position, frame) in frames.iter().enumerate().rev() {
            self.add_frame(&mut steps, *frame);
            if handed_over == Some(position)
                && let Some(site) = self.sites.get(frame)
            {
                steps.push(Step::Expression(*site));
            }
        }
        if state != State::Running {
            steps.push(Step::Words(in_words(state)));
        }
        steps
    }

    fn add_frame(&self, steps: &mut Vec<Step>, frame: FrameIndex) {
        let function = self.profile.function_of(frame);
        let step = match &function.home {
            Home::Python { .. } => {
                let Some(found) = self.functions.get(&frame) else { return };
                let step = Step::Function(found.clone());
                // A comprehension of CPython 3.11 has a frame of its own, and belongs to its function.
                if without_parts(&function.name) != function.name && steps.last() == Some(&step) {
                    return;
                }
                step
            }
            Home::C { module, .. } => {
                // Two packages may each have a `_speedups.so`.
                let module = &self.profile.modules[*module];
                let name = match Library::of(&module.path) {
                    Some(Library::Installed(package)) if package != module.base_name() => {
                        format!("{package}/{}", module.base_name())
                    }
                    _ => module.base_name().to_string(),
                };
                Step::C(name, function.name.clone())
            }
            Home::Mark => Step::Words(function.name.clone()),
        };
        steps.push(step);
    }
}
