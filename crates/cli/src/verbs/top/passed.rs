//! Options of `genba top` that are those of the genba that makes its recording.
//! Owns: their words. Never: decides what they mean (recording/options.rs does).

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::recording::budget;
use crate::words::durations;

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Keep the recording in FILE [default: app.genba, app-2.genba, …]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Time between two ticks of a thread, 50us to 1s [default: as --budget allows]
    #[arg(long, value_name = "DURATION", value_parser = interval, conflicts_with = "rate")]
    interval: Option<String>,

    /// Ticks of a thread in a second, instead of --interval
    #[arg(short, long, value_name = "N", value_parser = rate)]
    rate: Option<String>,

    /// Tick as often as this share of the program's own CPU pays for [default: 2%, unless a rate is asked for]
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with_all = ["interval", "rate"])]
    budget: Option<String>,

    /// Record Python frames only
    #[arg(long)]
    no_native: bool,

    /// Leave child processes out
    #[arg(long)]
    no_children: bool,
}

impl Passed {
    /// But for the file.
    pub fn words(&self) -> Vec<OsString> {
        let with_value = [("--interval", &self.interval), ("--rate", &self.rate), ("--budget", &self.budget)];
        let valued = with_value.into_iter().filter_map(|(option, value)| Some(format!("{option}={}", value.as_ref()?)));
        let plain = [("--no-native", self.no_native), ("--no-children", self.no_children)];
        let plain = plain.into_iter().filter(|(_, is_given)| *is_given).map(|(option, _)| option.to_owned());
        valued.chain(plain).map(OsString::from).collect()
    }
}

fn interval(text: &str) -> Result<String, String> {
    durations::interval_ns(text).map(|_| text.to_owned())
}

fn rate(text: &str) -> Result<String, String> {
    durations::rate_as_interval_ns(text).map(|_| text.to_owned())
}

fn share(text: &str) -> Result<String, String> {
    budget::per_mille(text).map(|_| text.to_owned())
}
