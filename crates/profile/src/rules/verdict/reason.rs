//! The reasons that a verdict may have.
//! Owns: their names, and the sums that each rests on. Never: decides which one it is.

use serde::Serialize;

use crate::rules::weight::Weight;

/// Why, with the sums that its first line tells. `is_depth_cut`: it was that deep or deeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Reason {
    StartUp {
        processes: u64,
        wall_ns: u64,
        importing_ns: u64,
    },
    Waiting {
        wall_ns: u64,
        cpu_ns: u64,
        in_queue_ns: u64,
    },
    Gil {
        threads: u64,
        cpu_ns: u64,
        span_ns: u64,
        waited_ns: u64,
        wanting_ns: u64,
    },
    NativeThreads {
        threads: u64,
        native_cpu_ns: u64,
        cpu_ns: u64,
    },
    Gc {
        gc_cpu_ns: u64,
        cpu_ns: u64,
    },
    Recursion {
        depth_max: u64,
        is_depth_cut: bool,
        cpu_ns: u64,
    },
    OnePlace {
        cpu_ns: u64,
    },
    OneLine {
        expressions: u64,
        cpu_ns: u64,
    },
    OneFunction {
        lines: u64,
        cpu_ns: u64,
    },
    Spread {
        largest_ns: u64,
        ten_largest_ns: u64,
        cpu_ns: u64,
    },
    NoSingleCause {
        largest_ns: u64,
        ten_largest_ns: u64,
        cpu_ns: u64,
    },
    TooShort {
        wall_ns: u64,
        samples: u64,
    },
    NoClock {
        samples: u64,
    },
    Damaged {
        blocks: u64,
        cpu_lost_ns: u64,
        cpu_ns: u64,
    },
    Stopped {
        not_recorded_ns: u64,
        cpu_ns: u64,
    },
    /// Threads that block genba's signal used more CPU than samples have.
    Masked {
        unseen_ns: u64,
        cpu_ns: u64,
    },
    /// While the program had genba's signal for itself, more CPU was used than samples have.
    SignalTaken {
        unseen_ns: u64,
        cpu_ns: u64,
    },
    NotFollowed {
        processes: u64,
        wall_ns: u64,
        cpu_ns: u64,
        recorded_ns: u64,
    },
}

impl Reason {
    /// As the verdict's line begins.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Reason::StartUp { .. } => "start-up",
            Reason::Waiting { .. } => "waiting",
            Reason::Gil { .. } => "GIL",
            Reason::Gc { .. } => "gc",
            Reason::NativeThreads { .. } => "native threads",
            Reason::Recursion { .. } => "recursion",
            Reason::OnePlace { .. } => "one place",
            Reason::OneLine { .. } => "one line",
            Reason::OneFunction { .. } => "one function",
            Reason::Spread { .. } => "spread",
            Reason::NoSingleCause { .. } => "no single cause",
            Reason::TooShort { .. } => "too short to judge",
            Reason::NoClock { .. }
            | Reason::NotFollowed { .. }
            | Reason::Damaged { .. }
            | Reason::Stopped { .. }
            | Reason::Masked { .. }
            | Reason::SignalTaken { .. } => "not judged",
        }
    }

    /// What the places' shares are of: wall time where the program waited, else CPU.
    #[must_use]
    pub const fn weight(self) -> Weight {
        match self {
            Reason::StartUp { .. } | Reason::Waiting { .. } => Weight::Wall,
            _ => Weight::Cpu,
        }
    }
}
