//! What the samples of one recording are added up by: an expression of the user's own code with the way to it, bin by bin.
//! Owns: which code a sample counts for (as in the report), and which callers it has. Never: looks at another recording.

use foldhash::HashMap;

use crate::rules::phase::Phase;
use crate::rules::reading::Reading;
use crate::rules::weight::Weight;
use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::own_code::{OwnCode, code_of, own_code};
use crate::tables::profile::{FrameIndex, Moment, NodeIndex, Profile};
use genba_format::state::State;

/// Callers further away tell no rows apart.
const CALLERS_MAX: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// `callers`: the user's own frames above, the nearest first, each function once: what is recursive has one way to it.
    Code {
        own: FrameIndex,
        callers: Vec<FrameIndex>,
    },
    Phase(Phase),
    NoPython,
}

/// The samples of one place, or of several.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// As the weight counts them: observations of running threads, or for wall time ticks of all. A wait is observed at each of its ticks.
    pub samples: u64,
    /// Nanoseconds, or samples. May name a bin several times.
    pub bins: Vec<(u32, f64)>,
}

impl Series {
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.bins.iter().map(|(_, weight)| weight).sum()
    }

    pub fn add(&mut self, other: &Series) {
        self.samples = self.samples.saturating_add(other.samples);
        self.bins.extend_from_slice(&other.bins);
    }

    fn add_moment(&mut self, moment: &Moment, weight: Weight) {
        let observed = match weight {
            Weight::Wall => moment.ticks,
            _ if moment.state.is_running() => moment.samples,
            _ => 0,
        };
        self.samples = self.samples.saturating_add(u64::from(observed));
        let value = value(moment, weight);
        match self.bins.last_mut() {
            Some((bin, sum)) if *bin == moment.bin => *sum += value,
            _ if value > 0.0 => self.bins.push((moment.bin, value)),
            _ => {}
        }
    }
}

/// All samples of the run, also those that filters leave out.
#[must_use]
pub fn whole_run(reading: &Reading, weight: Weight) -> Series {
    let mut whole = Series::default();
    let left_out = reading.kept.iter().flat_map(|kept| &kept.left_out);
    reading.moments.iter().chain(left_out).for_each(|moment| whole.add_moment(moment, weight));
    whole
}

/// Each stack with its state, in the order in which they were met. Those without weight are left out.
#[must_use]
pub fn leaves(profile: &Profile, weight: Weight) -> Vec<((Option<NodeIndex>, State), Series)> {
    let mut found: Vec<((Option<NodeIndex>, State), Series)> = Vec::new();
    let mut position_of: HashMap<(Option<NodeIndex>, State), usize> = HashMap::default();
    for moment in &profile.moments {
        let leaf = (moment.node, moment.state);
        let position = *position_of.entry(leaf).or_insert_with(|| {
            found.push((leaf, Series::default()));
            found.len() - 1
        });
        found[position].1.add_moment(moment, weight);
    }
    found.retain(|(_, series)| !series.bins.is_empty());
    found
}

/// In the order in which they were met. Rows without weight are left out.
#[must_use]
pub fn places(profile: &Profile, weight: Weight) -> Vec<(Place, Series)> {
    let event_loop = EventLoop::of(profile);
    let mut found: Vec<(Place, Series)> = Vec::new();
    let mut position_of: HashMap<Place, usize> = HashMap::default();
    let mut position_of_stack: HashMap<(Option<NodeIndex>, bool), usize> = HashMap::default();
    for moment in &profile.moments {
        let is_waiting = moment.state.is_waiting();
        let position = *position_of_stack.entry((moment.node, is_waiting)).or_insert_with(|| {
            let place = place(profile, &event_loop, moment.node, is_waiting);
            *position_of.entry(place.clone()).or_insert_with(|| {
                found.push((place, Series::default()));
                found.len() - 1
            })
        });
        found[position].1.add_moment(moment, weight);
    }
    found.retain(|(_, series)| !series.bins.is_empty());
    found
}

fn value(moment: &Moment, weight: Weight) -> f64 {
    match weight {
        Weight::Cpu => moment.cpu_ns as f64,
        Weight::Wall => moment.wall_ns as f64,
        Weight::Samples if moment.state.is_running() => f64::from(moment.samples),
        // A moment knows of no copies: `genba diff` refuses this weight.
        Weight::Samples | Weight::Copied | Weight::Allocated => 0.0,
    }
}

fn place(profile: &Profile, event_loop: &EventLoop, leaf: Option<NodeIndex>, is_waiting: bool) -> Place {
    let OwnCode { deepest, frames, given } = own_code(profile, event_loop, leaf);
    if let Some((phase, _)) = Phase::of(profile, event_loop, leaf, &frames, is_waiting) {
        return Place::Phase(phase);
    }
    let Some(own) = deepest else { return Place::NoPython };
    let mut seen = vec![code_of(profile, own)];
    let mut callers = Vec::new();
    for &frame in frames[..given.min(frames.len())].iter().skip_while(|frame| **frame != own) {
        let code = code_of(profile, frame);
        if callers.len() < CALLERS_MAX && !seen.contains(&code) {
            seen.push(code);
            callers.push(frame);
        }
    }
    Place::Code { own, callers }
}
