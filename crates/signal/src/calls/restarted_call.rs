//! Ends a system call that a signal of the program's would have ended, had genba's own not come with it.
//! Owns: the answer to "was such a call restarted?" and EINTR in the program's registers. Never: ends a call without a signal of the program's
//! that waits; ends one that the kernel always restarts.
//!
//! A thread waits in a call, a signal of the program's makes it ready to run, and it has no CPU yet. In this time a tick may ask it. The kernel
//! then delivers genba's signal first: a signal for one thread goes before those for the process. genba's handler is one after which calls go
//! on (SA_RESTART), so the kernel sets the call up again, and the program's signal no longer meets it: its handler runs, and the call waits on,
//! for ever where nothing else ends it. The thread is then just before its system call, with the return address of that call in rcx.
//!
//! The kernel does not tell whether a signal waits for this thread or for the process, where another thread may take it first: then the call of
//! this thread would end for nothing. So the signal is taken here and sent to this thread, which gets it next. One that another thread took
//! ends no call here.
//! Source: Linux 6.12, arch/x86/kernel/signal.c (`handle_signal`), kernel/signal.c (`dequeue_signal`).

use crate::foreign::{MASK, RECORD_WORDS, To, bit, call, own_pid, own_tid, send_again};
use crate::handler::Arrival;

/// Words of the ucontext (Linux x86-64): the registers.
const RSI: usize = 5 + 9;
const RAX: usize = 5 + 13;
const RCX: usize = 5 + 14;
const RIP: usize = 5 + 16;
/// Bytes of the instruction `syscall`.
const SYSCALL_BYTES: u64 = 2;
const SIGURG: u64 = 23;
const SIGNALS: u64 = 64;
const EINTR: i64 = 4;
const FUTEX: u64 = 202;
/// Calls that a signal ends with EINTR if its handler was installed without SA_RESTART (signal(7)); of all others none is touched.
const ENDED: &[u64] = &[
    0,   // read
    1,   // write
    2,   // open
    16,  // ioctl
    19,  // readv
    20,  // writev
    40,  // sendfile
    42,  // connect
    43,  // accept
    44,  // sendto
    45,  // recvfrom
    46,  // sendmsg
    47,  // recvmsg
    61,  // wait4
    72,  // fcntl
    73,  // flock
    242, // mq_timedsend
    243, // mq_timedreceive
    247, // waitid
    257, // openat
    275, // splice
    288, // accept4
    299, // recvmmsg
    307, // sendmmsg
    437, // openat2
];

/// Lets the call return EINTR, if it was restarted and a signal waits that would have ended it.
///
/// # Safety
/// `context` is the ucontext of the signal being handled.
#[inline(always)]
pub unsafe fn end_restarted_call(context: *mut u64, arrival: &Arrival) {
    // SAFETY: the words lie in the ucontext.
    unsafe {
        let is_restarted = *context.add(RCX) == arrival.registers.rip.wrapping_add(SYSCALL_BYTES);
        if is_restarted && ends(*context.add(RAX), *context.add(RSI)) && an_ender_waits(*context.add(MASK)) {
            *context.add(RIP) += SYSCALL_BYTES;
            *context.add(RAX) = -EINTR as u64;
        }
    }
}

/// `operation`: the second argument.
#[inline(always)]
fn ends(number: u64, operation: u64) -> bool {
    /// FUTEX_WAIT and FUTEX_WAIT_BITSET. Locks with priority inheritance are always restarted.
    const WAITS: [u64; 2] = [0, 9];
    const FUTEX_CMD: u64 = 0x7f;
    if number == FUTEX {
        return operation & FUTEX_CMD == WAITS[0] || operation & FUTEX_CMD == WAITS[1];
    }
    let mut at = 0;
    while at < ENDED.len() {
        if ENDED[at] == number {
            return true;
        }
        at += 1;
    }
    false
}

/// Apart: rare. Whether a signal waits that the program does not block, with a handler after which calls do not go on.
#[inline(never)]
fn an_ender_waits(blocked: u64) -> bool {
    const SYS_RT_SIGACTION: u64 = 13;
    const SYS_RT_SIGPENDING: u64 = 127;
    const SA_RESTART: u64 = 0x1000_0000;
    /// SIG_DFL and SIG_IGN.
    const NO_HANDLER_MAX: u64 = 1;
    let mut waiting = 0_u64;
    // SAFETY: the kernel writes one word on this stack.
    if unsafe { call(SYS_RT_SIGPENDING, [&raw mut waiting as u64, 8, 0, 0, 0, 0]) } != 0 {
        return false;
    }
    waiting &= !(blocked | bit(SIGURG));
    let mut signal = 1;
    while waiting != 0 && signal <= SIGNALS {
        if waiting & bit(signal) != 0 {
            // Handler, flags, restorer, mask.
            let mut action = [0_u64; 4];
            // SAFETY: asks; the kernel writes these words on this stack.
            let failed = unsafe { call(SYS_RT_SIGACTION, [signal, 0, action.as_mut_ptr() as u64, 8, 0, 0]) };
            if failed == 0 && action[0] > NO_HANDLER_MAX && action[1] & SA_RESTART == 0 && is_for_this_thread(signal) {
                return true;
            }
        }
        signal += 1;
    }
    false
}

/// Whether this thread gets the signal that waits, from here on.
fn is_for_this_thread(signal: u64) -> bool {
    const SYS_RT_SIGTIMEDWAIT: u64 = 128;
    const SYS_TGKILL: u64 = 234;
    const EAGAIN: u64 = -11_i64 as u64;
    /// Real-time signals have an order, which sending one again would change.
    const STANDARD: u64 = 31;
    if signal > STANDARD {
        return true;
    }
    let (set, at_once, mut record) = (bit(signal), [0_u64; 2], [0_u64; RECORD_WORDS]);
    let (set, at_once, info) = (&raw const set as u64, &raw const at_once as u64, &raw mut record as u64);
    // SAFETY: the kernel reads a mask and a time, and writes a record on this stack; it gets the same record back. All signals that a program
    // may wait for are blocked in the handler. Signal 0 is none: it asks whether this thread may send one.
    unsafe {
        if call(SYS_TGKILL, [own_pid(), own_tid(), 0, 0, 0, 0]) != 0 {
            // What was taken could not be given back.
            return true;
        }
        let taken = call(SYS_RT_SIGTIMEDWAIT, [set, info, at_once, 8, 0, 0]);
        if taken == signal {
            send_again(signal, record.as_ptr(), own_tid(), To::Thread);
        }
        taken != EAGAIN
    }
}
