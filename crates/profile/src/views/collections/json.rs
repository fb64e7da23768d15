//! Each collection for scripts. docs/reading/json.md lists the keys.

use serde::Serialize;

use crate::rules::collections::{Summary, places};
use crate::tables::profile::{Profile, Reason};

#[derive(Serialize)]
struct Page<'a> {
    version: u32,
    collections: Vec<Row<'a>>,
    collections_before: u64,
    collections_lost: u64,
    incremental: bool,
    wall_ns: u64,
}

#[derive(Serialize)]
struct Row<'a> {
    generation: u32,
    reason: &'static str,
    pause_ns: u64,
    examined: Option<u64>,
    collected: u64,
    uncollectable: u64,
    file: Option<&'a str>,
    line: Option<u32>,
    time_ns: u64,
}

pub(super) const fn key(reason: Reason) -> &'static str {
    match reason {
        Reason::Threshold => "threshold",
        Reason::Explicit => "explicit",
        Reason::CCall => "c call",
        Reason::Shutdown => "shutdown",
        Reason::Unknown => "unknown",
    }
}

pub fn json(profile: &Profile, summary: &Summary) -> serde_json::Result<String> {
    let rows = profile.collections.iter().zip(places(profile)).map(|(row, place)| Row {
        generation: row.generation,
        reason: key(row.reason),
        pause_ns: row.pause_ns,
        examined: row.examined,
        collected: row.collected,
        uncollectable: row.uncollectable,
        file: place.map(|place| profile.files[place.file].path.as_str()),
        line: place.map(|place| place.line),
        time_ns: row.at_ns,
    });
    let page = Page {
        version: 1,
        collections: rows.collect(),
        collections_before: summary.before,
        collections_lost: summary.lost,
        incremental: summary.is_incremental,
        wall_ns: summary.wall_ns,
    };
    genba_text::json::pretty(&page)
}
