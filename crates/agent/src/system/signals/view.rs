//! What the program believes to be the action of a signal.
//! Owns: one action per signal in two slots, and the lock of those who change any of them. Never: makes a reader wait.
//!
//! The number of changes says which slot counts. A change fills the other slot, then raises the number; a reader whose slot was
//! filled again meanwhile sees that the number has moved, and reads again. So a signal handler can read at any moment.

use super::mask;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

/// An action as the kernel keeps it: handler, flags, restorer, mask.
pub struct View {
    changes: AtomicU64,
    slots: [[AtomicU64; 4]; 2],
}

impl View {
    #[allow(clippy::declare_interior_mutable_const)] // a template for the statics
    pub const DEFAULT: View =
        View { changes: AtomicU64::new(0), slots: [const { [const { AtomicU64::new(0) }; 4] }; 2] };

    pub fn read(&self) -> libc::sigaction {
        loop {
            let before = self.changes.load(SeqCst);
            let [handler, flags, restorer, mask] =
                self.slots[before as usize % 2].each_ref().map(|word| word.load(SeqCst));
            // Unmoved: the slot is filled again only after the number has moved.
            if self.changes.load(SeqCst) == before {
                // SAFETY: plain numbers. The restorer is a function or null, as `change` was given it. The kernel's mask is the
                // first eight bytes of libc's.
                return unsafe {
                    let mut action: libc::sigaction = core::mem::zeroed();
                    action.sa_sigaction = handler as usize;
                    action.sa_flags = flags as i32;
                    action.sa_restorer = core::mem::transmute::<u64, Option<extern "C" fn()>>(restorer);
                    (&raw mut action.sa_mask).cast::<u64>().write(mask);
                    action
                };
            }
        }
    }

    pub fn change(&self, _changing: &Changing, action: &libc::sigaction) {
        let next = self.changes.load(SeqCst) + 1;
        let restorer = action.sa_restorer.map_or(0, |restorer| restorer as usize as u64);
        // SAFETY: libc's mask is 128 bytes, aligned to eight.
        let mask = unsafe { (&raw const action.sa_mask).cast::<u64>().read() };
        let words = [action.sa_sigaction as u64, action.sa_flags as u32 as u64, restorer, mask];
        for (slot, word) in self.slots[next as usize % 2].iter().zip(words) {
            slot.store(word, SeqCst);
        }
        self.changes.store(next, SeqCst);
    }
}

/// What the program set, per signal.
pub static VIEWS: [View; 3] = [const { View::DEFAULT }; 3];

/// The right to change views: this thread has the lock.
pub struct Changing(());

static LOCK: AtomicBool = AtomicBool::new(false);

/// Runs `change` with the lock, which is held over a few system calls. Its holder blocks all signals and waits for nobody, so it gives the
/// lock back; only a fork can take a holder away (`forked`). A vfork child must not come here: killed, it would leave its parent the lock.
pub fn changing<T>(change: impl FnOnce(&Changing) -> T) -> T {
    // SAFETY: a mask on this stack. No handler of this thread's can come in between and want the lock; SIGSYS stays open for
    // filters that trap system calls.
    let all = unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigdelset(&raw mut all, libc::SIGSYS);
        mask::word(&all)
    };
    let before = mask::in_kernel(libc::SIG_SETMASK, all);
    while LOCK.swap(true, SeqCst) {
        // SAFETY: no arguments, no memory. On one CPU the holder needs it.
        unsafe { libc::sched_yield() };
    }
    let result = change(&Changing(()));
    LOCK.store(false, SeqCst);
    mask::in_kernel(libc::SIG_SETMASK, before);
    result
}

/// In a forked child: the thread that had the lock is not there. The one that is there forks, and so did not have it.
pub fn forked() {
    LOCK.store(false, SeqCst);
}

#[cfg(test)]
mod tests {
    use super::{LOCK, View, changing, forked};
    use std::sync::Mutex;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::SeqCst;

    /// There is one lock in a process.
    static ALONE: Mutex<()> = Mutex::new(());

    fn action(value: usize) -> libc::sigaction {
        // SAFETY: plain numbers.
        let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
        action.sa_sigaction = value;
        action.sa_flags = value as i32;
        action
    }

    #[test]
    fn a_reader_never_sees_half_of_a_change() {
        let _alone = ALONE.lock().unwrap();
        let view = View::DEFAULT;
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        for value in 1..20_000 {
                            changing(|lock| view.change(lock, &action(value)));
                        }
                    })
                })
                .collect();
            while writers.iter().any(|writer| !writer.is_finished()) {
                let seen = view.read();
                assert_eq!(seen.sa_sigaction, seen.sa_flags as usize);
            }
        });
        assert_eq!(view.read().sa_sigaction, 19_999);
    }

    #[test]
    fn one_changes_at_a_time_however_long_that_takes() {
        let _alone = ALONE.lock().unwrap();
        let inside = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    changing(|_| {
                        assert_eq!(inside.fetch_add(1, SeqCst), 0);
                        // Longer than any number of turns of a loop that gives up: the others have had their time slices.
                        let until = std::time::Instant::now() + std::time::Duration::from_millis(60);
                        while std::time::Instant::now() < until {}
                        inside.fetch_sub(1, SeqCst);
                    });
                });
            }
        });
    }

    #[test]
    fn a_forked_child_does_not_wait_for_a_holder_that_it_lacks() {
        let _alone = ALONE.lock().unwrap();
        LOCK.store(true, SeqCst);
        forked();
        changing(|_| ());
    }
}
