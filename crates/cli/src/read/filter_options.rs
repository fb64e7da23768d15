//! The filters of the reading verbs, as clap reads them, and the words when one keeps nothing.
//! Owns: their spelling and the hints. Never: decides what is kept; genba-profile does.

use clap::Args;
use genba_profile::filter::{Filter, NothingKept};
use genba_profile::glob::Glob;
use genba_profile::report::printable;
use genba_profile::window::Window;
use regex::Regex;

use crate::words::durations::duration_ns;
use crate::words::failure::Failure;

/// Names that a failure lists.
const NAMED_MAX: usize = 8;

#[derive(Args, Clone, Default)]
pub struct FilterOptions {
    /// Keep threads of this name (* and ? stand for any) or number, whatever they were doing; repeat for several
    #[arg(long, help_heading = "Filters", value_name = "NAME|TID", value_parser = Glob::new)]
    thread: Vec<Glob>,

    /// Keep processes with this number or a word of this name in their command line, such as worker.py
    #[arg(long, help_heading = "Filters", value_name = "NAME|PID", value_parser = Glob::new)]
    process: Vec<Glob>,

    /// Keep what was seen in this time from the recording's beginning: 1s..2.5s, 500ms.. or ..2s
    #[arg(long, help_heading = "Filters", value_name = "A..B", value_parser = window)]
    time: Option<Window>,

    /// Keep stacks in which some frame's function or file matches
    #[arg(long, help_heading = "Filters", value_name = "REGEX", value_parser = pattern)]
    focus: Option<Regex>,

    /// Take out frames whose function or file matches; their time goes to their callers
    #[arg(long, help_heading = "Filters", value_name = "REGEX", value_parser = pattern)]
    hide: Option<Regex>,
}

impl FilterOptions {
    pub fn at_time(&self, window: Window) -> FilterOptions {
        FilterOptions { time: Some(window), ..self.clone() }
    }

    pub fn are_any(&self) -> bool {
        let FilterOptions { thread, process, time, focus, hide } = self;
        !thread.is_empty() || !process.is_empty() || time.is_some() || focus.is_some() || hide.is_some()
    }

    pub fn filter(&self) -> Filter {
        Filter {
            threads: self.thread.clone(),
            processes: self.process.clone(),
            window: self.time,
            focus: self.focus.clone(),
            hide: self.hide.clone(),
        }
    }
}

pub fn window(text: &str) -> Result<Window, String> {
    let expected = || "expected a time from the recording's beginning, such as 1s..2.5s, 500ms.. or ..2s".to_owned();
    let (start, end) = text.split_once("..").filter(|_| text != "..").ok_or_else(expected)?;
    let at = |text: &str| duration_ns(text).map_err(|_| expected());
    let start_ns = if start.is_empty() { 0 } else { at(start)? };
    let end_ns = if end.is_empty() { None } else { Some(at(end)?) };
    match end_ns {
        Some(end_ns) if end_ns <= start_ns => Err("it ends before it begins".to_owned()),
        _ => Ok(Window { start_ns, end_ns }),
    }
}

/// The last line of what `regex` says is the reason; the lines before it draw the place.
pub fn pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        let words = error.to_string();
        let reason = words.lines().last().unwrap_or(&words).trim_start_matches("error: ");
        format!("not a regular expression: {reason}")
    })
}

/// Asked whether there is such a thing, and the answer is no: exit code 1.
pub fn nothing_kept(nothing: &NothingKept) -> Failure {
    let failure = Failure::no(nothing.to_string());
    match nothing {
        NothingKept::NoThread { found, .. } => {
            failure.detail(format!("found: {}", listed(found))).hint("genba report --by thread shows their shares")
        }
        NothingKept::NoProcess { found, .. } => {
            failure.detail(format!("found: {}", listed(found))).hint("genba report --by process shows their shares")
        }
        NothingKept::EmptyWindow { .. } => failure.hint("--time counts from the recording's beginning"),
        NothingKept::NoFrame { .. } => {
            failure.hint("genba tree shows the names; capitals count unless the expression begins with (?i)")
        }
        NothingKept::Together { .. } => failure.hint("leave one out to see what the others keep"),
    }
}

/// Names of a recording: none of them ends the line.
pub fn listed(names: &[String]) -> String {
    let named: Vec<String> = names.iter().take(NAMED_MAX).map(|name| printable(name)).collect();
    match names.len().saturating_sub(named.len()) {
        0 => named.join(", "),
        others => format!("{} and {others} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows() {
        let read = |text: &str| window(text).map(|window| (window.start_ns, window.end_ns)).ok();
        assert_eq!(read("1s..2.5s"), Some((1_000_000_000, Some(2_500_000_000))));
        assert_eq!(read("500ms.."), Some((500_000_000, None)));
        assert_eq!(read("..2s"), Some((0, Some(2_000_000_000))));
        for refused in ["", "..", "1s", "1..2", "2s..1s", "1s..1s", "1s...2s", "-1s..2s"] {
            assert_eq!(read(refused), None, "{refused}");
        }
    }
}
