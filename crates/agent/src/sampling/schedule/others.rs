//! Whether any of the program's threads ran since the tick before, by the process's clock without the sampler's own.
//! Owns: when somebody last ran, and since when nobody has. Never: takes what cannot be told from standing still for a run.

/// A thread that has just begun to run shows in the process's clock after this time at the latest (CONFIG_HZ=100).
const KERNEL_TICK_NS_MAX: u64 = 10_000_000;
/// Where somebody ran on so many ticks in a row, the process's clock, which the kernel adds up thread by thread, is read on each
/// eighth tick only.
const BUSY_TICKS: u64 = 64;

/// The process's clock, between two readings of the sampler's own.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    pub own_before_ns: u64,
    pub all_ns: u64,
    pub own_after_ns: u64,
}

#[derive(Default)]
pub struct Others {
    /// The CPU of all other threads was at most this when it was last seen to move.
    cpu_ns_max: u64,
    /// So many ticks in a row, somebody had run since the one before.
    busy_ticks: u64,
    /// The last tick at which a thread had run since the tick before.
    ran_ns: u64,
    /// From such a tick on nobody ran, until this one.
    quiet_from_until_ns: (u64, u64),
}

impl Others {
    /// Whether the other threads' CPU, the process's without this thread's, moved since it last did. What cannot be told from
    /// standing still, a microsecond, adds up until it can. A thread that runs at this moment on another CPU shows at the
    /// kernel's next tick.
    pub fn anyone_ran(&mut self, clocks: impl FnOnce() -> Option<Clocks>) -> bool {
        self.busy_ticks += 1;
        if self.busy_ticks > BUSY_TICKS && !self.busy_ticks.is_multiple_of(8) {
            return true;
        }
        let Some(Clocks { own_before_ns, all_ns, own_after_ns }) = clocks() else { return true };
        let (least_ns, most_ns) = (all_ns.saturating_sub(own_after_ns), all_ns.saturating_sub(own_before_ns));
        let ran = least_ns > self.cpu_ns_max;
        self.cpu_ns_max = if ran { most_ns } else { most_ns.min(self.cpu_ns_max) };
        if !ran {
            self.busy_ticks = 0;
        }
        ran
    }

    /// What the tick of that moment found.
    pub const fn tick(&mut self, now_ns: u64, ran: bool) {
        if ran {
            self.ran_ns = now_ns;
        } else {
            self.quiet_from_until_ns = (self.ran_ns, now_ns);
        }
    }

    /// The last tick at which a thread had run since the tick before.
    #[must_use]
    pub const fn ran_ns(&self) -> u64 {
        self.ran_ns
    }

    /// Whether nobody ran since a thread's clock was read then: it stands where it stood.
    #[must_use]
    pub const fn stand_still_since(&self, read_ns: u64) -> bool {
        let (quiet_from_ns, quiet_ns) = self.quiet_from_until_ns;
        quiet_ns > self.ran_ns && read_ns >= quiet_from_ns
    }

    /// How long a thread whose clock was read then stood still, if for longer than until `from_ns`.
    #[must_use]
    pub fn stood_until_ns(&self, read_ns: u64, from_ns: u64) -> Option<u64> {
        let (quiet_from_ns, quiet_ns) = self.quiet_from_until_ns;
        let stood_ns = quiet_ns.saturating_sub(KERNEL_TICK_NS_MAX);
        (read_ns >= quiet_from_ns && stood_ns > from_ns).then_some(stood_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::{BUSY_TICKS, Clocks, Others};

    const MILLISECOND_NS: u64 = 1_000_000;

    fn clocks(own_before_ns: u64, all_ns: u64, own_after_ns: u64) -> impl FnOnce() -> Option<Clocks> {
        move || Some(Clocks { own_before_ns, all_ns, own_after_ns })
    }

    #[test]
    fn what_cannot_be_told_from_standing_still_adds_up() {
        let mut others = Others::default();
        assert!(others.anyone_ran(clocks(10, 1_000, 12)));
        // The sampler's own CPU moved, and nobody else's.
        assert!(!others.anyone_ran(clocks(500, 1_490, 502)));
        assert!(!others.anyone_ran(clocks(600, 1_591, 602)));
        assert!(others.anyone_ran(clocks(700, 1_693, 702)));
    }

    #[test]
    fn a_busy_program_is_asked_on_each_eighth_tick_and_a_silent_kernel_means_yes() {
        let mut others = Others::default();
        let mut asked = 0;
        for tick in 0..2 * BUSY_TICKS {
            assert!(others.anyone_ran(|| {
                asked += 1;
                clocks(0, (tick + 1) * MILLISECOND_NS, 0)()
            }));
        }
        assert_eq!(asked, BUSY_TICKS + BUSY_TICKS / 8);
        assert!(others.anyone_ran(|| None));
    }

    #[test]
    fn a_thread_stands_still_as_long_as_nobody_runs() {
        let mut others = Others::default();
        let ms = |ms: u64| ms * MILLISECOND_NS;
        others.tick(ms(100), true);
        assert!(!others.stand_still_since(ms(100)));
        others.tick(ms(130), false);
        assert!(others.stand_still_since(ms(100)) && !others.stand_still_since(ms(99)));
        // Who began to run within the kernel's last tick does not show yet.
        assert_eq!(others.stood_until_ns(ms(100), ms(110)), Some(ms(120)));
        assert_eq!(others.stood_until_ns(ms(100), ms(120)), None);
        assert_eq!(others.stood_until_ns(ms(99), ms(110)), None);
        others.tick(ms(140), true);
        assert!(!others.stand_still_since(ms(135)));
        assert_eq!(others.stood_until_ns(ms(100), ms(110)), Some(ms(120)), "of the time before it is still true");
    }
}
