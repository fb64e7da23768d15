//! The collections in one line, for `genba gc` and above every report.
//! Owns: these words. Never: says more than where a collection ran.

use crate::rules::collections::{Place, Sum, Summary, places, summary};
use crate::tables::file_names::FileNames;
use crate::tables::profile::Profile;
use crate::words::excerpt::printable;
use crate::words::figures::{counted, duration, percent};

/// Of a recording with `--gc` in which any ran.
pub fn line_of_report(profile: &Profile) -> Option<String> {
    let summary = summary(profile).filter(|summary| summary.all.collections > 0)?;
    let places = places(profile);
    let files = FileNames::of(profile);
    Some(format!("{} (genba gc)", heading_line(profile, &summary, &places, &files)))
}

/// `412 garbage collections: 71.2 ms in all, 3.1 % of 2.30 s; the longest 12.3 ms, ran at app.py:26 handle`
pub fn heading_line(profile: &Profile, summary: &Summary, places: &[Option<Place>], files: &FileNames) -> String {
    let Sum { collections, pause_ns, longest_ns, .. } = summary.all;
    let mut line = counted(collections, "garbage collection", "garbage collections");
    if let Some(worst) = summary.worst {
        let share = percent(pause_ns, summary.wall_ns);
        line += &format!(": {} in all, {share} % of {}", duration(pause_ns), duration(summary.wall_ns));
        line += &format!("; the longest {}", duration(longest_ns));
        if let Some(place) = places.get(worst).copied().flatten() {
            line += &format!(", ran at {}", place_words(profile, files, Some(place)));
        }
    }
    line
}

/// `app.py:26 handle`
pub fn place_words(profile: &Profile, files: &FileNames, place: Option<Place>) -> String {
    let Some(place) = place else { return "no Python code".to_owned() };
    let file = files.short(place.file).unwrap_or_default();
    printable(&format!("{file}:{} {}", place.line, profile.functions[place.function].name))
}
