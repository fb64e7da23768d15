//! A call that a signal of the program's ends is ended, also where genba's signal comes with that one. The thread has no CPU until both wait for
//! it: it runs only when nobody else wants its CPU, and somebody does.

use genba_signal::genba_on_sample;
use genba_signal::handler::{SAMPLE_CODE, SHARED};
use genba_signal::kept::HANDLER_MASK;
use std::io::{Error, ErrorKind, Read, Write};
use std::os::fd::FromRawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::time::Duration;
use std::{fs, mem, ptr, thread};

const ROUNDS: u32 = 20;
static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: i32) {
    HANDLED.fetch_add(1, SeqCst);
}

fn install(signal: i32, handler: usize, flags: i32, mask: u64) {
    // SAFETY: a handler of the right shape, and a mask that the kernel's 64 signals fill.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        (action.sa_sigaction, action.sa_flags) = (handler, flags);
        (&raw mut action.sa_mask).cast::<u64>().write(mask);
        assert_eq!(libc::sigaction(signal, &raw const action, ptr::null_mut()), 0);
    }
}

fn mask(how: i32, signal: i32) {
    // SAFETY: a mask on this stack.
    unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(how, &raw const set, ptr::null_mut());
    }
}

/// This thread runs on the first CPU only; `idly`: only when nobody else wants it.
fn pin(idly: bool) {
    // SAFETY: records on this stack, for the calling thread.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(0, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &raw const set), 0);
        let parameter: libc::sched_param = mem::zeroed();
        let policy = if idly { libc::SCHED_IDLE } else { libc::SCHED_OTHER };
        assert_eq!(libc::sched_setscheduler(0, policy, &raw const parameter), 0);
    }
}

/// genba's signal to one thread, if it is still there, with a ticket of no open question.
fn ask(tid: i32) {
    // SAFETY: a siginfo of the kernel's size; a process may send itself any with a negative code.
    unsafe {
        let mut info = [0_u64; 16];
        info[0] = libc::SIGURG as u64;
        info[1] = u64::from(SAMPLE_CODE as u32);
        info[2] = u64::from(std::process::id());
        info[3] = u64::MAX;
        let pid = std::process::id() as i32;
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, libc::SIGURG, info.as_ptr());
    }
}

fn sleeps_in_read(tid: i32) -> bool {
    fs::read_to_string(format!("/proc/self/task/{tid}/syscall")).is_ok_and(|words| words.starts_with("0 "))
}

/// A read from a pipe without data meets SIGVTALRM and genba's signal at the same time. What the call returns, if anything ends it.
fn ended(flags: i32, blocked: bool) -> Option<ErrorKind> {
    install(libc::SIGVTALRM, count as *const () as usize, flags, 0);
    let mut ends = [0_i32; 2];
    // SAFETY: two descriptors, each owned by one file from here on.
    let (mut reader, mut writer) = unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        (fs::File::from_raw_fd(ends[0]), fs::File::from_raw_fd(ends[1]))
    };
    let (tid, busy, began) = (AtomicI32::new(0), AtomicBool::new(true), AtomicBool::new(false));
    let (told, result) = channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            pin(true);
            mask(if blocked { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK }, libc::SIGVTALRM);
            // SAFETY: asks.
            tid.store(unsafe { libc::gettid() }, SeqCst);
            // SAFETY: one byte on this stack; `Read` would repeat a call that was ended.
            let done = unsafe { libc::read(ends[0], [0_u8; 1].as_mut_ptr().cast(), 1) };
            let _ = told.send((done < 0).then(|| Error::last_os_error().kind()));
        });
        while tid.load(SeqCst) == 0 || !sleeps_in_read(tid.load(SeqCst)) {
            thread::sleep(Duration::from_millis(1));
        }
        scope.spawn(|| {
            pin(false);
            began.store(true, SeqCst);
            while busy.load(SeqCst) {
                std::hint::spin_loop();
            }
        });
        while !began.load(SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        // SAFETY: sends. Of two signals to a thread the kernel delivers the lower number first, here SIGURG, as it delivers a thread's before the
        // process's.
        unsafe { libc::syscall(libc::SYS_tgkill, std::process::id() as i32, tid.load(SeqCst), libc::SIGVTALRM) };
        ask(tid.load(SeqCst));
        busy.store(false, SeqCst);
        let early = result.recv_timeout(Duration::from_millis(if flags == 0 && !blocked { 10_000 } else { 50 }));
        if early.is_err() {
            writer.write_all(b"x").expect("the read takes it");
            assert_eq!(result.recv(), Ok(None));
        } else {
            writer.write_all(b"x").expect("nobody reads");
            reader.read_exact(&mut [0]).expect("it is there");
        }
        early.ok().flatten()
    })
}

/// One test: signals are the process's.
#[test]
fn both_at_once() {
    SHARED.pid.store(std::process::id(), SeqCst);
    install(libc::SIGURG, genba_on_sample as *const () as usize, libc::SA_SIGINFO | libc::SA_RESTART, HANDLER_MASK);
    for round in 0..ROUNDS {
        let handled = HANDLED.load(SeqCst);
        assert_eq!(ended(0, false), Some(ErrorKind::Interrupted), "round {round}");
        assert_eq!(HANDLED.load(SeqCst), handled + 1);
    }
    assert_eq!(ended(libc::SA_RESTART, false), None, "calls go on after its handler");
    assert_eq!(ended(0, true), None, "the program blocks it");
}
