//! The two sides of a comparison: recordings, or two times of one recording.
//! Owns: how they are named on the command line, and which times can be compared. Never: compares.

use std::path::PathBuf;

use clap::Args;
use genba_profile::difference_view::Run;
use genba_profile::shell;
use genba_profile::window::Window;

use crate::read::filter_options::{FilterOptions, window};
use crate::read::recordings::{Recordings, open_apart, open_twice};
use crate::words::failure::Failure;

/// Lengths that differ by no more are equal.
const LENGTHS_APART_MAX: f64 = 0.01;

#[derive(Args, Default)]
pub struct SideTimes {
    /// Compare only this time of the first side: 1s..2.5s, 500ms.. or ..2s. With --after-time one recording can be both sides
    #[arg(long, help_heading = "Filters", value_name = "A..B", value_parser = window, requires = "after_time", conflicts_with = "time")]
    pub before_time: Option<Window>,

    /// With this time of the second side, which is as long
    #[arg(long, help_heading = "Filters", value_name = "A..B", value_parser = window, requires = "before_time", conflicts_with = "time")]
    pub after_time: Option<Window>,
}

impl SideTimes {
    fn both(&self) -> Option<(Window, Window)> {
        self.before_time.zip(self.after_time)
    }
}

pub struct Sides {
    /// Those before first.
    recordings: Recordings,
    before: usize,
    before_filters: FilterOptions,
    after_filters: FilterOptions,
}

impl Sides {
    /// `A B`, `A1 A2 -- B1 B2`, or `A` with two times, as words of that verb.
    pub fn open(
        verb: &str,
        (before, after): (&[PathBuf], &[PathBuf]),
        times: &SideTimes,
        filters: &FilterOptions,
    ) -> Result<Sides, Failure> {
        let (before, recordings) = match (before, after, times.both()) {
            ([file], [], Some(_)) => (1, open_twice(file)?),
            _ => {
                let (before, after) = named(verb, before, after)?;
                (before.len(), open_apart(&[before, after].concat())?)
            }
        };
        if recordings.all_count_calls() && !recordings.is_one_twice() {
            let [old, new] = [0, before].map(|position| shell::path(recordings.path(position)));
            return Err(Failure::no(format!("genba {verb} does not compare these counts of calls"))
                .detail("genba diff compares those of two files; other comparisons need the times of samples")
                .hint(format!("genba diff {old} {new}")));
        }
        if let Some((file, why)) = recordings.timeless() {
            return Err(Failure::no(format!("{} cannot be compared", file.path.display()))
                .detail(format!("{why}, and how certain a change is follows from the times of the samples"))
                .hint("record with genba run, or compare the files' reports"));
        }
        let (before_filters, after_filters) = match times.both() {
            None => (filters.clone(), filters.clone()),
            Some((first, second)) => {
                comparable(verb, &recordings, before, first, second)?;
                (filters.at_time(first), filters.at_time(second))
            }
        };
        Ok(Sides { recordings, before, before_filters, after_filters })
    }

    /// Of the side before, and of that after.
    pub fn runs(&self) -> Result<(Vec<Run>, Vec<Run>), Failure> {
        let filters = |position: usize| if position < self.before { &self.before_filters } else { &self.after_filters };
        let runs = self.recordings.each_over_time(filters)?;
        let mut before: Vec<Run> = runs.into_iter().map(|(name, reading)| Run { name, reading }).collect();
        let after = before.split_off(self.before);
        Ok((before, after))
    }

    /// Each side by itself, with its filters.
    pub fn apart(mut self) -> [(Recordings, FilterOptions); 2] {
        let after = self.recordings.split_off(self.before);
        [(self.recordings, self.before_filters), (after, self.after_filters)]
    }
}

/// Sums of time are compared as they are: both have to be of equal times, and no sample on both sides.
fn comparable(
    verb: &str,
    recordings: &Recordings,
    before: usize,
    first: Window,
    second: Window,
) -> Result<(), Failure> {
    let spans = recordings.spans_ns();
    let is_one = recordings.is_one_twice();
    let end = |window: Window, span_ns: u64| window.end_ns.unwrap_or(span_ns).min(span_ns);
    let length = |window: Window, spans: &[u64]| -> Vec<u64> {
        spans.iter().map(|span| end(window, *span).saturating_sub(window.start_ns)).collect()
    };
    let (before_lengths, after_lengths) = (length(first, &spans[..before]), length(second, &spans[before..]));
    let all = || before_lengths.iter().chain(&after_lengths).copied();
    let (shortest, longest) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
    if longest as f64 > shortest as f64 * (1.0 + LENGTHS_APART_MAX) {
        let words = |ns: u64| genba_profile::figures::duration(ns);
        return Err(Failure::usage("the two times are not equally long")
            .detail(format!("--before-time has {}, --after-time {}", words(before_lengths[0]), words(after_lengths[0])))
            .hint(format!("genba {verb} --before-time ..2s --after-time 2s..4s FILE")));
    }
    let overlap = end(first, spans[0]).min(end(second, spans[0])) > first.start_ns.max(second.start_ns);
    if is_one && overlap {
        return Err(Failure::usage("the two times overlap")
            .detail("what is in both would be compared with itself")
            .hint(format!("genba {verb} --before-time ..2s --after-time 2s..4s FILE")));
    }
    Ok(())
}

fn named<'a>(
    verb: &str,
    before: &'a [PathBuf],
    after: &'a [PathBuf],
) -> Result<(&'a [PathBuf], &'a [PathBuf]), Failure> {
    match (before, after) {
        ([_, _], []) => Ok(before.split_at(1)),
        ([file], []) => Err(Failure::usage("one recording has nothing to be compared with")
            .hint(format!("genba {verb} before.genba {}", shell::path(file)))
            .hint(format!(
                "genba {verb} --before-time ..2s --after-time 2s..4s {} compares two times of it",
                shell::path(file)
            ))),
        (several, []) => {
            let failure =
                Failure::usage(format!("{} recordings, and nothing says which are on which side", several.len()))
                    .hint(format!("genba {verb} before-1.genba before-2.genba -- after-1.genba after-2.genba"));
            Err(if verb == "html" { failure.hint("--as-one reads them as one recording") } else { failure })
        }
        ([], _) => Err(Failure::usage("no recording is named before `--`")
            .hint(format!("genba {verb} before-1.genba before-2.genba -- after-1.genba after-2.genba"))),
        (before, after) => match after.iter().find(|path| path.to_string_lossy().starts_with('-')) {
            Some(option) => {
                Err(Failure::usage(format!("{} stands behind `--`, where only recordings can be", option.display()))
                    .hint(format!("genba {verb} OPTIONS before-1.genba before-2.genba -- after-1.genba after-2.genba")))
            }
            None => Ok((before, after)),
        },
    }
}
