//! Whether a thread stands at a place where it may make another thread: where it holds none of the locks that `pthread_create` takes
//! (malloc's, those of libc's list of stacks), and nothing is half done that would not go on afterwards.
//! Owns: the rules, and the registers with which the thread goes on. Never: looks by itself.
//! Sources: syscalls(2), signal(7) (which calls are restarted), Linux arch/x86/kernel/signal.c (`arch_do_signal_or_restart`), glibc
//! nptl/ (`__futex_abstimed_wait_common` waits with FUTEX_WAIT_BITSET, the locks of malloc with FUTEX_WAIT).

use nix::libc::{self, user_regs_struct};

/// Why a thread cannot be used at this moment. Another one, or another moment, may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unusable {
    /// In a system call that may be malloc's, the linker's or libc's own.
    Call(u64),
    /// In code of libc, the linker or an allocator, or where no file is mapped.
    Code,
    /// A signal handler runs on its stack, and what it interrupted may hold a lock. Or one is about to, and has to end the wait.
    Handler,
    /// In a restartable sequence, which would lose its protection.
    Sequence,
    /// Too little stack is left, or it is one that the program made by itself.
    Stack,
    /// No thread has come out of the kernel: each is in an uninterruptible call.
    Uninterruptible,
    /// There was no time for it in this stop.
    Unseen,
}

/// What is known of the place where a thread stands, beside its registers.
pub trait Place {
    /// Whether a file that takes no locks of libc's is mapped there.
    fn is_harmless_code(&self, address: u64) -> bool;
    /// Whether this descriptor of the thread is a socket, a pipe, a terminal or the like: a read of it is not the linker's.
    fn is_stream(&self, descriptor: u64) -> bool;
    /// Whether a signal handler runs, or may run, on the thread's stack.
    fn has_handler(&self, registers: &user_regs_struct) -> bool;
    /// Whether a function of an allocator of its own runs, or has called what runs.
    fn is_in_allocator(&self, registers: &user_regs_struct) -> bool;
    /// Whether the thread is in a restartable sequence.
    fn is_in_sequence(&self, fs_base: u64) -> bool;
    /// Bytes that may be used below the stack pointer: 0 where it is not on the stack that the thread was made with.
    fn stack_bytes(&self, registers: &user_regs_struct) -> u64;
}

/// What the entry, `pthread_create` and a signal's frame with all vector registers need.
const STACK_BYTES_MIN: u64 = 24 << 10;
const FUTEX_COMMAND: u64 = 0x7f;
const FUTEX_WAIT_BITSET: u64 = 9;
const RESTART_SYSCALL: u64 = 219;
/// `syscall`.
const INSTRUCTION_BYTES: u64 = 2;

/// ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND: the call is made again. ERESTART_RESTARTBLOCK: it goes on with the time that is left.
const AGAIN: [i64; 3] = [-512, -513, NO_HANDLER];
pub const NO_HANDLER: i64 = -514;
pub const GOES_ON: i64 = -516;

/// Calls that wait for something outside of the process, or for time.
const WAITING: [i64; 22] = [
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_pause,
    libc::SYS_flock,
    RESTART_SYSCALL as i64,
];

/// The registers with which this thread goes on after the entry.
///
/// # Errors
/// Why it cannot be used now.
pub fn usable(registers: &user_regs_struct, place: &impl Place) -> Result<user_regs_struct, Unusable> {
    let call = registers.orig_rax.cast_signed();
    if call >= 0 {
        if !is_waiting(registers, place) {
            return Err(Unusable::Call(registers.orig_rax));
        }
    } else if !place.is_harmless_code(registers.rip) {
        return Err(Unusable::Code);
    } else if place.is_in_sequence(registers.fs_base) {
        return Err(Unusable::Sequence);
    }
    if place.stack_bytes(registers) < STACK_BYTES_MIN {
        return Err(Unusable::Stack);
    }
    if place.has_handler(registers) {
        return Err(Unusable::Handler);
    }
    if place.is_in_allocator(registers) {
        return Err(Unusable::Code);
    }
    Ok(going_on(registers))
}

/// Whether it came into the kernel by a system call.
pub const fn is_in_call(registers: &user_regs_struct) -> bool {
    registers.orig_rax.cast_signed() >= 0
}

/// Whether the call may have a signal mask of its own while it waits: a signal that the program lets through nowhere else has to end it.
pub fn has_mask(registers: &user_regs_struct) -> bool {
    match registers.orig_rax.cast_signed() {
        libc::SYS_pselect6 => registers.r9 != 0,
        libc::SYS_ppoll => registers.r10 != 0,
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => registers.r8 != 0,
        libc::SYS_rt_sigsuspend => true,
        _ => false,
    }
}

fn is_waiting(registers: &user_regs_struct, place: &impl Place) -> bool {
    let call = registers.orig_rax.cast_signed();
    match call {
        libc::SYS_futex => registers.rsi & FUTEX_COMMAND == FUTEX_WAIT_BITSET,
        libc::SYS_read | libc::SYS_readv | libc::SYS_write | libc::SYS_writev => place.is_stream(registers.rdi),
        _ => WAITING.contains(&call),
    }
}

/// As the kernel would go on: a call that was interrupted is made again, or returns what it has.
pub fn going_on(registers: &user_regs_struct) -> user_regs_struct {
    let mut next = *registers;
    let call = registers.orig_rax;
    next.orig_rax = u64::MAX;
    if call.cast_signed() < 0 {
        return next;
    }
    match registers.rax.cast_signed() {
        GOES_ON => {
            next.rax = RESTART_SYSCALL;
            next.rip -= INSTRUCTION_BYTES;
        }
        result if AGAIN.contains(&result) || is_cut_short(registers) => {
            next.rax = call;
            next.rip -= INSTRUCTION_BYTES;
        }
        _ => {}
    }
    next
}

/// Whether nothing but the stop may have ended the call: some calls end with EINTR whenever a debugger looks at their thread. Without a time
/// limit they may be made again.
pub fn is_cut_short(registers: &user_regs_struct) -> bool {
    registers.rax.cast_signed() == -i64::from(libc::EINTR) && waits_without_end(registers)
}

/// Of the calls that end so (signal(7), "Interruption of system calls by stop signals").
fn waits_without_end(registers: &user_regs_struct) -> bool {
    match registers.orig_rax.cast_signed() {
        // The fourth argument, an int.
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => (registers.r10 as u32).cast_signed() < 0,
        libc::SYS_epoll_pwait2 | libc::SYS_semtimedop => registers.r10 == 0,
        libc::SYS_rt_sigtimedwait => registers.rdx == 0,
        libc::SYS_io_getevents => registers.r8 == 0,
        libc::SYS_semop => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Unusable, has_mask, is_cut_short, is_in_call, usable};
    use nix::libc::{self, user_regs_struct};

    struct Known {
        harmless: bool,
        stream: bool,
        handler: bool,
        allocator: bool,
        sequence: bool,
        stack_bytes: u64,
    }

    const FINE: Known =
        Known { harmless: true, stream: true, handler: false, allocator: false, sequence: false, stack_bytes: 1 << 20 };

    impl Place for Known {
        fn is_harmless_code(&self, _address: u64) -> bool {
            self.harmless
        }

        fn is_stream(&self, _descriptor: u64) -> bool {
            self.stream
        }

        fn has_handler(&self, _registers: &user_regs_struct) -> bool {
            self.handler
        }

        fn is_in_allocator(&self, _registers: &user_regs_struct) -> bool {
            self.allocator
        }

        fn is_in_sequence(&self, _fs_base: u64) -> bool {
            self.sequence
        }

        fn stack_bytes(&self, _registers: &user_regs_struct) -> u64 {
            self.stack_bytes
        }
    }

    fn registers(call: i64, result: i64) -> user_regs_struct {
        // SAFETY: plain numbers.
        let mut registers: user_regs_struct = unsafe { core::mem::zeroed() };
        (registers.orig_rax, registers.rax) = (call.cast_unsigned(), result.cast_unsigned());
        (registers.rip, registers.rsp) = (0x1000, 0x7000_0000);
        registers
    }

    #[test]
    fn running_code_of_the_interpreter_will_do() {
        let running = registers(-1, 7);
        assert_eq!(usable(&running, &FINE).map(|next| (next.rip, next.rax)), Ok((0x1000, 7)));
        for (unusable, known) in [
            (Unusable::Code, Known { harmless: false, ..FINE }),
            (Unusable::Code, Known { allocator: true, ..FINE }),
            (Unusable::Sequence, Known { sequence: true, ..FINE }),
            (Unusable::Handler, Known { handler: true, ..FINE }),
            (Unusable::Stack, Known { stack_bytes: 4096, ..FINE }),
        ] {
            assert_eq!(usable(&running, &known).map(|next| next.rip), Err(unusable));
        }
    }

    #[test]
    fn a_thread_that_waits_within_a_handler_or_an_allocator_will_not_do() {
        let waiting = registers(libc::SYS_clock_nanosleep, -516);
        assert!(usable(&waiting, &FINE).is_ok());
        let handler = Known { handler: true, ..FINE };
        assert_eq!(usable(&waiting, &handler).map(|next| next.rip), Err(Unusable::Handler));
        let allocator = Known { allocator: true, ..FINE };
        assert_eq!(usable(&waiting, &allocator).map(|next| next.rip), Err(Unusable::Code));
    }

    #[test]
    fn calls_that_wait_for_something_outside_go_on_as_the_kernel_would() {
        let goes_on = |call: i64, result: i64| {
            usable(&registers(call, result), &FINE).map(|next| (next.rip, next.rax, next.orig_rax))
        };
        let again = |call: i64| Ok((0xffe, call.cast_unsigned(), u64::MAX));
        assert_eq!(goes_on(libc::SYS_poll, -516), again(219), "with the time that is left");
        assert_eq!(goes_on(libc::SYS_accept4, -512), again(libc::SYS_accept4));
        assert_eq!(goes_on(libc::SYS_select, -514), again(libc::SYS_select));
        assert_eq!(goes_on(libc::SYS_recvfrom, 12), Ok((0x1000, 12, u64::MAX)), "it has ended");
        assert_eq!(goes_on(libc::SYS_mmap, -512), Err(Unusable::Call(libc::SYS_mmap.cast_unsigned())));
        let mut epoll = registers(libc::SYS_epoll_wait, -4);
        assert_eq!(
            usable(&epoll, &FINE).map(|next| next.rip),
            Ok(0x1000),
            "with a time limit: EINTR, as from any signal"
        );
        epoll.r10 = u64::from(u32::MAX);
        assert_eq!(usable(&epoll, &FINE).map(|next| next.rip), Ok(0xffe));
    }

    #[test]
    fn a_wait_without_a_time_limit_that_a_stop_has_ended_is_told_from_the_others() {
        let cut = |call: i64, limit: u64| {
            let mut ended = registers(call, -i64::from(libc::EINTR));
            (ended.r10, ended.r8, ended.rdx) = (limit, limit, limit);
            is_cut_short(&ended)
        };
        for call in [libc::SYS_epoll_wait, libc::SYS_epoll_pwait] {
            assert!(cut(call, u64::MAX) && cut(call, 0xffff_fffe) && !cut(call, 0) && !cut(call, 3000), "{call}");
        }
        for call in [libc::SYS_epoll_pwait2, libc::SYS_semtimedop, libc::SYS_rt_sigtimedwait, libc::SYS_io_getevents] {
            assert!(cut(call, 0) && !cut(call, 0x7000_0000), "{call}");
        }
        assert!(cut(libc::SYS_semop, 7) && !cut(libc::SYS_recvfrom, 0) && !cut(libc::SYS_read, 0) && !cut(-1, 0));
        assert!(!is_cut_short(&registers(libc::SYS_semop, 0)), "it has ended by itself");
    }

    #[test]
    fn a_call_with_a_mask_of_its_own_is_told_from_the_others() {
        let mut waits = registers(libc::SYS_ppoll, -514);
        assert!(is_in_call(&waits) && !has_mask(&waits) && !is_in_call(&registers(-1, 7)));
        waits.r10 = 0x7000_0000;
        assert!(has_mask(&waits));
        for call in [libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2, libc::SYS_pselect6] {
            waits.orig_rax = call.cast_unsigned();
            assert!(!has_mask(&waits), "{call}: that argument is another one");
        }
        (waits.r8, waits.r9) = (0x7000_0000, 0x7000_0000);
        for call in [libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2, libc::SYS_pselect6] {
            waits.orig_rax = call.cast_unsigned();
            assert!(has_mask(&waits), "{call}");
        }
        assert!(!has_mask(&registers(libc::SYS_epoll_wait, -4)) && !has_mask(&registers(libc::SYS_poll, -516)));
    }

    #[test]
    fn a_lock_of_malloc_is_told_from_a_lock_of_python() {
        let mut futex = registers(libc::SYS_futex, -512);
        futex.rsi = 0x80;
        assert_eq!(usable(&futex, &FINE).map(|next| next.rip), Err(Unusable::Call(libc::SYS_futex.cast_unsigned())));
        futex.rsi = 0x189;
        assert_eq!(usable(&futex, &FINE).map(|next| next.rip), Ok(0xffe));
        let file = Known { stream: false, ..FINE };
        assert!(usable(&registers(libc::SYS_read, -512), &file).is_err(), "the linker reads libraries");
    }
}
