//! A thread that traces others, and whose end is awaited.
//! Owns: that nothing is traced by it any more when its caller goes on. Never: traces by itself.
//! A thread is joined as it gives up its memory; after that the kernel lets go of what it traced, and only then calls it ended. A tracer that gets
//! no CPU in between would still hold its threads: to the next one the kernel says EPERM.
//! Source: Linux kernel/exit.c (`do_exit`: `exit_mm`, then `exit_notify`), kernel/ptrace.c (`exit_ptrace`).

use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use nix::unistd::gettid;

use crate::kernel::threads;

/// 200 ms and more: a count, as a process that may use no CPU for a while (a quota, SIGSTOP) meets no deadline.
const LOOKS_MAX: usize = 4000;
const LOOKED_EVERY: Duration = Duration::from_micros(50);

/// Does `work` in a thread of its own, and waits until the kernel has let go of whatever that one has traced. `None`: it panicked.
pub fn in_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    let tid = AtomicI32::new(0);
    let done = std::thread::scope(|scope| {
        let tracer = scope.spawn(|| {
            tid.store(gettid().as_raw(), Ordering::Relaxed);
            work()
        });
        tracer.join().ok()
    });
    let tid = tid.into_inner().cast_unsigned();
    for _ in 0..LOOKS_MAX {
        if threads::task(std::process::id(), tid).is_none_or(|task| task.has_ended()) {
            break;
        }
        std::thread::sleep(LOOKED_EVERY);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::in_own_thread;
    use nix::sys::ptrace::{self, Options};
    use nix::unistd::Pid;
    use std::process::Command;

    #[test]
    fn what_a_tracer_has_seized_is_free_after_it() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let thread = Pid::from_raw(child.id().cast_signed());
        // It is never stopped, so only the tracer's end lets go of it.
        let seized: Vec<_> = (0..200).map(|_| in_own_thread(|| ptrace::seize(thread, Options::empty()))).collect();
        let _ = child.kill();
        let _ = child.wait();
        assert!(seized.iter().all(|seized| *seized == Some(Ok(()))), "{seized:?}");
    }
}
