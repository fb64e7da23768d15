//! The processor's own count of instructions, for what this thread starts: at full speed, where the kernel lets a user read it.
//! Owns: how such a counter is asked for, and what it says. Never: which runs are counted.
//!
//! A counter is made for this thread, switched off. A process that the thread starts inherits it, with the order to switch it on at `exec`, and so do
//! its children; when one ends, the kernel adds its count to the first. Nothing of genba itself is in it. Source: perf_event_open(2), `inherit` and
//! `enable_on_exec`.

use std::io;

use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};

/// Of all processes that this thread starts from now on, and theirs, in user mode.
///
/// # Errors
/// The machine has no such counter (virtual machines mostly), or the kernel does not let this user read it.
pub fn instructions() -> io::Result<Counter> {
    of_children(Hardware::INSTRUCTIONS)
}

fn of_children(event: impl Event) -> io::Result<Counter> {
    Builder::new(event).inherit(true).enable_on_exec(true).build()
}

/// Of those that have ended. A processor has few counters: while others use them too, a count is for a part of the time, and extrapolated.
///
/// # Errors
/// The counter never ran, or cannot be read.
pub fn count(counter: &mut Counter) -> io::Result<u64> {
    let counted = counter.read_count_and_time()?;
    let never = || io::Error::other("the processor's counter was in use by others all the time");
    extrapolated(counted.count, counted.time_enabled, counted.time_running).ok_or_else(never)
}

fn extrapolated(count: u64, enabled_ns: u64, running_ns: u64) -> Option<u64> {
    match running_ns {
        0 => None,
        _ if running_ns >= enabled_ns => Some(count),
        _ => u64::try_from(u128::from(count) * u128::from(enabled_ns) / u128::from(running_ns)).ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use perf_event::events::Software;

    use super::{count, extrapolated, of_children};

    /// By page faults, which the kernel counts in every machine: the way is the same.
    #[test]
    #[expect(clippy::print_stderr, reason = "whoever reads the log should know that nothing was tested")]
    fn what_is_started_is_counted_and_nothing_of_this_process() {
        let Ok(mut few) = of_children(Software::PAGE_FAULTS) else {
            return eprintln!("not tested: the kernel lets nobody count here");
        };
        let pages = vec![1_u8; 64 << 20];
        assert_eq!(few.read().expect("a count"), 0, "{} bytes of this process", pages.len());
        assert!(Command::new("true").status().expect("it starts").success());
        let faults = count(&mut few).expect("a count");
        let mut many = of_children(Software::PAGE_FAULTS).expect("as before");
        // A child's child.
        assert!(Command::new("sh").args(["-c", "sh -c true; true"]).status().expect("it starts").success());
        let more = count(&mut many).expect("a count");
        assert!(0 < faults && faults < more && more < 10_000, "{faults} {more}");
    }

    #[test]
    fn a_count_of_a_part_of_the_time_is_extrapolated() {
        assert_eq!(extrapolated(300, 1_000, 1_000), Some(300));
        assert_eq!(extrapolated(300, 1_000, 250), Some(1_200));
        assert_eq!(extrapolated(u64::MAX / 2, u64::MAX, u64::MAX / 2), Some(u64::MAX));
        assert_eq!(extrapolated(u64::MAX, 2, 1), None);
        assert_eq!(extrapolated(0, 1_000, 0), None);
    }
}
