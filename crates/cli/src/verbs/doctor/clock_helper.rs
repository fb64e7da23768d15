//! The process that reads clocks for `genba doctor --clock`, so that it can be watched: genba itself, started once more.
//! Owns: what is read, in which order, and how often. Never: judges what that costs.
//! Its stdout: one line of JSON with the costs. Then it waits for a byte on stdin, and reads each clock `CALLS` times between two marks.

use std::io::{Read, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use genba_parent::Clock;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::words::failure::Failure;

/// So often each clock is read while system calls are counted.
pub const CALLS: u64 = 100;
/// The system call that nothing else here makes: `getppid` on x86-64.
pub const MARK: u64 = 110;
/// A batch takes at least so long; the fastest of several counts, since other work only ever adds.
const BATCH_MIN: Duration = Duration::from_millis(3);
const BATCHES: u32 = 5;

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Libc(Clock),
    /// The kernel's vDSO, past libc and whatever was loaded before it.
    Kernel,
    SystemCall,
}

pub const SUBJECTS: [(Subject, &str); 6] = [
    (Subject::Libc(Clock::Monotonic), "clock_gettime(CLOCK_MONOTONIC)"),
    (Subject::Libc(Clock::Realtime), "clock_gettime(CLOCK_REALTIME)"),
    (Subject::Libc(Clock::TimeOfDay), "gettimeofday"),
    (Subject::Libc(Clock::ThreadCpu), "clock_gettime(CLOCK_THREAD_CPUTIME_ID)"),
    (Subject::Kernel, "the kernel's vDSO, past libc"),
    (Subject::SystemCall, "a system call for it"),
];

/// One for each subject.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cost {
    pub ns: f64,
    /// The file with libc's function, or with the one that stands in for it.
    pub answered_by: Option<String>,
}

impl Subject {
    fn read(self) {
        match self {
            Subject::Libc(clock) => clock.read(),
            Subject::Kernel => {
                std::hint::black_box(clock_gettime(ClockId::Monotonic));
            }
            Subject::SystemCall => Clock::Monotonic.read_by_system_call(),
        }
    }

    fn cost(self) -> Cost {
        let mut number = 64_u32;
        let timed = |number: u32| {
            let begin = Instant::now();
            for _ in 0..number {
                self.read();
            }
            begin.elapsed()
        };
        while timed(number) < BATCH_MIN && number < 1 << 24 {
            number *= 2;
        }
        let fastest = (0..BATCHES).map(|_| timed(number)).min().unwrap_or_default();
        let answered_by = match self {
            Subject::Libc(clock) => clock.answered_by().map(|file| file.to_string_lossy().into_owned()),
            Subject::Kernel | Subject::SystemCall => None,
        };
        Cost { ns: fastest.as_secs_f64() * 1e9 / f64::from(number), answered_by }
    }
}

pub fn help() -> Result<ExitCode, Failure> {
    let costs: Vec<Cost> = SUBJECTS.iter().map(|(subject, _)| subject.cost()).collect();
    let line = serde_json::to_string(&costs).map_err(|error| Failure::ours(error.to_string()))?;
    let told = |error: std::io::Error| Failure::ours(error.to_string());
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).map_err(told)?;
    if std::io::stdin().read(&mut [0]).map_err(told)? == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    for (subject, _) in SUBJECTS {
        mark();
        for _ in 0..CALLS {
            subject.read();
        }
    }
    mark();
    Ok(ExitCode::SUCCESS)
}

/// Makes the system call `MARK`.
fn mark() {
    std::hint::black_box(std::os::unix::process::parent_id());
}
