//! The source text that a page has room for: the user's own files as they are stored, and of all other files the lines around what ran.
//! Owns: which lines stay. Never: touches a sample, a place or a file of the user's own.

use std::collections::{BTreeMap, BTreeSet};

use crate::tables::owner::Owner;
use crate::tables::profile::{Home, Profile};

/// Removes every line further than `lines_around` from a line that ran and from the first line of its function.
pub fn keep_near_hits(profile: &mut Profile, lines_around: u32) {
    let own: BTreeSet<&str> =
        profile.files.iter().filter(|file| file.owner == Owner::User).map(|file| &*file.path).collect();
    let mut hits: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for frame in profile.frames.iter() {
        let Home::Python { file, first_line, .. } = profile.functions[frame.function].home else { continue };
        let path = &profile.files[file].path;
        if own.contains(path.as_str()) {
            continue;
        }
        let lines = hits.entry(path.clone()).or_default();
        lines.insert(first_line);
        if let Some(location) = frame.location {
            lines.extend([location.line, location.end_line]);
        }
    }
    let own: BTreeSet<String> = own.into_iter().map(str::to_owned).collect();
    profile
        .sources
        .keep_near(lines_around, |path| (!own.contains(path)).then(|| hits.get(path).cloned().unwrap_or_default()));
}
