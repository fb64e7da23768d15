//! Recordings of one program that were made in two ways: by another rate, within a budget, on a busy machine, for a part of the run.

use crate::laboratory::programs::FUNCTIONS;
use crate::random::Random;

/// What is beside the program on one side of a comparison.
#[derive(Clone, Copy)]
pub enum Unlike {
    /// A quarter of the samples, each of so much more time.
    Rate,
    /// The same from the middle of the run on, as where the budget is used up.
    Budget,
    /// Each run waits for a CPU in 40 % of its time, and each function takes up to 10 % longer: in all runs of the side as much.
    Busy,
    /// The recording ends in the middle of the run (`--duration`).
    Duration,
}

impl Unlike {
    pub fn name(self) -> &'static str {
        match self {
            Unlike::Rate => "a quarter of them on one side",
            Unlike::Budget => "a quarter of them on one side from its middle on",
            Unlike::Busy => "a busy machine on one side",
            Unlike::Duration => "half of the run on one side",
        }
    }

    /// `longer`: how much of those 10 %, of each function.
    pub fn recorded(self, text: &str, longer: [f64; 4], random: &mut Random) -> String {
        match self {
            Unlike::Rate => coarser(text, 4, 0.0),
            Unlike::Budget => coarser(text, 4, 0.5),
            Unlike::Busy => busier(text, longer, random),
            Unlike::Duration => halved(text),
        }
    }
}

/// A recording with only every `ticks`th sample, from that part of its lines on.
fn coarser(text: &str, ticks: u32, from: f64) -> String {
    let first = (text.lines().count() as f64 * from) as usize;
    let (mut coarse, mut passed) = (String::new(), 0);
    for (at, line) in text.lines().enumerate() {
        let call = line.rsplit_once(" x").filter(|_| at >= first);
        let Some((call, samples)) = call else {
            coarse += &format!("{line}\n");
            continue;
        };
        let samples: u32 = samples.parse().expect("a number of samples");
        let kept = (passed + samples) / ticks - passed / ticks;
        passed += samples;
        if kept > 0 {
            coarse += &format!("{call} x{kept} every={ticks}\n");
        }
    }
    coarse
}

fn halved(text: &str) -> String {
    let count = text.lines().count();
    // And a call more: it has all of the second quarter.
    let lines = text.lines().take(count / 2 + 3).map(|line| format!("{line}\n"));
    lines.collect::<String>() + "end duration\n"
}

/// The same work on a machine that others use, too.
fn busier(text: &str, longer: [f64; 4], random: &mut Random) -> String {
    let (mut busy, mut all) = (String::new(), 0);
    for line in text.lines() {
        let called = line.rsplit_once(" x").zip(FUNCTIONS.iter().position(|function| line.contains(function.0)));
        let Some(((call, samples), function)) = called else {
            busy += &format!("{line}\n");
            continue;
        };
        let samples: f64 = samples.parse().expect("a number of samples");
        let samples = random.rounded(samples * (1.0 + 0.1 * longer[function]));
        all += samples;
        busy += &format!("{call} x{samples}\n");
    }
    // Each sample is 1.6 ms.
    let cpu_ms = all * 16 / 10;
    busy + &format!("turns 7 900 {}ms\nended 7 {cpu_ms}ms 0ms\n", cpu_ms * 2 / 3)
}
