//! Files whose functions have no names although much of the time ends in them.
//! Owns: what is much. Never: says which package would bring them; that is looked up where files may be opened.

use foldhash::HashMap;
use std::cmp::Reverse;

use crate::rules::warnings::{FEW_SAMPLES, observations};
use crate::rules::weight::{Totals, Weight};
use crate::tables::owner;
use crate::tables::profile::{FrameKind, Home, ModuleIndex, Profile};
use crate::words::figures::percent;

/// Of the weight.
const SHARE_MIN: f64 = 0.05;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nameless {
    /// Of the file.
    pub path: String,
    /// `16.4 % of the CPU ends in functions of libsqlite3.so.0 that have no name`
    pub words: String,
    /// The file is not the one that was loaded: no package would bring its names.
    pub is_replaced: bool,
}

/// The heaviest first; nothing where the samples are too few to tell.
pub fn nameless(profile: &Profile, weight: Weight) -> Vec<Nameless> {
    if observations(profile, weight) < FEW_SAMPLES as f64 {
        return Vec::new();
    }
    let mut sums: HashMap<ModuleIndex, u64> = HashMap::default();
    let mut whole = 0_u64;
    for group in &profile.samples {
        let part = Totals::of_group(group).by(weight);
        whole = whole.saturating_add(part);
        let leaf = profile.stack(group.node).find(|frame| profile.frames[*frame].kind != FrameKind::Inlined);
        if let Some(Home::C { module, origin: None, .. }) = leaf.map(|leaf| &profile.function_of(leaf).home) {
            let sum = sums.entry(*module).or_default();
            *sum = sum.saturating_add(part);
        }
    }
    let mut found: Vec<(ModuleIndex, u64)> = sums
        .into_iter()
        .filter(|(module, sum)| {
            let path = &profile.modules[*module].path;
            // Nobody can do anything about genba's own.
            *sum > 0 && *sum as f64 >= SHARE_MIN * whole as f64 && path.starts_with('/') && !owner::is_genba_s(path)
        })
        .collect();
    found.sort_by_key(|(module, sum)| (Reverse(*sum), *module));
    let words = |module: ModuleIndex, sum: u64| {
        let of_what = match weight {
            Weight::Cpu => "CPU",
            Weight::Wall => "wall time",
            Weight::Samples => "samples",
            Weight::Copied => "copied bytes",
            Weight::Allocated => "allocated bytes",
        };
        let name = profile.modules[module].base_name();
        format!("{} % of the {of_what} ends in functions of {name} that have no name", percent(sum, whole))
    };
    found
        .into_iter()
        .map(|(module, sum)| Nameless {
            path: profile.modules[module].path.clone(),
            words: words(module, sum),
            is_replaced: profile.modules[module].is_replaced,
        })
        .collect()
}
