//! The clock of the counts: the processor's own counter where the kernel keeps time by it, else CLOCK_MONOTONIC. Two readings a call were a third of
//! what a call costs, and half of each was the way to the counter and back.
//! Owns: what a tick is worth. Never: reads a counter that the kernel does not trust; lets a suspended machine pass unsaid.
//!
//! Nobody says how fast the counter goes: its ticks are compared with CLOCK_BOOTTIME, which does not halt either, from the first count to the end.

use crate::system::proc::{clock_ns, monotonic_ns, read_whole};
use std::ffi::CStr;

/// Source: Linux, Documentation/ABI/testing/sysfs-devices-system-clocksource. The kernel has compared the counters of all processors before it says `tsc`.
const CLOCK_SOURCE: &CStr = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
const NS_PER_SECOND: f64 = 1e9;
/// So long at least are ticks compared. A reading is known to some 100 ns.
const COMPARED_NS_MIN: u64 = 1_000_000;
/// The longest of so many readings were interrupted.
const READINGS: usize = 5;
/// Both clocks of the kernel are read one after the other, and a thread may lose its processor between them.
const SUSPENDED_NS_MIN: u64 = 100_000_000;

/// One moment, by all clocks.
#[derive(Clone, Copy)]
struct Moment {
    ticks: u64,
    /// CLOCK_BOOTTIME goes on while the machine is suspended.
    boottime_ns: u64,
    /// For how long it was suspended since it was started.
    suspended_ns: u64,
}

impl Moment {
    fn now() -> Moment {
        let read = || {
            let before = counter();
            let boottime_ns = clock_ns(libc::CLOCK_BOOTTIME).unwrap_or(0);
            let after = counter();
            (after.saturating_sub(before), before + after.saturating_sub(before) / 2, boottime_ns)
        };
        let (_, ticks, boottime_ns) = (0..READINGS).map(|_| read()).min().unwrap_or_default();
        let suspended_ns = clock_ns(libc::CLOCK_BOOTTIME).unwrap_or(0).saturating_sub(monotonic_ns());
        Moment { ticks, boottime_ns, suspended_ns }
    }

    /// None: the counter may have begun anew, or halted.
    fn ticks_per_second(self, later: Moment) -> Option<f64> {
        if later.suspended_ns.saturating_sub(self.suspended_ns) > SUSPENDED_NS_MIN || later.ticks <= self.ticks {
            return None;
        }
        let ns = later.boottime_ns.checked_sub(self.boottime_ns).filter(|ns| *ns > 0)?;
        Some((later.ticks - self.ticks) as f64 * NS_PER_SECOND / ns as f64)
    }
}

#[derive(Clone, Copy)]
pub struct Clock {
    /// None: ticks are nanoseconds of CLOCK_MONOTONIC.
    counted_from: Option<Moment>,
}

/// What a tick is worth at the end.
pub struct Pace {
    pub ticks_per_second: f64,
    /// Why the times of calls that were under way may be wrong.
    pub doubt: Option<&'static str>,
}

impl Clock {
    pub fn begin() -> Clock {
        Clock { counted_from: is_trusted().then(Moment::now) }
    }

    #[inline(always)]
    pub fn ticks(&self) -> u64 {
        if self.counted_from.is_some() { counter() } else { monotonic_ns() }
    }

    pub fn pace(&self) -> Pace {
        let Some(from) = self.counted_from else { return Pace { ticks_per_second: NS_PER_SECOND, doubt: None } };
        if let Some(ticks_per_second) = from.ticks_per_second(moment_after(from)) {
            let doubt =
                (!is_trusted()).then_some("the kernel trusts the processor's counter no more: times may be wrong");
            return Pace { ticks_per_second, doubt };
        }
        let from = Moment::now();
        let ticks_per_second = from.ticks_per_second(moment_after(from)).unwrap_or(NS_PER_SECOND);
        let doubt = Some("the machine was suspended meanwhile: the times of calls that were under way then are wrong");
        Pace { ticks_per_second, doubt }
    }
}

/// A block of a program can be shorter than what two readings are good for.
fn moment_after(from: Moment) -> Moment {
    loop {
        let now = Moment::now();
        if now.boottime_ns.saturating_sub(from.boottime_ns) >= COMPARED_NS_MIN || now.boottime_ns == 0 {
            return now;
        }
        core::hint::spin_loop();
    }
}

fn is_trusted() -> bool {
    read_whole(None, CLOCK_SOURCE).is_some_and(|name| name.trim_ascii() == b"tsc")
}

/// Not in order with the instructions around it: a call is longer than what the processor does out of order.
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: no memory. Where a program has forbidden the instruction to itself, the kernel's clocks, which use it as well, are forbidden, too.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGUN: Moment = Moment { ticks: 5_000, boottime_ns: 1_000, suspended_ns: 7_000_000_000 };

    #[test]
    fn ticks_are_compared_with_the_kernels_clock() {
        let later = Moment { ticks: 5_000 + 3_000_000, boottime_ns: 1_000 + 1_000_000, ..BEGUN };
        assert_eq!(BEGUN.ticks_per_second(later), Some(3e9));
    }

    #[test]
    fn over_a_suspended_machine_nothing_is_compared() {
        let suspended = Moment { boottime_ns: 10_000_000_000, suspended_ns: 8_000_000_000, ticks: 9_000_000 };
        let begun_anew = Moment { boottime_ns: 10_000_000_000, ticks: 4_000, ..BEGUN };
        assert_eq!(BEGUN.ticks_per_second(suspended), None);
        assert_eq!(BEGUN.ticks_per_second(begun_anew), None);
    }

    #[test]
    fn the_pace_is_the_kernels() {
        let clock = Clock::begin();
        let (ticks, ns) = (clock.ticks(), monotonic_ns());
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (ticks, ns) = (clock.ticks() - ticks, monotonic_ns() - ns);
        let seconds = ticks as f64 / clock.pace().ticks_per_second;
        // What lies between the two readings may take long on a busy machine, which is why it is no closer.
        assert!((seconds * 1e9 / ns as f64 - 1.0).abs() < 0.5, "{seconds} s by the ticks, {ns} ns by the kernel");
    }
}
