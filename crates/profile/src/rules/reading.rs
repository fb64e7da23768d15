//! A recording as views read it: what the filters keep of it, and what was decided before they were applied.
//! Owns: that the verdict and the weight are of the whole recording, and that both are found once. Never: shows anything.

use std::cell::OnceCell;
use std::ops::Deref;

use crate::rules::filter::{self, Filter, NothingKept};
use crate::rules::verdict::{Verdict, verdict};
use crate::rules::weight::{Choice, Totals, Weight, choose, tells};
use crate::tables::profile::{Moment, Profile};
use crate::tables::window::Window;

const CLOCKS: [Weight; 3] = [Weight::Cpu, Weight::Wall, Weight::Samples];

/// Views ask the profile through it.
#[derive(Debug)]
pub struct Reading {
    /// Where something is kept only, its samples (and with `--hide` its nodes) are not all there were. The other tables are of the whole
    /// recording.
    pub profile: Profile,
    /// None: no filter.
    pub kept: Option<Kept>,
    pub choice: Choice,
    /// Weights that a file of another profiler lacks: of the whole file, not of what is kept.
    untold: Vec<Weight>,
    verdict: OnceCell<Verdict>,
}

/// What the filters left, and what there was before.
#[derive(Clone, Debug)]
pub struct Kept {
    /// As on the command line, in one order.
    pub flags: Vec<String>,
    pub whole: Totals,
    pub window: Option<Window>,
    /// Of the samples that are not kept, where moments were asked for. What remains is a part of a run, and only the run tells how certain it is.
    pub left_out: Vec<Moment>,
}

impl Reading {
    #[must_use]
    pub fn of(profile: Profile) -> Reading {
        // A file without samples lacks all of them, and a warning says so.
        let is_empty = profile.samples.is_empty();
        let untold = CLOCKS.into_iter().filter(|weight| !is_empty && !tells(&profile, *weight)).collect();
        Reading { choice: choose(&profile), untold, profile, kept: None, verdict: OnceCell::new() }
    }

    #[must_use]
    pub fn tells(&self, weight: Weight) -> bool {
        !self.untold.contains(&weight)
    }

    pub fn filtered(profile: Profile, filter: &Filter) -> Result<Reading, NothingKept> {
        let whole = Reading::of(profile);
        if filter.is_empty() {
            return Ok(whole);
        }
        // Before the filters are applied.
        let _ = whole.verdict();
        let (flags, totals) = (filter.flags(), Totals::of_profile(&whole.profile));
        let (profile, left_out) = filter::apply(whole.profile, filter)?;
        Ok(Reading { profile, kept: Some(Kept { flags, whole: totals, window: filter.window, left_out }), ..whole })
    }

    /// None: all of the time.
    #[must_use]
    pub fn window(&self) -> Option<Window> {
        self.kept.as_ref()?.window
    }

    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        self.verdict.get_or_init(|| verdict(&self.profile))
    }

    /// What was asked for, else what suits the whole recording.
    #[must_use]
    pub fn choice(&self, asked: Option<Weight>) -> Choice {
        asked.map_or_else(|| self.choice.clone(), |weight| Choice { weight, why: None })
    }
}

impl Deref for Reading {
    type Target = Profile;

    fn deref(&self) -> &Profile {
        &self.profile
    }
}
