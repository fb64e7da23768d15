//! The places whose code copied most, of a recording made with `--copies`, and those that allocated most, of one made with `--alloc`.
//! Owns: which places those are, and what of them is known well enough to be told. Never: judges a copy or an allocation; what is to be
//! done depends on the program.

use foldhash::HashMap;
use genba_format::measure::Totals;
use std::cmp::Reverse;

use super::thresholds::{CALL_BYTES_MAX, CALLS_MARGIN_MAX, COPIED_BYTES_MIN, COPIED_MIN};
use crate::rules::weight::Estimated;
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
    /// Half of the 95 % interval of the bytes. None: a recording of an earlier genba does not tell it.
    pub margin_bytes: Option<u64>,
    /// Copies or allocations: an estimate, as the bytes are.
    pub copies: u64,
    /// Of one copy or allocation, on average. None: how many there were is not known well enough.
    pub each_bytes: Option<u64>,
    /// What all places copied or allocated, as counted: also what is in no sample.
    pub whole_bytes: u64,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    estimated: Estimated,
    copies: u64,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.estimated.bytes = self.estimated.bytes.saturating_add(other.estimated.bytes);
        self.estimated.kib2 = self.estimated.kib2.saturating_add(other.estimated.kib2);
        self.copies = self.copies.saturating_add(other.copies);
    }

    /// The number of calls of one size errs as their bytes do. Among calls as large as the distance between samples, smaller ones are hardly
    /// seen, and would be most of the number.
    fn each_bytes(self, margin_bytes: u64) -> Option<u64> {
        let each_bytes = self.estimated.bytes / self.copies.max(1);
        let is_sure = margin_bytes as f64 <= CALLS_MARGIN_MAX * self.estimated.bytes as f64;
        (is_sure && each_bytes < CALL_BYTES_MAX).then_some(each_bytes)
    }
}

impl Copies {
    /// The largest first.
    pub fn of(profile: &Profile) -> Vec<Copies> {
        Copies::most(profile, profile.copied(), |group| Sum {
            estimated: Estimated { bytes: group.copied_bytes, kib2: group.copied_kib2 },
            copies: group.copies,
        })
    }

    /// The same of allocations.
    pub fn of_allocations(profile: &Profile) -> Vec<Copies> {
        Copies::most(profile, profile.allocated(), |group| Sum {
            estimated: Estimated { bytes: group.allocated_bytes, kib2: group.allocated_kib2 },
            copies: group.allocations,
        })
    }

    fn most(profile: &Profile, counted: Totals, figures: impl Fn(&SampleGroup) -> Sum) -> Vec<Copies> {
        let mut sampled = Sum::default();
        profile.samples.iter().for_each(|group| sampled.add(figures(group)));
        let whole_bytes = counted.exact.max(sampled.estimated.bytes);
        if whole_bytes < COPIED_BYTES_MIN {
            return Vec::new();
        }
        let is_margin_told = sampled.estimated.kib2 > 0;
        let (event_loop, twins) = (EventLoop::of(profile), Twins::of(profile));
        let mut sums: HashMap<Option<FrameIndex>, Sum> = HashMap::default();
        for group in &profile.samples {
            let own = figures(group);
            if own.estimated.bytes > 0 {
                let place = own_code(profile, &event_loop, group.node).deepest.map(|frame| twins.frame(frame));
                sums.entry(place).or_default().add(own);
            }
        }
        let of_place = |(place, sum): (Option<FrameIndex>, Sum)| {
            let margin_bytes = is_margin_told.then(|| sum.estimated.margin_bytes(sampled.estimated));
            Copies {
                place,
                bytes: sum.estimated.bytes,
                margin_bytes,
                copies: sum.copies,
                each_bytes: margin_bytes.and_then(|margin_bytes| sum.each_bytes(margin_bytes)),
                whole_bytes,
            }
        };
        let mut places: Vec<Copies> = sums.into_iter().map(of_place).filter(Copies::is_worth_a_line).collect();
        places.sort_by_key(|copies| (Reverse(copies.bytes), copies.place.map(TableIndex::position)));
        places
    }

    /// Many bytes and a large share by the estimate, which is not all error.
    fn is_worth_a_line(&self) -> bool {
        self.bytes >= COPIED_BYTES_MIN
            && self.bytes as f64 >= COPIED_MIN * self.whole_bytes as f64
            && self.margin_bytes.is_none_or(|margin_bytes| margin_bytes < self.bytes)
    }
}
