//! The clock of the counts: the processor's own counter where the kernel keeps time by it, else CLOCK_MONOTONIC. Each call is timed twice, and the way
//! through libc to the same counter and back is much of what that costs.
//! Owns: the length of a tick. Never: reads a counter that the kernel does not trust; waits without an end.
//!
//! Nobody tells the counter's frequency: its ticks are compared with CLOCK_BOOTTIME, which does not stop in a suspended machine either, from the first
//! count to the end.

use crate::system::proc::{clock_ns, monotonic_ns, read_whole};
use std::ffi::CStr;

/// Source: Linux, Documentation/ABI/testing/sysfs-devices-system-clocksource. The kernel has compared the counters of all processors before it says `tsc`.
const CLOCK_SOURCE: &CStr = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
const TRUSTED: &[u8] = b"tsc";
const NS_PER_SECOND: f64 = 1e9;
/// Ticks are compared over at least this time. A reading is exact to some 100 ns.
const COMPARED_NS_MIN: u64 = 1_000_000;
/// Of these the shortest counts: it was not interrupted.
const READINGS: usize = 5;
/// They take longer than `COMPARED_NS_MIN`.
const MOMENTS_MAX: usize = 20_000;
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

/// The length of a tick, as it is known at the end.
pub struct Pace {
    pub ticks_per_second: f64,
    /// Why times may be wrong.
    pub doubt: Option<&'static str>,
}

impl Clock {
    pub fn begin() -> Clock {
        Clock { counted_from: (source().as_deref() == Some(TRUSTED)).then(Moment::now) }
    }

    #[inline(always)]
    pub fn ticks(&self) -> u64 {
        if self.counted_from.is_some() { counter() } else { monotonic_ns() }
    }

    pub fn pace(&self) -> Pace {
        let Some(from) = self.counted_from else { return Pace { ticks_per_second: NS_PER_SECOND, doubt: None } };
        if let Some(ticks_per_second) = since(from) {
            // A program that has shut itself in may not read it any more, which says nothing.
            let doubt = source()
                .is_some_and(|name| name != TRUSTED)
                .then_some("the kernel no longer trusts the processor's counter: times may be wrong");
            return Pace { ticks_per_second, doubt };
        }
        Pace {
            ticks_per_second: since(Moment::now()).unwrap_or(NS_PER_SECOND),
            doubt: Some("the machine was suspended: the times of calls that were under way then are wrong"),
        }
    }
}

/// A block of a program can be shorter than what two readings are good for. None: the machine was suspended.
fn since(from: Moment) -> Option<f64> {
    let is_long_after = |now: &Moment| now.boottime_ns.saturating_sub(from.boottime_ns) >= COMPARED_NS_MIN;
    let later = (0..MOMENTS_MAX).map(|_| Moment::now()).find(is_long_after)?;
    from.ticks_per_second(later)
}

/// By what the kernel keeps time. None: it cannot be read here.
fn source() -> Option<Vec<u8>> {
    Some(read_whole(None, CLOCK_SOURCE)?.trim_ascii().to_vec())
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
    fn the_counter_is_read_where_the_kernel_trusts_it() {
        let clock = Clock::begin();
        let is_trusted = std::fs::read(CLOCK_SOURCE.to_str().expect("a path")).is_ok_and(|name| name == b"tsc\n");
        let (before, ticks, after) = (counter(), clock.ticks(), counter());
        assert_eq!((before..=after).contains(&ticks), is_trusted);
    }

    #[test]
    fn the_pace_is_the_kernels() {
        let clock = Clock::begin();
        let now = || [monotonic_ns(), clock.ticks(), monotonic_ns()];
        let begun = now();
        let ended =
            std::iter::repeat_with(now).find(|ended| ended[0] - begun[0] > 20 * COMPARED_NS_MIN).expect("a clock");
        let ns = (ended[1] - begun[1]) as f64 / clock.pace().ticks_per_second * NS_PER_SECOND;
        // Each reading of ticks lies between two of the kernel's clock; both ends of the comparison are exact to some 100 ns of a millisecond.
        let (inner, outer) = ((ended[0] - begun[2]) as f64 * 0.999, (ended[2] - begun[0]) as f64 * 1.001);
        assert!((inner..=outer).contains(&ns), "{ns} ns by the ticks, {inner} to {outer} ns by the kernel");
    }
}
