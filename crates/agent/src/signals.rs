//! Which handlers the kernel has for the three signals that genba uses, and what the program believes.
//! Owns: SIGURG (samples), SIGSEGV and SIGBUS (guarded reads). Never: keeps a handler that the program replaced.
//! The program sees its own view: what it sets it gets, what it asks it is told, as if genba were not there.

use crate::symbols;
use genba_signal::memory::resume_after_fault;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

pub const SAMPLE: c_int = libc::SIGURG;
const OURS: [c_int; 3] = [SAMPLE, libc::SIGSEGV, libc::SIGBUS];

type SigactionFn = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;

/// What the program set, per signal; changed under a spin lock that is held for a few instructions.
struct Views {
    lock: AtomicBool,
    actions: UnsafeCell<[libc::sigaction; 3]>,
}

// SAFETY: `actions` is touched only between `lock` and its release.
unsafe impl Sync for Views {}

static VIEWS: Views = Views {
    lock: AtomicBool::new(false),
    // SAFETY: a sigaction is plain numbers; zero is SIG_DFL.
    actions: UnsafeCell::new(unsafe { core::mem::zeroed() }),
};
static INSTALLED: AtomicBool = AtomicBool::new(false);
static REAL: AtomicU64 = AtomicU64::new(0);

/// libc's own `sigaction`.
///
/// # Safety
/// As `sigaction`: pointers are null or valid.
pub unsafe fn real_sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    let mut address = REAL.load(SeqCst);
    if address == 0 {
        address = symbols::next(c"sigaction").unwrap_or(0);
        REAL.store(address, SeqCst);
    }
    if address == 0 {
        return -1;
    }
    // SAFETY: dlsym gave libc's function of this name; its arguments are the caller's.
    unsafe { core::mem::transmute::<u64, SigactionFn>(address)(signal, new, old) }
}

/// Installs the three handlers and remembers what was there.
pub fn install() {
    for (index, signal) in OURS.into_iter().enumerate() {
        // SAFETY: our own handler; the old action goes to a local.
        unsafe {
            let mut before: libc::sigaction = core::mem::zeroed();
            real_sigaction(signal, core::ptr::null(), &raw mut before);
            with_views(|views| views[index] = before);
            if !displaces(signal, &before) {
                let action = our_action(signal);
                real_sigaction(signal, &raw const action, core::ptr::null_mut());
            }
        }
    }
    INSTALLED.store(true, SeqCst);
}

fn our_action(signal: c_int) -> libc::sigaction {
    // SAFETY: plain numbers; the mask is filled in below.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        if signal == SAMPLE {
            action.sa_sigaction = genba_signal::genba_on_sample as *const () as usize;
            action.sa_flags |= libc::SA_RESTART;
            libc::sigfillset(&raw mut action.sa_mask);
            for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP] {
                libc::sigdelset(&raw mut action.sa_mask, fault);
            }
        } else {
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags |= libc::SA_NODEFER;
            libc::sigemptyset(&raw mut action.sa_mask);
        }
        action
    }
}

/// Whether the program's action must stand in the kernel instead of genba's: a handler function, and for faults also SIG_IGN,
/// which an `exec` hands on. SIGURG is ignored by default, so there SIG_IGN changes nothing.
const fn displaces(signal: c_int, action: &libc::sigaction) -> bool {
    action.sa_sigaction != libc::SIG_DFL && (signal != SAMPLE || action.sa_sigaction != libc::SIG_IGN)
}

/// Steps over a guarded instruction of genba's; every other fault is the program's and ends as without genba.
unsafe extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives a ucontext; its registers are read and written in place.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let pc = &mut registers[libc::REG_RIP as usize];
        if let Some(resume) = resume_after_fault(*pc as u64) {
            *pc = resume as i64;
            return;
        }
        let sent = (*info).si_code <= 0;
        // The program has no handler, else the kernel had called that one. Take the default action: a real fault
        // happens again at the same instruction, a sent signal is sent again.
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = libc::SIG_DFL;
        real_sigaction(signal, &raw const action, core::ptr::null_mut());
        if sent {
            libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::syscall(libc::SYS_gettid), signal);
        }
    }
}

fn with_views<T>(use_views: impl FnOnce(&mut [libc::sigaction; 3]) -> T) -> T {
    const SPINS_MAX: u32 = 1 << 20;
    // SAFETY: masks on this stack. No signal handler of this thread can come in between and wait for the lock.
    let before = unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = (core::mem::zeroed(), core::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    };
    // Whoever holds it copies a few words; if it is still taken after this, its holder did not survive a fork.
    for _ in 0..SPINS_MAX {
        if !VIEWS.lock.swap(true, SeqCst) {
            break;
        }
        core::hint::spin_loop();
    }
    // SAFETY: the lock is ours.
    let result = use_views(unsafe { &mut *VIEWS.actions.get() });
    VIEWS.lock.store(false, SeqCst);
    // SAFETY: restores this thread's mask.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, core::ptr::null_mut()) };
    result
}

/// Which of genba's signals the kernel still sends to genba's handlers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    pub sample: bool,
    pub faults: bool,
}

#[must_use]
pub fn held() -> Held {
    let ours = |signal: c_int| {
        // SAFETY: asks only; the answer goes to a local.
        unsafe {
            let mut now: libc::sigaction = core::mem::zeroed();
            real_sigaction(signal, core::ptr::null(), &raw mut now);
            now.sa_sigaction == our_action(signal).sa_sigaction
        }
    };
    Held { sample: ours(SAMPLE), faults: ours(libc::SIGSEGV) && ours(libc::SIGBUS) }
}

/// The program calls `sigaction` for `signal`: `None` when the signal is none of genba's. `paused` runs a change of handlers
/// while none of genba's is in use.
///
/// # Safety
/// As `sigaction`.
pub unsafe fn program_sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
    paused: impl FnOnce(&mut dyn FnMut()),
) -> Option<c_int> {
    let index = OURS.iter().position(|&ours| ours == signal)?;
    if !INSTALLED.load(SeqCst) {
        return None;
    }
    // SAFETY: `new` and `old` are null or valid, as the caller promises.
    unsafe {
        let before = with_views(|views| views[index]);
        if let Some(&new) = new.as_ref() {
            let action = if displaces(signal, &new) { new } else { our_action(signal) };
            let mut result = 0;
            let mut change = || {
                if signal == SAMPLE {
                    // Ignoring a signal makes the kernel forget the ones that are pending: they are genba's.
                    let mut ignore: libc::sigaction = core::mem::zeroed();
                    ignore.sa_sigaction = libc::SIG_IGN;
                    real_sigaction(signal, &raw const ignore, core::ptr::null_mut());
                }
                result = real_sigaction(signal, &raw const action, core::ptr::null_mut());
            };
            if displaces(signal, &new) {
                paused(&mut change)
            } else {
                change()
            }
            if result != 0 {
                return Some(result);
            }
            with_views(|views| views[index] = new);
        }
        if let Some(old) = old.as_mut() {
            *old = before;
        }
    }
    Some(0)
}

/// Sends the sample signal with a ticket to a thread of this process. Err: the `errno`.
pub fn send(pid: u32, tid: u32, value: u64) -> Result<(), i32> {
    // siginfo as the kernel takes it: signo, errno, code, (pad,) pid, uid, value.
    let mut info = [0_u64; 16];
    info[0] = SAMPLE as u64;
    info[1] = u64::from(u32::MAX);
    info[2] = u64::from(pid);
    info[3] = value;
    // SAFETY: the kernel reads the 128 bytes.
    let sent = unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, SAMPLE, info.as_ptr()) };
    if sent == 0 { Ok(()) } else { Err(crate::proc::errno()) }
}
