//! Genba's handler for SIGSEGV and SIGBUS comes before the program's own. Where a thread may block SIGURG in the program's belief only
//! (mask.rs), it comes before that one, too.
//! In builds that need alternate stacks it comes before each handler that asks for one (on_stack.rs).
//! Owns: which fault is whose, and that no handler of the program's runs on genba's thread. Never: leaves a frame of its own below the
//! program's handler, touches `errno` on the way to it.
//!
//! The kernel has genba's handler with the program's own flags and mask, so what the kernel does on the way to a handler (mask, stack,
//! restarted calls) it does as the program asked. A fault of genba's guarded reads is stepped over. With every other one
//! this code *jumps* to the program's handler, with the registers as the kernel set them: it returns to the kernel, or leaves by
//! `siglongjmp`, as if it had been called by the kernel. Where the kernel has put the frame on genba's alternate stack, it moves first
//! (alternate/frame.rs).

use super::actions::{PROCESS, SAMPLE, entry, index_of, real_sigaction};
use super::view::{VIEWS, changing};
use super::{mask, on_stack};
use crate::system::alternate;
use crate::system::errno;
use crate::system::proc::{own_pid, own_tid};
use crate::system::sampler_stack::is_sampler;
use genba_signal::foreign::keep_for_later;
use genba_signal::kept::keep_for_the_end;
use genba_signal::memory::resume_after_fault;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering::SeqCst;

core::arch::global_asm!(
    ".pushsection .text.genba_on_fault,\"ax\",@progbits",
    ".hidden genba_on_fault",
    ".globl genba_on_fault",
    ".type genba_on_fault,@function",
    "genba_on_fault:",
    ".cfi_startproc",
    "push rdi",
    ".cfi_adjust_cfa_offset 8",
    "push rsi",
    ".cfi_adjust_cfa_offset 8",
    "push rdx",
    ".cfi_adjust_cfa_offset 8",
    "call {whose}",
    "mov r11, rax",
    "mov r10, rdx",
    "pop rdx",
    ".cfi_adjust_cfa_offset -8",
    "pop rsi",
    ".cfi_adjust_cfa_offset -8",
    "pop rdi",
    ".cfi_adjust_cfa_offset -8",
    "add rdx, r10",
    "add rsi, r10",
    "add rsp, r10",
    // As the kernel leaves it.
    "xor eax, eax",
    "test r11, r11",
    "jz 2f",
    "jmp r11",
    "2:",
    "ret",
    ".cfi_endproc",
    ".size genba_on_fault, . - genba_on_fault",
    ".popsection",
    whose = sym way,
);

/// Genba's handler in front of the program's action.
#[must_use]
pub fn in_front_of(action: &libc::sigaction) -> libc::sigaction {
    let mut front = *action;
    front.sa_sigaction = entry();
    // SA_RESETHAND would take genba's handler away with the first guarded read; `programs_handler` does what it means.
    front.sa_flags = (action.sa_flags | libc::SA_SIGINFO) & !libc::SA_RESETHAND;
    front
}

/// The program's action as the kernel would tell it, when it tells `front` of genba's.
#[must_use]
pub fn behind(front: &libc::sigaction, action: &libc::sigaction) -> libc::sigaction {
    const OWN_FLAGS: c_int = libc::SA_SIGINFO | libc::SA_RESETHAND;
    let mut told = *front;
    told.sa_sigaction = action.sa_sigaction;
    told.sa_flags = front.sa_flags & !OWN_FLAGS | action.sa_flags & OWN_FLAGS;
    told
}

/// In registers: rax, rdx.
#[repr(C)]
struct Way {
    handler: usize,
    distance: usize,
}

/// The handler that the program has for this signal (0: none), and how far the frame is moved for it.
///
/// # Safety
/// Only the entry above calls this, with what the kernel gave it.
unsafe extern "C" fn way(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) -> Way {
    // SAFETY: the kernel gives a siginfo and a ucontext; the entry goes on where the frame is.
    unsafe {
        let handler = if index_of(signal).is_some() {
            programs_handler(signal, info, context)
        } else {
            on_stack::handler(signal)
        };
        let distance = if handler == 0 || on_stack::stays(handler) {
            0
        } else {
            alternate::distance_to_programs_stack(context.cast())
        };
        Way { handler, distance }
    }
}

/// For one of genba's signals. 0: nothing is left to do in a handler.
///
/// # Safety
/// As `way`.
unsafe fn programs_handler(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) -> usize {
    // SAFETY: the kernel gives a siginfo and a ucontext, which is read and written in place.
    unsafe {
        let pc = &mut (&mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs)[libc::REG_RIP as usize];
        // One that somebody sent is the program's, wherever it meets this thread. So is one about memory that nobody has used yet: no
        // instruction made it, and none would make it again.
        let is_early = signal == libc::SIGBUS && (*info).si_code == libc::BUS_MCEERR_AO;
        let is_sent = (*info).si_code <= 0 || signal == SAMPLE || is_early;
        if let Some(resume) = resume_after_fault(*pc as u64).filter(|_| !is_sent) {
            *pc = resume as i64;
            return 0;
        }
        if is_sent && signal != SAMPLE && is_sampler() && pass_on(signal, info) {
            return 0;
        }
        if is_sent && signal != SAMPLE && keep_for_the_end(signal as u64, info.cast(), context.cast()) {
            return 0;
        }
        if signal == SAMPLE && keep_for_later(info.cast(), context.cast()) {
            return 0;
        }
        let Some(view) = index_of(signal).map(|index| &VIEWS[index]) else { return 0 };
        let mut action = view.read();
        if action.sa_flags & libc::SA_RESETHAND != 0 && action.sa_sigaction != libc::SIG_DFL {
            action = take_once(signal);
        }
        match action.sa_sigaction {
            libc::SIG_DFL if signal == SAMPLE => {}
            libc::SIG_DFL => take_default_action(signal, is_sent),
            // Another thread had it ignored just now.
            libc::SIG_IGN => {}
            handler => return handler,
        }
    }
    0
}

/// The kernel gave genba's thread a signal that was sent to the process: that is for a thread of the program's. It is sent again, just as it
/// came, and this thread blocks it until one has taken it. Where all of them block it, it waits in the main thread. False: it cannot be sent.
fn pass_on(signal: c_int, info: *const libc::siginfo_t) -> bool {
    /// For a fifth of a second or more: a thread that lets it through may have to wait for a CPU.
    const LOOKS_MAX: u32 = 2_000;
    static BETWEEN_LOOKS: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 50_000 };
    static AT_ONCE: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let kept_errno = errno::get();
    let (pid, bit) = (own_pid(), mask::bit(signal));
    // As in `hand_back`: the kernel takes any thread's number for its process, and lets a thread send a record of `kill` to its own only.
    // SAFETY: the kernel reads and writes records on this stack, and the signal's own.
    let is_passed = unsafe {
        // A handler may leave its own signal open. The mask before comes back with the return from this handler.
        mask::in_kernel(libc::SIG_BLOCK, bit);
        let is_pending = || {
            let mut pending = 0_u64;
            // Where a filter forbids the question, it may be: then it is taken back below, if it is there.
            libc::syscall(libc::SYS_rt_sigpending, &raw mut pending, 8) != 0 || pending & bit != 0
        };
        let is_sent = libc::syscall(libc::SYS_rt_sigqueueinfo, own_tid(), signal, info) == 0;
        if is_sent {
            for _ in 0..LOOKS_MAX {
                if !is_pending() {
                    break;
                }
                libc::syscall(libc::SYS_nanosleep, &raw const BETWEEN_LOOKS, 0);
            }
        }
        let mut record: libc::siginfo_t = info.read();
        let is_left = !is_sent
            || is_pending()
                && libc::syscall(libc::SYS_rt_sigtimedwait, &raw const bit, &raw mut record, &raw const AT_ONCE, 8)
                    == i64::from(signal);
        !is_left
            || libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, pid, signal, &raw const record) == 0
            || libc::syscall(libc::SYS_tgkill, pid, pid, signal) == 0
    };
    errno::set(kept_errno);
    is_passed
}

/// What SA_RESETHAND means: the handler is used once.
fn take_once(signal: c_int) -> libc::sigaction {
    // SAFETY: a sigaction is plain numbers; zero is SIG_DFL with no flags.
    let mut default: libc::sigaction = unsafe { core::mem::zeroed() };
    let Some(view) = index_of(signal).map(|index| &VIEWS[index]) else { return default };
    if PROCESS.load(SeqCst) != own_pid() {
        // A vfork child: the view is its parent's, the kernel's table its own.
        // SAFETY: the default action.
        unsafe { real_sigaction(signal, &raw const default, core::ptr::null_mut()) };
        return view.read();
    }
    changing(|changing| {
        let taken = view.read();
        if taken.sa_flags & libc::SA_RESETHAND != 0 {
            default = taken;
            default.sa_sigaction = libc::SIG_DFL;
            view.change(changing, &default);
        }
        taken
    })
}

/// The program has no handler. A real fault happens again at the same instruction, a signal that was sent is sent again.
///
/// # Safety
/// The handler that calls this returns at once.
unsafe fn take_default_action(signal: c_int, is_sent: bool) {
    // SAFETY: the default action; the process ends with it.
    unsafe {
        let default: libc::sigaction = core::mem::zeroed();
        real_sigaction(signal, &raw const default, core::ptr::null_mut());
        if is_sent {
            libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::syscall(libc::SYS_gettid), signal);
        }
    }
}
