//! Which handlers the kernel has for the three signals that genba uses, and what the program believes.
//! Owns: SIGURG (samples), SIGSEGV and SIGBUS (guarded reads). Never: keeps a handler that the program replaced.
//! The program sees its own view: what it sets it gets, what it asks it is told, as if genba were not there.

use crate::proc::{errno, own_pid, own_tid};
use crate::symbols;
use genba_signal::handler::SAMPLE_CODE;
use genba_signal::memory::resume_after_fault;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

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
/// Whose views these are: a vfork child runs in the same memory with handlers of its own.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// The program reads SIGURG from a descriptor: it must not find genba's there.
static TAKEN_BY_DESCRIPTOR: AtomicBool = AtomicBool::new(false);
/// A thread of the program has an alternate stack that genba's handlers might not fit on.
static SMALL_ALTERNATE_STACK: AtomicBool = AtomicBool::new(false);
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
    PROCESS.store(own_pid(), SeqCst);
    with_views(|views| {
        for (view, signal) in views.iter_mut().zip(OURS) {
            *view = in_kernel(signal);
            if !displaces(signal, view) {
                let ours = our_action(signal);
                // SAFETY: our own handler.
                unsafe { real_sigaction(signal, &raw const ours, core::ptr::null_mut()) };
            }
        }
    });
    INSTALLED.store(true, SeqCst);
}

/// In a forked child: the views are its own copies.
pub fn forked() {
    PROCESS.store(own_pid(), SeqCst);
}

/// What the kernel does with a signal now.
fn in_kernel(signal: c_int) -> libc::sigaction {
    // SAFETY: asks only; the answer goes to a local.
    unsafe {
        let mut now: libc::sigaction = core::mem::zeroed();
        real_sigaction(signal, core::ptr::null(), &raw mut now);
        now
    }
}

fn is_ours(signal: c_int, action: &libc::sigaction) -> bool {
    action.sa_sigaction == our_action(signal).sa_sigaction
}

fn our_action(signal: c_int) -> libc::sigaction {
    // SAFETY: plain numbers; the mask is filled in below.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_flags = libc::SA_SIGINFO;
        // Go calls for it: its stacks are small and have no guard page.
        if !SMALL_ALTERNATE_STACK.load(SeqCst) {
            action.sa_flags |= libc::SA_ONSTACK;
        }
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
    let ours = |signal: c_int| is_ours(signal, &in_kernel(signal));
    Held {
        sample: ours(SAMPLE) && !TAKEN_BY_DESCRIPTOR.load(SeqCst),
        faults: ours(libc::SIGSEGV) && ours(libc::SIGBUS),
    }
}

/// Whether a sample signal may come that the program knows nothing of.
#[must_use]
pub fn samples_are_ours() -> bool {
    INSTALLED.load(SeqCst) && PROCESS.load(SeqCst) == own_pid() && is_ours(SAMPLE, &in_kernel(SAMPLE))
}

/// Whether the program has its own view of this signal here.
#[must_use]
pub fn is_shared(signal: c_int) -> bool {
    OURS.contains(&signal) && INSTALLED.load(SeqCst)
}

/// What the program believes to be the action of any signal.
#[must_use]
pub fn seen_by_program(signal: c_int) -> libc::sigaction {
    let now = in_kernel(signal);
    match OURS.iter().position(|&ours| ours == signal) {
        Some(index) if INSTALLED.load(SeqCst) && is_ours(signal, &now) => with_views(|views| views[index]),
        _ => now,
    }
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
    // After vfork the handlers are the child's own and the views are its parent's.
    if !INSTALLED.load(SeqCst) || (!new.is_null() && PROCESS.load(SeqCst) != own_pid()) {
        return None;
    }
    let mut before = seen_by_program(signal);
    let mut result = 0;
    // SAFETY: `new` and `old` are null or valid, as the caller promises.
    unsafe {
        if let Some(&new) = new.as_ref() {
            paused(&mut || {
                with_views(|views| {
                    let now = in_kernel(signal);
                    before = if is_ours(signal, &now) { views[index] } else { now };
                    if signal == SAMPLE && displaces(signal, &new) {
                        // Ignoring a signal makes the kernel forget the ones that are pending: they are genba's.
                        let mut ignore: libc::sigaction = core::mem::zeroed();
                        ignore.sa_sigaction = libc::SIG_IGN;
                        real_sigaction(signal, &raw const ignore, core::ptr::null_mut());
                    }
                    result = real_sigaction(signal, &raw const new, core::ptr::null_mut());
                    if result == 0 && !displaces(signal, &new) {
                        // Taken out again it has the form in which the kernel would tell it.
                        let (ours, view) = (our_action(signal), &raw mut views[index]);
                        real_sigaction(signal, &raw const ours, view);
                    }
                });
            });
        }
        if result == 0
            && let Some(old) = old.as_mut()
        {
            *old = before;
        }
    }
    Some(result)
}

/// The program begins to read SIGURG from a descriptor.
pub fn taken_by_descriptor(paused: impl FnOnce(&mut dyn FnMut())) {
    if !INSTALLED.load(SeqCst) || PROCESS.load(SeqCst) != own_pid() || TAKEN_BY_DESCRIPTOR.swap(true, SeqCst) {
        return;
    }
    paused(&mut || reinstall(&[SAMPLE], true));
}

/// A thread of the program is about to get an alternate stack of this size.
pub fn alternate_stack(bytes: usize) {
    /// Two frames of the kernel with all registers (3.4 kB each with AVX-512) and the handlers' own.
    const BYTES_MIN: usize = 16 << 10;
    if bytes >= BYTES_MIN
        || !INSTALLED.load(SeqCst)
        || PROCESS.load(SeqCst) != own_pid()
        || SMALL_ALTERNATE_STACK.swap(true, SeqCst)
    {
        return;
    }
    reinstall(&OURS, false);
}

/// Sets genba's actions anew where they stand; `forget` what is pending.
fn reinstall(signals: &[c_int], forget: bool) {
    with_views(|_| {
        for &signal in signals {
            if !is_ours(signal, &in_kernel(signal)) {
                continue;
            }
            let ours = our_action(signal);
            // SAFETY: our own handler.
            unsafe {
                if forget {
                    let mut ignore: libc::sigaction = core::mem::zeroed();
                    ignore.sa_sigaction = libc::SIG_IGN;
                    real_sigaction(signal, &raw const ignore, core::ptr::null_mut());
                }
                real_sigaction(signal, &raw const ours, core::ptr::null_mut());
            }
        }
    });
}

/// Blocks the sample signal on this thread. True: it was blocked before.
#[must_use]
pub fn block_sample() -> bool {
    // SAFETY: masks on this stack.
    unsafe {
        let (mut sample, mut before): (libc::sigset_t, libc::sigset_t) = (core::mem::zeroed(), core::mem::zeroed());
        libc::sigaddset(&raw mut sample, SAMPLE);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const sample, &raw mut before);
        libc::sigismember(&raw const before, SAMPLE) == 1
    }
}

/// Undoes `block_sample`; errno stays.
pub fn unblock_sample() {
    // SAFETY: the mask is on this stack; pthread_sigmask leaves errno alone.
    unsafe {
        let mut sample: libc::sigset_t = core::mem::zeroed();
        libc::sigaddset(&raw mut sample, SAMPLE);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const sample, core::ptr::null_mut());
    }
}

/// Takes back a sample signal that waits because this thread blocks it: what is blocked and pending stays so over `exec`.
pub fn drop_pending() {
    if !INSTALLED.load(SeqCst) {
        return;
    }
    let kept_errno = errno();
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one siginfo on this stack and reads the mask of eight bytes and the time.
    unsafe {
        let mut came: libc::siginfo_t = core::mem::zeroed();
        let mask = 1_u64 << (SAMPLE - 1);
        let waited = libc::syscall(libc::SYS_rt_sigtimedwait, &raw const mask, &raw mut came, &raw const at_once, 8);
        if waited == i64::from(SAMPLE) && !is_sample(&came) {
            // The program's own: back to where it was.
            libc::syscall(libc::SYS_rt_tgsigqueueinfo, own_pid(), own_tid(), SAMPLE, &raw const came);
        }
        *libc::__errno_location() = kept_errno;
    }
}

/// A signal that genba sent: no other has this code.
#[must_use]
pub const fn is_sample(info: &libc::siginfo_t) -> bool {
    info.si_signo == SAMPLE && info.si_code == SAMPLE_CODE
}

/// Sends the sample signal with a ticket to a thread of this process. Err: the `errno`.
pub fn send(pid: u32, tid: u32, value: u64) -> Result<(), i32> {
    // siginfo as the kernel takes it: signo, errno, code, (pad,) pid, uid, value.
    let mut info = [0_u64; 16];
    info[0] = SAMPLE as u64;
    info[1] = u64::from(SAMPLE_CODE as u32);
    info[2] = u64::from(pid);
    info[3] = value;
    // SAFETY: the kernel reads the 128 bytes.
    let sent = unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, SAMPLE, info.as_ptr()) };
    if sent == 0 { Ok(()) } else { Err(errno()) }
}
