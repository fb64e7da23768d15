//! The programs of the laboratory: calls of four functions in random order, and their recordings as text.
//! Never: compares recordings.

use crate::compared::run;
use crate::random::Random;
use genba_profile::difference_view::Run;
use genba_profile::filter::Filter;
use genba_profile::weight::Weight;
use genba_profile::window::Window;

#[derive(Clone, Copy, PartialEq)]
pub enum Shape {
    /// Calls in random order, from the first to the last.
    Even,
    /// Three phases with other shares.
    Phases,
    /// Two phases, each with functions that the other one does not have.
    Apart,
    /// Shares that change little by little.
    Drift,
    /// Lambdas, of which nothing but their lines tells which is which.
    Lambdas,
    /// Each call waits as long as it computes.
    Waits,
    /// A thread lives for a few calls.
    Threads,
    /// Two processes.
    Processes,
    /// Up to a twentieth of the CPU is in no sample, in each run another part.
    Uncovered,
    /// Of a file that tells no time: samples are counted.
    Clockless,
    /// A few calls take most of the time: their lengths are log-normal.
    Unequal,
}

/// Of the logarithms of such lengths.
const DEVIATION_OF_UNEQUAL: f64 = 1.5;

#[derive(Clone, Copy)]
pub struct Program {
    pub shape: Shape,
    /// Samples in a call.
    pub burst: u32,
    pub samples: u32,
}

/// With the shares of their time. No change, or a change of one of the first three.
pub const FUNCTIONS: [(&str, f64); 4] = [("most", 0.60), ("some", 0.20), ("few", 0.05), ("rest", 0.15)];

/// In which such a function has its only expression.
#[must_use]
pub const fn body_line(function: usize) -> u32 {
    2 * function as u32 + 2
}

#[derive(Clone, Copy)]
pub struct Change {
    pub function: usize,
    pub part: f64,
}

impl Program {
    /// A program comes to each function some ten times, in each quarter of a run, too: nobody can know how often it will come to one that it came to once or twice.
    pub fn of(shape: Shape, burst: u32) -> Program {
        Program { shape, burst, samples: (400 * burst).max(1600) }
    }

    /// Too short for that.
    pub fn short(burst: u32) -> Program {
        Program { shape: Shape::Even, burst, samples: 1600 }
    }

    pub fn named(self) -> String {
        let calls = match self.burst {
            1 => "calls of 1 sample".to_string(),
            burst => format!("calls of {burst} samples"),
        };
        match self.shape {
            Shape::Even => calls,
            Shape::Phases => format!("{calls}, three phases"),
            Shape::Apart => format!("{calls}, each in one of two phases"),
            Shape::Drift => format!("{calls}, drifting"),
            Shape::Lambdas => format!("{calls}, lambdas"),
            Shape::Waits => format!("{calls}, as long waits"),
            Shape::Threads => format!("{calls}, short threads"),
            Shape::Processes => format!("{calls}, two processes"),
            Shape::Uncovered => format!("{calls}, unequal coverage"),
            Shape::Clockless => format!("{calls}, no clocks"),
            Shape::Unequal => format!("{calls} on average, of unequal lengths"),
        }
    }

    fn shares(self, part_of_run: f64) -> [f64; 4] {
        let [most, some, few, rest] = FUNCTIONS.map(|(_, share)| share);
        if self.shape == Shape::Apart {
            return if part_of_run < 0.5 { [0.80, 0.0, few, rest] } else { [0.0, 0.60, few, 0.35] };
        }
        // What moves from one to another is as much in one half as it is less in the other.
        let moved = match self.shape {
            Shape::Phases if part_of_run < 0.25 => 0.15,
            Shape::Phases if part_of_run < 0.75 => -0.15,
            Shape::Phases => 0.15,
            Shape::Drift => 0.3 * (part_of_run - 0.5),
            _ => 0.0,
        };
        [most + moved, some - moved, few, rest]
    }

    /// Of the whole run.
    pub fn share(self, function: usize) -> f64 {
        f64::midpoint(self.shares(0.25)[function], self.shares(0.75)[function])
    }

    pub fn text(self, random: &mut Random, key: u32, change: Option<Change>) -> String {
        let mut text = format!("process 7 3.13.0 cwd=/app key={}\n", key % 120 + 1);
        let calls = self.samples / self.burst;
        let missed = if self.shape == Shape::Uncovered { 0.05 * random.next() } else { 0.0 };
        let mut uncovered = 0;
        for at in 0..calls {
            match self.shape {
                Shape::Threads => text += &format!("thread {} worker\n", 1000 + at * self.burst / 100),
                Shape::Processes if at == calls / 2 => {
                    text += &format!("process 9 3.13.0 cwd=/app parent=7 key={}\n", key % 120 + 121);
                }
                Shape::Processes => {}
                _ if random.next() < 0.6 => text += "thread 7 main\n",
                _ => text += "thread 8 worker\n",
            }
            let mut chosen = random.next();
            let shares = self.shares(f64::from(at) / f64::from(calls));
            let function = shares.iter().take(3).position(|share| {
                chosen -= share;
                chosen < 0.0
            });
            let function = function.unwrap_or(3);
            let part = change.filter(|change| change.function == function).map_or(0.0, |change| change.part);
            let samples = f64::from(self.burst) * (1.0 + part) * self.length(random);
            let samples = random.rounded(samples);
            let seen = (0..samples).filter(|_| random.next() >= missed).count() as u32;
            uncovered += samples - seen;
            let (line, body) = (9 + function, body_line(function));
            let name = match self.shape {
                Shape::Lambdas => format!("<lambda>^{body}"),
                _ => FUNCTIONS[function].0.to_string(),
            };
            if seen > 0 {
                text += &format!("main@app.py:{line} > {name}@app.py:{body} x{seen}\n");
            }
            if self.shape == Shape::Waits {
                text +=
                    &format!("main@app.py:{line} > {name}@app.py:{body} > poll[libc.so.6] x1 poll ticks={samples}\n");
            }
        }
        if uncovered > 0 {
            // Each sample is 1.6 ms.
            text += &format!("unsampled {}ms\n", uncovered * 16 / 10);
        }
        text
    }

    /// Of a call, in parts of the mean.
    fn length(self, random: &mut Random) -> f64 {
        let deviation = DEVIATION_OF_UNEQUAL;
        if self.shape == Shape::Unequal { (deviation * random.normal() - deviation.powi(2) / 2.0).exp() } else { 1.0 }
    }

    pub fn run(self, random: &mut Random, key: u32, filter: &Filter, change: Option<Change>) -> Run {
        run(&format!("{key}.genba"), &self.text(random, key, change), filter)
    }

    pub fn weight(self) -> Option<Weight> {
        match self.shape {
            Shape::Waits => Some(Weight::Wall),
            Shape::Clockless => Some(Weight::Samples),
            _ => None,
        }
    }

    /// A quarter of the run.
    pub fn window(self) -> Window {
        let span_us = u64::from(self.samples) * 1600;
        Window { start_ns: span_us * 250, end_ns: Some(span_us * 500) }
    }
}
