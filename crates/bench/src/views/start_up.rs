//! The screen's part of `--start-up`: how long it takes, and what is left of each command without it.
//! Owns: the words. Never: takes one time off another.

use genba_profile::report::printable;

use super::ratios::{Shown, ratios};
use crate::judging::findings::StartUp;
use crate::statistics::summary::Summary;
use crate::words::units::Unit;

/// What is left of each command, and the ratios of that.
pub fn text(start_up: &StartUp<'_>, shown: &Shown) -> String {
    let paint = shown.paint;
    let name = printable(&start_up.measured.line.name);
    let how = "(each run without the time of the start-up in its round)";
    let mut page = format!("\n{} {}\n", paint.strong("Beyond the start-up"), paint.quiet(how));
    page += &format!("  {}    {name}, the start-up\n", mean_and_deviation(&start_up.summary, shown));
    for row in &start_up.beyond.rows {
        let name = printable(&row.measured.line.name);
        page += &format!("  {}    {name}, the rest\n", paint.strong(&mean_and_deviation(&row.summary, shown)));
    }
    if start_up.beyond.rows.len() > 1 {
        page += &ratios(&start_up.beyond, shown);
    }
    page
}

fn mean_and_deviation(summary: &Summary, shown: &Shown) -> String {
    let unit = shown.unit.unwrap_or_else(|| Unit::fitting(summary.mean.abs()));
    let deviation = summary.deviation.map_or(String::new(), |deviation| format!(" ± {:>8}", unit.text(deviation)));
    format!("{:>8}{deviation}", unit.text(summary.mean))
}
