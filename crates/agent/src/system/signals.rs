//! Which handlers the kernel has for the three signals that genba uses, and what the program believes.
//! Owns: SIGURG (samples), SIGSEGV and SIGBUS (guarded reads). A handler of the program's for SIGURG takes genba's place, and for faults
//! genba's comes before it (signals/faults.rs); the same holds for SIGURG once a thread blocks it in the program's belief only
//! (signals/mask.rs).
//! The program sees its own view: what it sets it gets, what it asks it is told, as if genba were not there.

use crate::system::alternate;
use crate::system::errno;
use crate::system::proc::{own_pid, own_tid};
use genba_signal::handler::SAMPLE_CODE;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

mod actions;
mod faults;
pub mod mask;
mod on_stack;
mod view;
use actions::{OURS, PROCESS, entry, in_kernel, index_of};
use view::{VIEWS, changing};

pub use actions::{SAMPLE, find_real, is_own_process, real_sigaction};

static INSTALLED: AtomicBool = AtomicBool::new(false);
/// The program reads SIGURG from a descriptor: it must not find genba's there.
static TAKEN_BY_DESCRIPTOR: AtomicBool = AtomicBool::new(false);
/// A thread of the program has an alternate stack that genba's handler might not fit on.
static SMALL_ALTERNATE_STACK: AtomicBool = AtomicBool::new(false);
/// The thread that replaces the process; 0: none.
static LEAVING: AtomicU32 = AtomicU32::new(0);
/// Installs the three handlers and remembers what was there. A handler that was there stays: who installed it did not come through
/// `program_sigaction`, and may not do so later.
pub fn install() {
    PROCESS.store(own_pid(), SeqCst);
    changing(|changing| {
        for (view, signal) in VIEWS.iter().zip(OURS) {
            let now = in_kernel(signal);
            view.change(changing, &now);
            if now.sa_sigaction == libc::SIG_DFL || !displaces(signal, &now) {
                let ours = our_action(signal, &now);
                // SAFETY: our own handler.
                unsafe { real_sigaction(signal, &raw const ours, core::ptr::null_mut()) };
            }
        }
    });
    mask::sample_is_ours(is_ours(SAMPLE, &in_kernel(SAMPLE)));
    if alternate::is_needed() {
        on_stack::install();
    }
    INSTALLED.store(true, SeqCst);
}

/// Takes the three handlers out again: the kernel has what the program wants. The caller knows that no thread is in one of them, and that
/// nobody is asked any more.
pub fn withdraw() {
    if PROCESS.load(SeqCst) != own_pid() || !INSTALLED.swap(false, SeqCst) {
        return;
    }
    mask::sample_is_ours(false);
    changing(|_| {
        for (view, signal) in VIEWS.iter().zip(OURS) {
            if !has_view(signal, &in_kernel(signal)) {
                continue;
            }
            let program_s = view.read();
            // SAFETY: the program's own action, or the default one; ignoring first makes the kernel forget genba's pending ones.
            unsafe {
                if signal == SAMPLE {
                    let mut ignore: libc::sigaction = core::mem::zeroed();
                    ignore.sa_sigaction = libc::SIG_IGN;
                    real_sigaction(signal, &raw const ignore, core::ptr::null_mut());
                }
                real_sigaction(signal, &raw const program_s, core::ptr::null_mut());
            }
        }
    });
}

#[must_use]
pub fn are_installed() -> bool {
    INSTALLED.load(SeqCst)
}

/// In a forked child: the views are its own copies.
pub fn forked() {
    view::forked();
    LEAVING.store(0, SeqCst);
    PROCESS.store(own_pid(), SeqCst);
}

fn is_signal(number: c_int) -> bool {
    (1..=on_stack::SIGNALS).contains(&number)
}

fn is_ours(signal: c_int, action: &libc::sigaction) -> bool {
    action.sa_sigaction == our_handler(signal)
}

/// Whether what the program believes about this signal is its view, and not what the kernel has.
fn has_view(signal: c_int, action: &libc::sigaction) -> bool {
    is_ours(signal, action) || action.sa_sigaction == entry()
}

fn our_handler(signal: c_int) -> usize {
    if signal == SAMPLE { genba_signal::genba_on_sample as *const () as usize } else { entry() }
}

/// What genba gives the kernel when the program wants `wanted`.
fn our_action(signal: c_int, wanted: &libc::sigaction) -> libc::sigaction {
    if signal != SAMPLE {
        return faults::in_front_of(wanted);
    }
    // SAFETY: plain numbers.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = our_handler(signal);
    action.sa_mask = mask::of_handler();
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // Go calls for it: its stacks are small and have no guard page.
    if !SMALL_ALTERNATE_STACK.load(SeqCst) {
        action.sa_flags |= libc::SA_ONSTACK;
    }
    action
}

/// Whether the program's action must stand in the kernel instead of genba's: a handler for SIGURG; for faults SIG_IGN, which an
/// `exec` hands on. SIGURG is ignored by default, so there SIG_IGN changes nothing.
const fn displaces(signal: c_int, action: &libc::sigaction) -> bool {
    match action.sa_sigaction {
        libc::SIG_DFL => false,
        libc::SIG_IGN => signal != SAMPLE,
        _ => signal == SAMPLE,
    }
}

/// Which of genba's signals the kernel still sends to genba's handlers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandlersHeld {
    pub sample: bool,
    pub faults: bool,
}

#[must_use]
pub fn held() -> HandlersHeld {
    let ours = |signal: c_int| is_ours(signal, &in_kernel(signal));
    HandlersHeld {
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
    let is_known = if alternate::is_needed() { is_signal(signal) } else { OURS.contains(&signal) };
    is_known && INSTALLED.load(SeqCst)
}

/// What the program believes to be the action of any signal.
#[must_use]
pub fn seen_by_program(signal: c_int) -> libc::sigaction {
    let now = in_kernel(signal);
    match index_of(signal) {
        Some(index) if INSTALLED.load(SeqCst) && has_view(signal, &now) => VIEWS[index].read(),
        _ => on_stack::seen(signal, now),
    }
}

/// The program calls `sigaction` for `signal`: `None` when genba has no part in it. `paused` runs a change of handlers
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
    let Some(index) = index_of(signal) else {
        let is_concerned = alternate::is_needed() && is_signal(signal) && INSTALLED.load(SeqCst);
        // SAFETY: as the caller promises.
        return is_concerned.then(|| unsafe { on_stack::program_sigaction(signal, new, old) });
    };
    // After vfork the handlers are the child's own and the views are its parent's.
    if !INSTALLED.load(SeqCst) || (!new.is_null() && PROCESS.load(SeqCst) != own_pid()) {
        return None;
    }
    let mut before = seen_by_program(signal);
    let mut result = 0;
    // SAFETY: `new` and `old` are null or valid, as the caller promises.
    unsafe {
        if let Some(&new) = new.as_ref() {
            // Seen by a raw system call and put back: it means the view.
            let new = if has_view(signal, &new) { VIEWS[index].read() } else { new };
            let mut change = || {
                if signal == SAMPLE && displaces(signal, &new) {
                    // First: no thread blocks the signal in words only from here on that did not before.
                    give_sample_up();
                }
                changing(|changing| {
                    let now = in_kernel(signal);
                    before = if has_view(signal, &now) { VIEWS[index].read() } else { now };
                    result = if signal == SAMPLE {
                        set_sample(changing, index, &new)
                    } else if displaces(signal, &new) {
                        real_sigaction(signal, &raw const new, core::ptr::null_mut())
                    } else {
                        set_behind(changing, index, &new)
                    };
                });
                if signal == SAMPLE {
                    mask::sample_is_ours(held().sample);
                }
            };
            // Where genba's handler stays in the kernel a guarded read may go on.
            if signal == SAMPLE || displaces(signal, &new) {
                paused(&mut change);
            } else {
                change();
            }
        }
        if result == 0
            && let Some(old) = old.as_mut()
        {
            *old = before;
        }
    }
    Some(result)
}

/// # Safety
/// As `sigaction`; no question is open.
unsafe fn set_sample(changing: &view::Changing, index: usize, new: &libc::sigaction) -> c_int {
    // SAFETY: actions on this stack.
    unsafe {
        if !displaces(SAMPLE, new) {
            let result = real_sigaction(SAMPLE, core::ptr::from_ref(new), core::ptr::null_mut());
            if result == 0 {
                // Taken out again it has the form in which the kernel would tell it.
                let (ours, mut told) = (our_action(SAMPLE, new), *new);
                real_sigaction(SAMPLE, &raw const ours, &raw mut told);
                VIEWS[index].change(changing, &told);
            }
            return result;
        }
        // Ignoring a signal makes the kernel forget the ones that are pending in all threads: genba's, which the program must not get.
        let program_s = take_pending();
        let mut ignore: libc::sigaction = core::mem::zeroed();
        ignore.sa_sigaction = libc::SIG_IGN;
        real_sigaction(SAMPLE, &raw const ignore, core::ptr::null_mut());
        let result = if mask::was_ever_wished() || alternate::is_needed() && new.sa_flags & libc::SA_ONSTACK != 0 {
            set_behind(changing, index, new)
        } else {
            real_sigaction(SAMPLE, core::ptr::from_ref(new), core::ptr::null_mut())
        };
        program_s.iter().flatten().for_each(hand_back);
        result
    }
}

/// Genba's handler stays, or is put, in front of what the program wants. A fault of another thread in the midst of this call meets the
/// old action or the new one.
///
/// # Safety
/// As `sigaction`.
unsafe fn set_behind(changing: &view::Changing, index: usize, new: &libc::sigaction) -> c_int {
    let (view, signal) = (&VIEWS[index], OURS[index]);
    let ours = faults::in_front_of(new);
    // Before the kernel's: from there on genba's handler may be asked for it.
    let before = view.read();
    view.change(changing, new);
    // SAFETY: genba's handler.
    let result = unsafe { real_sigaction(signal, &raw const ours, core::ptr::null_mut()) };
    // Where a filter forbids the call, all stays as it was; else in the form in which the kernel would tell it.
    let told = if result == 0 { faults::behind(&in_kernel(signal), new) } else { before };
    view.change(changing, &told);
    result
}

/// The program begins to read SIGURG from a descriptor.
pub fn taken_by_descriptor(paused: impl FnOnce(&mut dyn FnMut())) {
    if !INSTALLED.load(SeqCst) || PROCESS.load(SeqCst) != own_pid() || TAKEN_BY_DESCRIPTOR.swap(true, SeqCst) {
        return;
    }
    paused(&mut || {
        give_sample_up();
        reinstall_sample(true);
    });
}

/// The masks that the program sets are the kernel's from here on.
fn give_sample_up() {
    mask::sample_is_ours(false);
    mask::settle();
}

/// Two frames of the kernel with all registers (3.4 kB each with AVX-512) and the handlers' own.
pub const ALTERNATE_BYTES_MIN: usize = 16 << 10;

/// A thread of the program is about to get an alternate stack of this size, in a build whose threads' own stacks bear signals.
pub fn alternate_stack(bytes: usize) {
    if bytes >= ALTERNATE_BYTES_MIN
        || !INSTALLED.load(SeqCst)
        || PROCESS.load(SeqCst) != own_pid()
        || SMALL_ALTERNATE_STACK.swap(true, SeqCst)
    {
        return;
    }
    reinstall_sample(false);
}

/// Sets genba's action for SIGURG anew where it stands; `forget` what is pending.
fn reinstall_sample(forget: bool) {
    changing(|_| {
        let now = in_kernel(SAMPLE);
        if !is_ours(SAMPLE, &now) {
            return;
        }
        let ours = our_action(SAMPLE, &now);
        // SAFETY: our own handler.
        unsafe {
            if forget {
                let mut ignore: libc::sigaction = core::mem::zeroed();
                ignore.sa_sigaction = libc::SIG_IGN;
                real_sigaction(SAMPLE, &raw const ignore, core::ptr::null_mut());
            }
            real_sigaction(SAMPLE, &raw const ours, core::ptr::null_mut());
        }
    });
}

/// Blocks the sample signal on this thread, in the kernel. True: it was blocked there before.
#[must_use]
pub fn block_sample() -> bool {
    mask::in_kernel(libc::SIG_BLOCK, mask::bit(SAMPLE)) & mask::bit(SAMPLE) != 0
}

/// Undoes `block_sample`; errno stays.
pub fn unblock_sample() {
    mask::in_kernel(libc::SIG_UNBLOCK, mask::bit(SAMPLE));
}

/// This thread is about to be replaced by another program, or was not: until then it gets no sample signal.
pub fn leaves(leaves: bool) {
    // A vfork child gets none, and would leave its number in its parent's memory.
    if PROCESS.load(SeqCst) == own_pid() {
        LEAVING.store(if leaves { own_tid() } else { 0 }, SeqCst);
    }
}

/// Takes back a sample signal that waits because this thread blocks it: what is blocked and pending stays so over `exec`.
pub fn drop_pending() {
    if !INSTALLED.load(SeqCst) {
        return;
    }
    take_pending().iter().flatten().for_each(hand_back);
}

/// Takes the signals that wait for this thread and for the process, one each at most: genba's are dropped, the program's must go back. `errno`
/// stays.
fn take_pending() -> [Option<libc::siginfo_t>; 2] {
    let kept_errno = errno::get();
    let taken = [(); 2].map(|()| {
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let mask = 1_u64 << (SAMPLE - 1);
        // SAFETY: the kernel writes one siginfo on this stack and reads the mask of eight bytes and the time.
        unsafe {
            let mut came: libc::siginfo_t = core::mem::zeroed();
            let waited =
                libc::syscall(libc::SYS_rt_sigtimedwait, &raw const mask, &raw mut came, &raw const at_once, 8);
            (waited == i64::from(SAMPLE) && !is_sample(&came)).then_some(came)
        }
    });
    errno::set(kept_errno);
    taken
}

/// One of the program's that this thread took goes back to where it was: to the thread, or to the process. `errno` stays.
pub fn hand_back(came: &libc::siginfo_t) {
    const SI_TKILL: i32 = -6;
    let kept_errno = errno::get();
    let record = core::ptr::from_ref(came);
    // SAFETY: the kernel reads the record. For a process it takes any thread's number, and lets a thread send a record of `kill` to its own
    // number only.
    unsafe {
        if came.si_code == SI_TKILL {
            libc::syscall(libc::SYS_rt_tgsigqueueinfo, own_pid(), own_tid(), SAMPLE, record);
        } else {
            libc::syscall(libc::SYS_rt_sigqueueinfo, own_tid(), SAMPLE, record);
        }
    }
    errno::set(kept_errno);
}

/// A signal that genba sent: no other has this code.
#[must_use]
pub const fn is_sample(info: &libc::siginfo_t) -> bool {
    info.si_signo == SAMPLE && info.si_code == SAMPLE_CODE
}

/// Sends the sample signal with a ticket to a thread of this process. Err: the `errno`.
pub fn send(pid: u32, tid: u32, value: u64) -> Result<(), i32> {
    if tid == LEAVING.load(SeqCst) {
        return Err(libc::EAGAIN);
    }
    // siginfo as the kernel takes it: signo, errno, code, (pad,) pid, uid, value.
    let mut info = [0_u64; 16];
    info[0] = SAMPLE as u64;
    info[1] = u64::from(SAMPLE_CODE as u32);
    info[2] = u64::from(pid);
    info[3] = value;
    // SAFETY: the kernel reads the 128 bytes.
    let sent = unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, SAMPLE, info.as_ptr()) };
    if sent == 0 { Ok(()) } else { Err(errno::get()) }
}

/// There is no such thread any more. One that ends gives its stack, and with it Python's number of the thread, away some microseconds before.
#[must_use]
pub fn is_gone(pid: u32, tid: u32) -> bool {
    // SAFETY: signal 0 only asks whether the thread is there.
    unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, 0) != 0 && errno::get() == libc::ESRCH }
}
