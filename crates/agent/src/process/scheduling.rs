//! The sampler's thread begins when its tick is due, not when the program pauses.
//!
//! By default the kernel makes the thread wait for the program in two ways, and the program would decide which moments are sampled:
//! - *Slack*: timers may be late by 50 µs, so that they expire together with others. A tick that waits for the timer that wakes the program
//!   misses the first 50 µs of its work.
//! - *Slices*: where no CPU is idle, a thread that wakes may wait until the running one has used up its slice, some milliseconds, or sleeps.
//!   The sampler then misses nearly all of a program that works in short bursts (460 of 500 bursts of a millisecond on one CPU).
//!
//! Since Linux 6.12 a thread may ask for a slice of its own. A thread whose slice is shorter than the running thread's begins at once; its
//! part of the CPU stays the same.
//! And where the kernel has it wait on one CPU while the program runs on another, it can be bound to that one for a while.
//! Owns: asking for less slack and a short slice, the CPUs that the thread may run on. Never: changes another thread, the slice of one that is
//! not under the fair scheduler, or CPUs that somebody else chose meanwhile.
//! Source: Linux 6.12, kernel/sched/fair.c (`do_preempt_short`), kernel/sched/syscalls.c (`__setparam_fair`); prctl(2).

use crate::system::errno;
use std::mem::size_of;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// The shortest that the kernel grants.
const SLICE_NS: u64 = 100_000;
/// 0 would mean the default.
const TIMER_SLACK_NS: libc::c_ulong = 1;

/// It can be bound to a CPU, and begins at once on one that is busy.
static MAY_STAY: AtomicBool = AtomicBool::new(false);

/// For the calling thread. What the kernel does not know, or a seccomp filter forbids, stays as it is.
pub fn ask() {
    // SAFETY: a number, for the calling thread.
    unsafe { libc::syscall(libc::SYS_prctl, libc::PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0) };
    let Some(mut wanted) = attributes() else { return };
    let policy = wanted.sched_policy as i32;
    if [libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&policy) {
        wanted.sched_runtime = SLICE_NS;
        // SAFETY: the kernel reads the structure, which says how long it is.
        unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0) };
    }
    let is_short = policy == libc::SCHED_OTHER && attributes().is_some_and(|now| now.sched_runtime == SLICE_NS);
    MAY_STAY.store(is_short && Cpus::now().is_some() && knows_cpus(), SeqCst);
}

/// Of the calling thread.
fn attributes() -> Option<libc::sched_attr> {
    // SAFETY: all fields are numbers.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    let bytes = size_of::<libc::sched_attr>() as libc::c_uint;
    // SAFETY: the kernel writes at most `bytes` of the structure.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, bytes, 0) };
    (got == 0).then_some(attributes)
}

/// Asks for no CPU at all, which changes nothing: a filter that forbids the call does so at the start, not minutes later.
fn knows_cpus() -> bool {
    let nowhere = core::ptr::null::<u64>();
    // SAFETY: the kernel reads no byte.
    unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, 0, nowhere) == -1 && errno::get() == libc::EINVAL }
}

/// 8,192, as many as any kernel is built for.
const CPU_WORDS: usize = 128;

/// CPUs that a thread may run on. No memory is taken for them: there may be none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cpus([u64; CPU_WORDS]);

impl Cpus {
    fn none() -> Cpus {
        Cpus([0; CPU_WORDS])
    }

    fn only(cpu: u32) -> Cpus {
        let mut only = Cpus::none();
        if let Some(word) = only.0.get_mut(cpu as usize / 64) {
            *word = 1 << (cpu % 64);
        }
        only
    }

    /// Those of the calling thread.
    fn now() -> Option<Cpus> {
        let mut now = Cpus::none();
        // SAFETY: the kernel writes at most so many bytes, and tells how many.
        let written = unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, size_of_val(&now.0), now.0.as_mut_ptr()) };
        (written > 0).then_some(now)
    }

    /// False: the kernel, or a filter, forbids it.
    fn set(&self) -> bool {
        // SAFETY: the kernel reads so many bytes.
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&self.0), self.0.as_ptr()) == 0 }
    }

    fn has(&self, cpu: u32) -> bool {
        self.0.get(cpu as usize / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

/// The one CPU that the calling thread is bound to, if it is.
#[derive(Default, Debug)]
#[allow(clippy::large_enum_variant)] // there is one, in the sampler
pub enum Stay {
    Anywhere,
    /// And where it may run otherwise.
    On {
        cpu: u32,
        home: Cpus,
    },
    /// It is forbidden, or others choose this thread's CPUs, too.
    #[default]
    Never,
}

impl Stay {
    /// For a thread that has asked for its slice.
    #[must_use]
    pub fn anywhere() -> Stay {
        if MAY_STAY.load(SeqCst) { Stay::Anywhere } else { Stay::Never }
    }

    #[must_use]
    pub const fn is_never(&self) -> bool {
        matches!(self, Stay::Never)
    }

    /// Binds the thread to that CPU. False: it may not run there, or nowhere else.
    pub fn on(&mut self, cpu: u32) -> bool {
        match self {
            Stay::Anywhere => {
                let Some(home) = Cpus::now().filter(|home| home.has(cpu) && home.count() > 1) else { return false };
                *self = if Cpus::only(cpu).set() { Stay::On { cpu, home } } else { Stay::Never };
            }
            Stay::On { cpu: before, home } if *before != cpu => {
                if !home.has(cpu) {
                    return false;
                }
                if was_left_alone(*before) && Cpus::only(cpu).set() {
                    *before = cpu;
                } else {
                    *self = Stay::Never;
                }
            }
            Stay::On { .. } | Stay::Never => {}
        }
        !self.is_never()
    }

    /// Lets it run where it might before.
    pub fn leave(&mut self) {
        if let Stay::On { cpu, home } = self {
            *self = if was_left_alone(*cpu) && home.set() { Stay::Anywhere } else { Stay::Never };
        }
    }
}

/// Nobody else has chosen this thread's CPUs since. False: their choice holds. Where that is a cpuset without this CPU, the kernel would go
/// back to it as soon as the cpuset has it again.
fn was_left_alone(cpu: u32) -> bool {
    let now = Cpus::now();
    let is_alone = now == Some(Cpus::only(cpu));
    if let Some(now) = now.filter(|_| !is_alone) {
        now.set();
    }
    is_alone
}

#[cfg(test)]
mod tests {
    use super::{Cpus, Stay, ask, knows_cpus};

    #[test]
    fn a_thread_stays_and_goes_back_to_where_it_might_run() {
        let home = Cpus::now().unwrap();
        let mut free = (0..8_192).filter(|&cpu| home.has(cpu));
        let (Some(first), Some(second)) = (free.next(), free.next()) else {
            println!("one CPU: nothing to choose");
            return;
        };
        let mut stay = Stay::Anywhere;
        stay.leave();
        assert_eq!(Cpus::now().as_ref(), Some(&home), "it was nowhere else");
        for cpu in [first, second, second] {
            assert!(stay.on(cpu));
            assert_eq!(Cpus::now(), Some(Cpus::only(cpu)));
        }
        stay.leave();
        assert_eq!(Cpus::now().as_ref(), Some(&home));
        stay.on(first);
        // As `taskset -a` of the whole process does.
        assert!(Cpus::only(second).set());
        stay.leave();
        assert!(!stay.on(first));
        assert_eq!(Cpus::now(), Some(Cpus::only(second)), "others have chosen: it stays");
        assert!(home.set());
    }

    #[test]
    fn a_thread_goes_nowhere_where_it_may_not_run() {
        let home = Cpus::now().unwrap();
        let elsewhere = (0..8_192).find(|&cpu| !home.has(cpu)).unwrap();
        let mut stay = Stay::Anywhere;
        for cpu in [elsewhere, 100_000] {
            assert!(!stay.on(cpu));
            assert_eq!(Cpus::now().as_ref(), Some(&home));
        }
    }

    #[test]
    fn asking_changes_no_cpus() {
        let home = Cpus::now();
        assert!(knows_cpus());
        std::thread::spawn(ask).join().unwrap();
        assert_eq!(Cpus::now(), home);
    }
}
