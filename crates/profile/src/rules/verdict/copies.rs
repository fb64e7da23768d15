//! The places whose code copied most, of a recording made with `--copies`, and those that allocated most, of one made with `--alloc`.
//! Owns: which places those are. Never: judges a copy or an allocation; what is to be done depends on the program.

use foldhash::HashMap;
use std::cmp::Reverse;

use super::thresholds::{COPIED_BYTES_MIN, COPIED_MIN};
use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::own_code::own_code;
use crate::tables::own_code::twins::Twins;
use crate::tables::profile::{FrameIndex, Profile, SampleGroup};
use crate::tables::table::TableIndex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copies {
    /// None: outside of Python.
    pub place: Option<FrameIndex>,
    pub bytes: u64,
    /// Copies or allocations: an estimate, as the bytes are.
    pub copies: u64,
    /// What all places copied or allocated.
    pub whole_bytes: u64,
}

impl Copies {
    /// The largest first.
    pub fn of(profile: &Profile) -> Vec<Copies> {
        Copies::most(profile, |group| (group.copied_bytes, group.copies))
    }

    /// The same of allocations.
    pub fn of_allocations(profile: &Profile) -> Vec<Copies> {
        Copies::most(profile, |group| (group.allocated_bytes, group.allocations))
    }

    fn most(profile: &Profile, figures: impl Fn(&SampleGroup) -> (u64, u64)) -> Vec<Copies> {
        let whole_bytes = profile.samples.iter().fold(0_u64, |sum, group| sum.saturating_add(figures(group).0));
        if whole_bytes < COPIED_BYTES_MIN {
            return Vec::new();
        }
        let (event_loop, twins) = (EventLoop::of(profile), Twins::of(profile));
        let mut sums: HashMap<Option<FrameIndex>, (u64, u64)> = HashMap::default();
        for group in profile.samples.iter().filter(|group| figures(group).0 > 0) {
            let (bytes, copies) = figures(group);
            let place = own_code(profile, &event_loop, group.node).deepest.map(|frame| twins.frame(frame));
            let sum = sums.entry(place).or_default();
            sum.0 = sum.0.saturating_add(bytes);
            sum.1 = sum.1.saturating_add(copies);
        }
        let mut places: Vec<Copies> = sums
            .into_iter()
            .map(|(place, (bytes, copies))| Copies { place, bytes, copies, whole_bytes })
            .filter(|copies| copies.bytes >= COPIED_BYTES_MIN && copies.bytes as f64 >= COPIED_MIN * whole_bytes as f64)
            .collect();
        places.sort_by_key(|copies| (Reverse(copies.bytes), copies.place.map(TableIndex::position)));
        places
    }
}
