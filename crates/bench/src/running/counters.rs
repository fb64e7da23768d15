//! The processor's own count of instructions, for what this thread starts: at full speed, where the kernel lets a user read it.
//! Owns: how such a counter is asked for, and what it says. Never: which runs are counted.
//!
//! A counter is made for this thread, switched off. A process that the thread starts inherits it, with the order to switch it on at `exec`, and so do
//! its children; when one ends, the kernel adds its count to the first. Nothing of genba itself is in it. Source: perf_event_open(2), `inherit` and
//! `enable_on_exec`.

use std::io;

use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};

/// A counter that was on for less of the CPU time was taken away.
const ENABLED_PART_MIN: f64 = 0.9;
const CPU_GRAIN_NS: f64 = 10e6;

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

/// Of those that have ended, and until now of those that still run. `cpu_ns`: what the kernel says that they used. `None`: the counter did not run all
/// the time. A processor has few of them, which others use too; one with two kinds of cores counts on one kind; and none is left to a program that
/// runs as another user.
///
/// # Errors
/// It cannot be read.
pub fn count(counter: &mut Counter, cpu_ns: f64) -> io::Result<Option<u64>> {
    let counted = counter.read_count_and_time()?;
    Ok(whole(counted.count, counted.time_enabled, counted.time_running, cpu_ns))
}

fn whole(count: u64, enabled_ns: u64, running_ns: u64, cpu_ns: f64) -> Option<u64> {
    // From the first `exec` on; both clocks have their own grain.
    let is_most = enabled_ns as f64 >= ENABLED_PART_MIN * (cpu_ns - CPU_GRAIN_NS);
    (enabled_ns > 0 && running_ns >= enabled_ns && is_most).then_some(count)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use perf_event::events::Software;

    use super::{count, of_children, whole};

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
        let faults = count(&mut few, 0.0).expect("a count").expect("all the time");
        let mut many = of_children(Software::PAGE_FAULTS).expect("as before");
        // A child's child.
        assert!(Command::new("sh").args(["-c", "sh -c true; true"]).status().expect("it starts").success());
        let more = count(&mut many, 0.0).expect("a count").expect("all the time");
        assert!(0 < faults && faults < more && more < 10_000, "{faults} {more}");
    }

    #[test]
    fn a_count_of_a_part_of_the_time_is_none() {
        assert_eq!(whole(300, 1_000, 1_000, 1_000.0), Some(300));
        assert_eq!(whole(300, 1_000, 999, 1_000.0), None);
        assert_eq!(whole(0, 1_000, 0, 1_000.0), None);
        assert_eq!(whole(0, 0, 0, 0.0), None);
        // It was taken away at the `exec` of a setuid program: what came before is no count of it.
        assert_eq!(whole(300, 2_000_000, 2_000_000, 900e6), None);
        assert_eq!(whole(300, 880_000_000, 880_000_000, 900e6), Some(300));
    }
}
