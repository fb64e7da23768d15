//! What readers are shown of a recording, however damaged it is: the page, the call tree, memory, the verdict.
//! Owns: that none of it fails or panics. Never: judges numbers.

use genba_format::Recording;
use genba_page::{BINS_MAX, Room, numbers};
use genba_profile::build::{Additions, Import, accounts, profile_over_time, promoted};
use genba_profile::memory::{self, Range};
use genba_profile::reading::Reading;
use genba_profile::tree;
use genba_profile::warnings::warnings;
use genba_profile::window::Bins;

/// Err: words about what could not be made.
pub fn shown(recording: &Recording, import: Option<Import>) -> Result<(), String> {
    let additions = Additions { import, ..Additions::default() };
    let bins = Bins::of_span(accounts(recording, &additions).span_ns, BINS_MAX);
    let mut reading = Reading::of(promoted(profile_over_time(recording, &additions, None, bins)));
    let words = reading.verdict().said(&reading).first.to_string();
    if words.is_empty() {
        return Err("a verdict without words".to_owned());
    }
    let options = tree::Options::default();
    tree::json::json(&reading, &tree::tree(&reading, &options), &options).map_err(|error| error.to_string())?;
    let ranges = [Range::default(), Range { from_ns: Some(1), to_ns: Some(u64::MAX) }];
    for range in ranges {
        let memory = memory::memory(&reading, range, 100, None).map_err(|error| error.to_string())?;
        memory::json(&memory).map_err(|error| error.to_string())?;
    }
    let warnings = warnings(&reading, reading.choice.weight);
    numbers(&mut reading, "fuzz.genba", &warnings, Room::OfAFile).map(drop).map_err(|error| error.to_string())
}
