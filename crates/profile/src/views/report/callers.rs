//! Who led to a row: the nearest callers in the user's code, if the row's function has several.
//! Owns: which callers are named, and how many. Keeps: shares are of the row's self time; with `others` they add up to all of it. Where calls
//! were counted they are of the row's own calls that another function made.

use foldhash::HashMap;
use std::cmp::Reverse;

use crate::tables::own_code::code_of;
use crate::tables::profile::{FrameIndex, FunctionIndex, Profile};
use crate::tables::table::TableIndex;
use crate::words::figures::share;

/// A caller with more than this has nearly all of the row's time and is not named.
const SHARE_MAX: f64 = 0.9;
/// A caller with less than this counts among the others, unless it is the largest.
const SHARE_MIN: f64 = 0.1;
const CALLERS_MAX: usize = 3;
/// How many callers of callers are kept for each stack.
const STEPS_MAX: usize = 8;

/// A line of the user's code, and the share of the row's self time that it led to, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Caller {
    pub function: FunctionIndex,
    pub line: Option<u32>,
    pub share: f64,
}

/// Code that called a row: a function of the user's, and the line of it.
type Place = (FunctionIndex, Option<u32>);

/// The callers of one row, added up.
#[derive(Default)]
pub struct Callers {
    whole: u64,
    /// Weight by the path to the row, innermost first.
    weight_of: HashMap<Vec<Place>, u64>,
}

impl Callers {
    /// `own`: the user's frames of a stack, innermost first; `deepest`: the code that the stack counts for. A function is not a caller of
    /// itself or of its own comprehensions.
    pub fn add(&mut self, profile: &Profile, own: &[FrameIndex], deepest: Option<FrameIndex>, weight: u64) {
        self.whole = self.whole.saturating_add(weight);
        let mut seen = Vec::new();
        let mut way: Vec<Place> = Vec::new();
        for &frame in own.iter().skip_while(|frame| Some(**frame) != deepest) {
            let code = code_of(profile, frame);
            if seen.contains(&code) {
                continue;
            }
            if !seen.is_empty() {
                let frame = &profile.frames[frame];
                way.push((frame.function, frame.location.map(|location| location.line)));
            }
            seen.push(code);
            if way.len() == STEPS_MAX {
                break;
            }
        }
        let sum = self.weight_of.entry(way).or_default();
        *sum = sum.saturating_add(weight);
    }

    /// The nearest callers at which the paths to the row divide, the largest first. A caller with nearly all of the time is not named; its own
    /// callers are tried instead. None: the paths do not divide, or no caller has a large share.
    pub fn named(&self) -> Vec<Caller> {
        let mut common: Vec<Place> = Vec::new();
        loop {
            let callers = self.callers_behind(&common);
            let Some(largest) = callers.first() else { return Vec::new() };
            if largest.share > SHARE_MAX {
                common.push((largest.function, largest.line));
                continue;
            }
            if largest.share < SHARE_MIN || callers.len() < 2 {
                return Vec::new();
            }
            let named = callers.into_iter().take(CALLERS_MAX).enumerate();
            let named = named.filter(|(position, caller)| *position == 0 || caller.share >= SHARE_MIN);
            return named.map(|(_, caller)| caller).collect();
        }
    }

    /// The next steps of the paths that begin with these.
    fn callers_behind(&self, common: &[Place]) -> Vec<Caller> {
        let mut weights: HashMap<Place, u64> = HashMap::default();
        for (way, weight) in &self.weight_of {
            if let Some(&next) = way.strip_prefix(common).and_then(<[Place]>::first) {
                let sum = weights.entry(next).or_default();
                *sum = sum.saturating_add(*weight);
            }
        }
        let mut callers: Vec<(Place, u64)> = weights.into_iter().collect();
        callers.sort_by_key(|((function, line), weight)| (Reverse(*weight), function.position(), *line));
        let caller = |((function, line), weight)| Caller { function, line, share: share(weight, self.whole) };
        callers.into_iter().map(caller).collect()
    }
}
