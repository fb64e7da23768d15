//! A timer on the process's CPU clock: it ends the sampler's rest when the program begins to run.
//! Owns: the timer and its signal, which stays blocked on the sampler's thread and is waited for, so that no handler ever runs for it.
//! Never: fires while nobody rests, outlives the sampler's thread (a fork inherits none). Partner: bells.rs (`rest_until`).

use crate::system::signals;

/// `si_code` of a timer's signal.
const TIMER_CODE: i32 = -2;
/// What its signal carries: a timer of the program's may send the same one.
const VALUE: usize = 0x6762_616c;

/// Whether a signal that was waited for is the alarm's.
#[must_use]
pub fn rang(came: &libc::siginfo_t) -> bool {
    // SAFETY: a timer's signal has a value.
    came.si_code == TIMER_CODE && unsafe { came.si_value() }.sival_ptr as usize == VALUE
}

#[derive(Debug)]
pub struct Alarm {
    timer: i32,
    is_set: bool,
}

impl Alarm {
    /// For the calling thread. `None`: the kernel has no such timer, or a limit or a filter forbids it.
    #[must_use]
    pub fn new(tid: u32) -> Option<Alarm> {
        let mut timer: i32 = 0;
        // SAFETY: the kernel reads the event and writes one int; both are on this stack.
        let made = unsafe {
            let mut event: libc::sigevent = core::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signals::SAMPLE;
            event.sigev_value.sival_ptr = core::ptr::without_provenance_mut(VALUE);
            event.sigev_notify_thread_id = tid.cast_signed();
            libc::syscall(
                libc::SYS_timer_create,
                libc::CLOCK_PROCESS_CPUTIME_ID,
                (&raw mut event).cast::<libc::c_void>(),
                &raw mut timer,
            )
        };
        (made == 0).then_some(Alarm { timer, is_set: false })
    }

    /// Fires once, when the process has used so much more CPU. False: it cannot be set.
    pub fn set(&mut self, cpu_ns: u64) -> bool {
        self.is_set = self.set_time(cpu_ns);
        self.is_set
    }

    /// Fires no more.
    pub fn unset(&mut self) {
        if std::mem::take(&mut self.is_set) {
            self.set_time(0);
        }
    }

    fn set_time(&self, cpu_ns: u64) -> bool {
        const NEVER: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let (tv_sec, tv_nsec) = ((cpu_ns / 1_000_000_000) as i64, (cpu_ns % 1_000_000_000) as i64);
        let time = libc::itimerspec { it_interval: NEVER, it_value: libc::timespec { tv_sec, tv_nsec } };
        let nowhere = core::ptr::null_mut::<libc::itimerspec>();
        // SAFETY: the kernel reads the record on this stack.
        unsafe { libc::syscall(libc::SYS_timer_settime, self.timer, 0, &raw const time, nowhere) == 0 }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // SAFETY: made by `new` in this process: the sampler gives it up before a fork.
        unsafe { libc::syscall(libc::SYS_timer_delete, self.timer) };
    }
}
