//! The sampler's own table of descriptors.
//! Owns: how a thread gets one, and how it is emptied of the program's files. Never: ends by that what the program has asked of the kernel.
//!
//! The kernel copies the lowest 64 numbers at least, and what was copied has to be closed. Each close flushes the file. A message queue that
//! is flushed by a task of a process forgets that process's mq_notify(3), so another process closes copies of those. To a file of FUSE or of
//! NFS it is a close like that of a forked child. Source: Linux 6.12, fs/file.c (`dup_fd`), ipc/mqueue.c (`mqueue_flush_file`).

use core::arch::asm;

/// So many numbers the kernel copies whatever it is asked for.
const COPIED_MIN: u32 = 64;

/// Gives this thread its own table of descriptors, empty but for `keep`: the program's numbers, locks and pipes stay untouched.
/// False: the kernel forbids it, and every number here is the program's.
#[must_use]
pub fn own_table(keep: Option<[i32; 2]>) -> bool {
    const UNSHARE: u32 = 1 << 1;
    let mut kept = keep.unwrap_or([-1, -1]);
    kept.sort_unstable();
    let behind = (kept[1] + 1).max(1).cast_unsigned().next_multiple_of(COPIED_MIN);
    // Numbers from `behind` on are not even copied.
    let mut last = behind.cast_signed() - 1;
    if !close_range(behind, i32::MAX as u32, UNSHARE) {
        // Linux before 5.9.
        // SAFETY: plain numbers.
        if unsafe { libc::unshare(libc::CLONE_FILES) } != 0 {
            return false;
        }
        last = last.max(descriptor_limit() as i32);
    }
    let program_s = move || (0..=last).filter(move |number: &i32| !kept.contains(number));
    if program_s().any(is_message_queue) && empty_by_another_process(last, kept) {
        return true;
    }
    let gaps = [(0, kept[0] - 1), (kept[0] + 1, kept[1] - 1), (kept[1] + 1, last)];
    if !gaps.into_iter().all(|(first, last)| {
        let first = first.max(0);
        first > last || close_range(first.cast_unsigned(), last.cast_unsigned(), 0)
    }) {
        for number in program_s() {
            // SAFETY: a number of this thread's own table.
            unsafe { libc::close(number) };
        }
    }
    true
}

fn close_range(first: u32, last: u32, flags: u32) -> bool {
    // SAFETY: plain numbers.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) == 0 }
}

/// The call asks for nothing, and fails for any other file.
fn is_message_queue(number: i32) -> bool {
    // SAFETY: plain numbers.
    unsafe { libc::syscall(libc::SYS_mq_getsetattr, number, 0, 0) == 0 }
}

/// A process that shares this thread's memory and its table closes the numbers up to `last`, but for `kept`, and is gone. This thread waits
/// for it as in vfork(2). The program is told of no child: no SIGCHLD comes, and waitpid(2) does not see it. False: there is no process to
/// be had.
fn empty_by_another_process(last: i32, kept: [i32; 2]) -> bool {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES;
    let process: i64;
    // SAFETY: the other process runs the instructions up to its exit, with registers of its own, and touches no memory. All signals but libc's
    // own are blocked in it, as in this thread, and libc does not know it.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 5f",
            "2:",
            "cmp r12d, r14d",
            "je 3f",
            "cmp r12d, r15d",
            "je 3f",
            "mov edi, r12d",
            "mov eax, {close}",
            "syscall",
            "3:",
            "inc r12d",
            "cmp r12d, r13d",
            "jle 2b",
            "xor edi, edi",
            "mov eax, {exit}",
            "syscall",
            "ud2",
            "5:",
            close = const libc::SYS_close,
            exit = const libc::SYS_exit,
            inout("rax") libc::SYS_clone => process,
            in("rdi") i64::from(flags),
            in("rsi") 0_u64,
            in("rdx") 0_u64,
            in("r10") 0_u64,
            in("r8") 0_u64,
            in("r12") 0_u64,
            in("r13") i64::from(last),
            in("r14") i64::from(kept[0]),
            in("r15") i64::from(kept[1]),
            out("rcx") _,
            out("r11") _,
        );
    }
    if process > 0 {
        // SAFETY: waits for that process; nothing is written.
        unsafe { libc::syscall(libc::SYS_wait4, process, 0, libc::__WALL, 0) };
    }
    process > 0
}

/// The soft limit of descriptors.
#[must_use]
pub fn descriptor_limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes one rlimit on this stack.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    limit.rlim_cur.min(1 << 16) as usize
}

#[cfg(test)]
mod tests {
    use super::own_table;

    fn open() -> i32 {
        // SAFETY: the path ends in NUL.
        unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY) }
    }

    fn is_open(number: i32) -> bool {
        // SAFETY: plain numbers.
        unsafe { libc::fcntl(number, libc::F_GETFD) != -1 }
    }

    #[test]
    fn a_table_holds_what_it_keeps_and_the_program_s_stays() {
        let [one, high, queue] = {
            // SAFETY: plain numbers, and a name that ends in NUL.
            unsafe {
                let name = format!("/genba-table-{}\0", std::process::id());
                let (flags, usual) = (libc::O_RDWR | libc::O_CREAT, core::ptr::null::<libc::mq_attr>());
                let queue = libc::mq_open(name.as_ptr().cast(), flags, 0o600, usual);
                assert!(queue >= 0);
                libc::mq_unlink(name.as_ptr().cast());
                [open(), libc::fcntl(queue, libc::F_DUPFD, 100), queue]
            }
        };
        for keep in [None, Some([one, high]), Some([high, one])] {
            let kept = std::thread::spawn(move || {
                assert!(own_table(keep));
                (0..200).filter(|&number| is_open(number)).collect::<Vec<_>>()
            });
            let mut expected = keep.map_or(Vec::new(), Vec::from);
            expected.sort_unstable();
            assert_eq!(kept.join().unwrap(), expected);
            assert!([one, high, queue].into_iter().all(is_open));
        }
    }
}
