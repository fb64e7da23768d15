//! The masks of threads: what the kernel has, and what the program believes about SIGURG in them.
//! Owns: the word of each thread that says "the program blocks SIGURG here, the kernel does not". Never: keeps a signal of the program's from
//! waiting where the program blocks it (`genba_signal::foreign`), touches `errno`, waits. All of it may run in a signal handler.
//!
//! The word is the number of the thread, so that a vfork child, which runs in the same memory with masks of its own, does not take its
//! parent's for its own. It lies in the static part of the thread's storage: no access to it allocates.

use super::actions::{PROCESS, SAMPLE};
use crate::system::errno;
use crate::system::proc::{own_pid, own_tid};
use core::arch::asm;
use genba_signal::handler::SHARED;
use genba_signal::kept::HANDLER_MASK;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

core::arch::global_asm!(
    ".pushsection .tbss.genba_wish,\"awT\",@nobits",
    ".hidden genba_wish",
    ".globl genba_wish",
    ".type genba_wish,@object",
    ".size genba_wish, 4",
    ".p2align 2",
    "genba_wish:",
    ".zero 4",
    ".popsection",
);

const BIT: u64 = 1 << (SAMPLE - 1);
/// SIGURG goes to genba's handler, so that far as is known without asking the kernel: masks of the program's do not hold it back.
static OURS: AtomicBool = AtomicBool::new(false);
/// A thread's word was set: threads may block SIGURG in the program's belief only.
static EVER_WISHED: AtomicBool = AtomicBool::new(false);

/// libc's `pthread_sigmask` or `sigprocmask`.
pub type Change = unsafe extern "C" fn(c_int, *const libc::sigset_t, *mut libc::sigset_t) -> c_int;

/// What waits while genba's handler runs.
#[must_use]
pub fn of_handler() -> libc::sigset_t {
    // SAFETY: libc's mask is 128 bytes, aligned to eight; the kernel's is the first eight of them. libc's own functions would leave out
    // the signals that it keeps for itself.
    unsafe {
        let mut mask: libc::sigset_t = core::mem::zeroed();
        (&raw mut mask).cast::<u64>().write(HANDLER_MASK);
        mask
    }
}

/// The two signals that glibc keeps for itself. It sends the second one to every thread for `setuid` and its kind, and waits until each has answered.
const OF_LIBC: [c_int; 2] = [32, 33];

/// For a thread of genba's: only a trapped system call and libc's own signals get through. Whatever else is sent to the process is for the program's threads.
#[must_use]
pub const fn of_own_thread() -> u64 {
    !(bit(libc::SIGSYS) | bit(OF_LIBC[0]) | bit(OF_LIBC[1]))
}

/// For a thread of the program's that waits for genba's: what runs a handler of the program's waits, but for what instructions make. genba's signal
/// and libc's for `setuid` get through.
#[must_use]
pub const fn of_turn() -> u64 {
    let mut mask = !(BIT | bit(OF_LIBC[1]));
    let (made, mut at) = ([libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS], 0);
    while at < made.len() {
        mask &= !bit(made[at]);
        at += 1;
    }
    mask
}

/// The mask as the kernel takes it: bit n - 1 for signal n.
#[must_use]
pub const fn word(mask: &libc::sigset_t) -> u64 {
    // SAFETY: libc's mask is 128 bytes, aligned to eight; the kernel's is the first eight of them.
    unsafe { core::ptr::from_ref(mask).cast::<u64>().read() }
}

#[must_use]
pub const fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// Changes this thread's mask in the kernel, behind the program's view. Gives the mask before; where a filter forbids the call, none.
pub fn in_kernel(how: c_int, mask: u64) -> u64 {
    let (errno, mut before) = (errno::get(), 0_u64);
    // SAFETY: the kernel reads and writes eight bytes on this stack.
    unsafe { libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const mask, &raw mut before, 8) };
    errno::set(errno);
    before
}

/// Genba has SIGURG, or gives it up. While it has it, threads that block it in the program's view get genba's all the same.
pub fn sample_is_ours(ours: bool) {
    SHARED.wish.store(wish_offset(), SeqCst);
    OURS.store(ours, SeqCst);
}

/// Whether some thread may block SIGURG in the program's belief only.
pub fn was_ever_wished() -> bool {
    EVER_WISHED.load(SeqCst)
}

/// Whether the program believes that this thread blocks SIGURG, and the kernel need not know.
#[must_use]
pub fn is_wished() -> bool {
    let wish = wish();
    wish != 0 && wish == own_tid()
}

/// The program changes the mask of this thread, or asks for it, through libc's `real`.
///
/// # Safety
/// As `pthread_sigmask`: both masks are null or valid.
pub unsafe fn program_changes(how: c_int, set: *const libc::sigset_t, old: *mut libc::sigset_t, real: Change) -> c_int {
    // SAFETY: the caller's promises; `before` and `without` are on this stack. `set` is read before `old` is written: they may be one.
    unsafe {
        let names_it = set.as_ref().is_some_and(|set| word(set) & BIT != 0);
        let adds_it = names_it && how != libc::SIG_UNBLOCK && OURS.load(SeqCst);
        let mut wish = wish();
        if wish == 0 && !adds_it {
            return real(how, set, old);
        }
        let tid = own_tid();
        if wish != 0 && wish != tid {
            if PROCESS.load(SeqCst) != own_pid() {
                // A vfork child: its masks are the kernel's alone.
                return real(how, set, old);
            }
            // A vfork child's own, left behind.
            wish = 0;
            set_wish(0);
        }
        if !OURS.load(SeqCst) {
            settle();
            return real(how, set, old);
        }
        let mut before: libc::sigset_t = core::mem::zeroed();
        let told = if old.is_null() { &raw mut before } else { old };
        let result = match how {
            _ if set.is_null() => real(how, set, told),
            libc::SIG_BLOCK | libc::SIG_SETMASK if names_it => {
                let mut without = *set;
                libc::sigdelset(&raw mut without, SAMPLE);
                // First the word: a signal of the program's that comes from here on waits (`genba_signal::foreign`).
                EVER_WISHED.store(true, SeqCst);
                set_wish(tid);
                let result = real(how, &raw const without, told);
                if result != 0 {
                    set_wish(wish);
                } else if word(&*told) & BIT != 0 {
                    // A handler's own mask, or one that was set by a raw system call: the kernel goes on to keep it, and takes it back.
                    if how == libc::SIG_SETMASK {
                        in_kernel(libc::SIG_BLOCK, BIT);
                    }
                    set_wish(wish);
                } else if !OURS.load(SeqCst) {
                    settle();
                }
                result
            }
            libc::SIG_SETMASK | libc::SIG_UNBLOCK if names_it || how == libc::SIG_SETMASK => {
                set_wish(0);
                let result = real(how, set, told);
                if result != 0 {
                    set_wish(wish);
                }
                result
            }
            _ => real(how, set, told),
        };
        if result == 0 && wish == tid {
            libc::sigaddset(told, SAMPLE);
        }
        result
    }
}

/// The kernel's mask of this thread becomes what the program believes.
pub fn settle() {
    if is_wished() {
        in_kernel(libc::SIG_BLOCK, BIT);
        set_wish(0);
    }
}

/// The other way: what the kernel blocks here the program set, and genba takes it over. Called where a thread begins.
pub fn take_over() {
    if OURS.load(SeqCst) && in_kernel(libc::SIG_BLOCK, 0) & BIT != 0 {
        EVER_WISHED.store(true, SeqCst);
        set_wish(own_tid());
        in_kernel(libc::SIG_UNBLOCK, BIT);
        if !OURS.load(SeqCst) {
            settle();
        }
    }
}

/// For a moment the kernel's mask is what the program believes, for what inherits it. True: to be undone by `unlend`.
#[must_use]
pub fn lend() -> bool {
    is_wished() && in_kernel(libc::SIG_BLOCK, BIT) & BIT == 0
}

pub fn unlend(lent: bool) {
    if lent {
        in_kernel(libc::SIG_UNBLOCK, BIT);
    }
}

/// Before a fork: the word is this thread's own, or none.
pub fn forks() {
    if wish() != 0 && !is_wished() {
        set_wish(0);
    }
}

/// In the forked child: the thread has another number.
pub fn forked() {
    if wish() != 0 {
        set_wish(own_tid());
    }
}

/// On a thread of genba's own that opens the signal for its own samples: one of the program's that comes there goes back to the process, and
/// the kernel blocks the signal again (`genba_signal::foreign`).
pub fn give_back_here(gives: bool) {
    set_wish(if gives { own_tid() } else { 0 });
}

/// Where the word lies, from the thread pointer.
fn wish_offset() -> u64 {
    let offset: u64;
    // SAFETY: reads a constant that the dynamic linker has written.
    unsafe { asm!("mov {}, qword ptr [rip + genba_wish@GOTTPOFF]", out(reg) offset, options(nostack, pure, readonly)) };
    offset
}

fn wish() -> u32 {
    let wish: u32;
    // SAFETY: this thread's word.
    unsafe { asm!("mov {:e}, dword ptr fs:[{}]", out(reg) wish, in(reg) wish_offset(), options(nostack, readonly)) };
    wish
}

fn set_wish(wish: u32) {
    // SAFETY: this thread's word, which nothing else holds a reference to.
    unsafe { asm!("mov dword ptr fs:[{}], {:e}", in(reg) wish_offset(), in(reg) wish, options(nostack)) };
}
