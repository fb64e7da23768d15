//! The collections for the viewer's page: columns, since a long run has many of them.
//! Owns: which are left out where there are too many. Never: leaves one out without counting it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::heading::place_words;
use super::json::key;
use super::text::{advice_words, command};
use crate::rules::collections::{Place, Summary, places};
use crate::tables::file_names::FileNames;
use crate::tables::profile::{Collection, Profile};
use crate::tables::table::TableIndex;

/// The page draws fewer columns than that, and lists fewer.
const ROWS_MAX: usize = 20_000;

#[derive(Serialize)]
struct Page {
    rows: Columns,
    /// Where they ran, in words.
    places: Vec<String>,
    /// With shorter pauses than all rows, where there is no room for all.
    left_out: u64,
    before: u64,
    lost: u64,
    incremental: bool,
    wall_ns: u64,
    advice: Vec<String>,
}

#[derive(Default, Serialize)]
struct Columns {
    process: Vec<usize>,
    at_ns: Vec<u64>,
    pause_ns: Vec<u64>,
    generation: Vec<u32>,
    reason: Vec<&'static str>,
    examined: Vec<Option<u64>>,
    collected: Vec<u64>,
    uncollectable: Vec<u64>,
    /// Row of `places`.
    place: Vec<usize>,
}

impl Columns {
    fn push(&mut self, row: &Collection, place: usize) {
        self.process.push(row.process.position());
        self.at_ns.push(row.at_ns);
        self.pause_ns.push(row.pause_ns);
        self.generation.push(row.generation);
        self.reason.push(key(row.reason));
        self.examined.push(row.examined);
        self.collected.push(row.collected);
        self.uncollectable.push(row.uncollectable);
        self.place.push(place);
    }
}

pub fn json(profile: &Profile, summary: &Summary) -> serde_json::Result<String> {
    json_of(profile, summary, ROWS_MAX)
}

fn json_of(profile: &Profile, summary: &Summary, rows_max: usize) -> serde_json::Result<String> {
    let places = places(profile);
    let files = FileNames::of(profile);
    let command = command(profile);
    let kept = longest(&profile.collections, rows_max);
    let mut known: BTreeMap<Option<Place>, usize> = BTreeMap::new();
    let (mut rows, mut words) = (Columns::default(), Vec::new());
    for &row in &kept {
        let place = places.get(row).copied().flatten();
        let place = *known.entry(place).or_insert_with(|| {
            words.push(place_words(profile, &files, place));
            words.len() - 1
        });
        rows.push(&profile.collections[row], place);
    }
    serde_json::to_string(&Page {
        rows,
        places: words,
        left_out: (profile.collections.len() - kept.len()) as u64,
        before: summary.before,
        lost: summary.lost,
        incremental: summary.is_incremental,
        wall_ns: summary.wall_ns,
        advice: summary.advice.iter().map(|advice| advice_words(advice, &command)).collect(),
    })
}

/// In the order of the recording.
fn longest(rows: &[Collection], rows_max: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..rows.len()).collect();
    if rows.len() > rows_max {
        kept.sort_by_key(|row| std::cmp::Reverse(rows[*row].pause_ns));
        kept.truncate(rows_max);
        kept.sort_unstable();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::collections::summary;
    use crate::tables::profile::{Collector, Process, ProcessIndex, Reason};

    #[test]
    fn the_longest_pauses_stay_in_their_order_and_the_others_are_counted() {
        let pauses_ns = [5, 1, 9, 2];
        let row = |at_ns, pause_ns| Collection {
            process: ProcessIndex::new(0),
            thread: None,
            node: None,
            at_ns,
            pause_ns,
            generation: 0,
            reason: Reason::Threshold,
            examined: None,
            collected: 0,
            uncollectable: 0,
            young: 0,
            threshold: 0,
        };
        let rows = pauses_ns.iter().zip(0..).map(|(pause_ns, at_ns)| row(at_ns, *pause_ns));
        let mut profile = Profile { collections: rows.collect(), ..Profile::default() };
        let process = profile.processes.push(Process { wall_ns: 100, ..Process::default() });
        profile.collectors.push(Collector { process, before: vec![1], lost: 3, is_incremental: false });
        let summary = summary(&profile).unwrap();
        let page: serde_json::Value = serde_json::from_str(&json_of(&profile, &summary, 2).unwrap()).unwrap();
        assert_eq!(page["rows"]["pause_ns"], serde_json::json!([5, 9]));
        assert_eq!(page["rows"]["at_ns"], serde_json::json!([0, 2]));
        assert_eq!(page["places"], serde_json::json!(["no Python code"]));
        assert_eq!((&page["left_out"], &page["before"], &page["lost"]), (&2.into(), &1.into(), &3.into()));
        assert_eq!(page["wall_ns"], 100);
    }
}
