//! The system calls that the entry, the agent and genba's signal handler make in a program.
//! Owns: the table. Never: leaves out a call because it is rare: where a filter kills, one is enough.
//! Sources: the code of the crates that are named below (a test compares the names), glibc 2.17 to 2.41, and a trace (raw_syscalls) of CPython
//! 3.13 before and after `genba attach`, with threads, a fork and a module loaded late.

use nix::libc;

/// By number, with its name.
pub type Call = (i64, &'static str);

macro_rules! calls {
    ($($name:ident)*) => { &[$((libc::$name, stringify!($name).split_at(4).1)),*] };
}

pub const ALL: [&[Call]; 6] = [ENTRY, LIBC, LINKER, AGENT, HANDLER, FORK];

/// The code of the entry (code.rs), and what the kernel makes of a wait that the stop has cut short.
const ENTRY: &[Call] = calls![SYS_rt_sigprocmask SYS_sched_yield SYS_restart_syscall];

/// `pthread_create`, the end of a thread, malloc and locks, in this order.
const LIBC: &[Call] = calls![
    SYS_clone3 SYS_clone SYS_mmap SYS_mprotect SYS_set_robust_list SYS_rseq SYS_gettid
    SYS_madvise SYS_munmap SYS_exit
    SYS_brk SYS_mremap SYS_getrandom SYS_sched_getaffinity
    SYS_futex
];

/// `dlopen`. glibc before 2.33 and after 2.38 asks by `fstat`.
const LINKER: &[Call] =
    calls![SYS_openat SYS_read SYS_pread64 SYS_newfstatat SYS_fstat SYS_close SYS_readlink SYS_getcwd SYS_access];

/// The agent's beginning and the sampler (crates/agent/src, crates/bells/src).
const AGENT: &[Call] = calls![
    // Files, /proc, the recording.
    SYS_write SYS_lseek SYS_stat SYS_fstatfs SYS_fcntl SYS_flock SYS_getdents64 SYS_readlinkat SYS_faccessat SYS_faccessat2
    SYS_mkdir SYS_renameat SYS_unlinkat SYS_ftruncate SYS_fgetxattr
    // Who it is, and its limits.
    SYS_getpid SYS_getppid SYS_getpgid SYS_getpgrp SYS_getuid SYS_geteuid SYS_getgid SYS_getegid SYS_kill SYS_prlimit64 SYS_prctl SYS_sched_getattr SYS_sched_setattr SYS_sched_setaffinity
    // A table of descriptors of its own.
    SYS_close_range SYS_unshare SYS_mq_getsetattr SYS_wait4
    // Clocks and waits.
    SYS_clock_gettime SYS_getrusage SYS_timer_create SYS_timer_settime SYS_timer_delete SYS_rt_sigtimedwait
    // Signals, and the memory of this process.
    SYS_rt_sigaction SYS_rt_sigqueueinfo SYS_rt_tgsigqueueinfo SYS_rt_sigpending SYS_sigaltstack SYS_tgkill SYS_nanosleep
    SYS_process_vm_readv
];

/// In the program's threads (crates/signal/src): beside the agent's, the return from the handler, and whose SIGURG it is.
const HANDLER: &[Call] = calls![SYS_rt_sigreturn SYS_arch_prctl];

/// The recording's file goes to a child of the program's over a socket (crates/agent/src/process/files_over_fork.rs).
const FORK: &[Call] = calls![SYS_socket SYS_setsockopt SYS_bind SYS_getsockname SYS_sendmsg SYS_recvmsg];

/// A copy of the process, in which the heap is walked (crates/agent/src/heap/copy.rs).
pub const HEAP: &[Call] = calls![SYS_exit_group];

#[cfg(test)]
mod tests {
    use super::{AGENT, ALL, FORK, HANDLER, HEAP};
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    /// What the hooks of `genba run` call for the program, and names that are compared with only.
    const NOT_OURS: [&str; 3] = ["/doors/interpose/", "/reading/waited_on.rs", "/sampling/sampler/stepped.rs"];

    fn sources(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                sources(&entry.path(), found);
            } else if !NOT_OURS.iter().any(|part| entry.path().to_string_lossy().contains(part)) {
                found.push(fs::read_to_string(entry.path()).unwrap());
            }
        }
    }

    #[test]
    fn the_table_has_each_system_call_that_the_sources_name() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut texts = Vec::new();
        for name in ["agent/src", "bells/src", "signal/src"] {
            sources(&crates.join(name), &mut texts);
        }
        let mut named = BTreeSet::new();
        for text in &texts {
            // `SYS_read`, or `SYS_READ` where there is no libc.
            for rest in text.split("SYS_").skip(1) {
                let end =
                    rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
                named.insert(rest[..end].to_lowercase());
            }
        }
        assert!(named.len() > 20, "{named:?}");
        let table: BTreeSet<String> =
            ALL.iter().copied().flatten().chain(HEAP).map(|(_, name)| (*name).to_owned()).collect();
        let missing: Vec<&String> = named.difference(&table).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    /// Those of libc's functions are left out there, but for the mask of signals, which genba changes itself.
    #[test]
    fn the_page_of_limits_has_each_call_of_the_table() {
        let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/limits.md")).unwrap();
        let (_, behind) = page.split_once("A seccomp filter that *kills*").unwrap();
        let (told, _) = behind.split_once("\n- ").unwrap();
        let told: BTreeSet<&str> = told.split('`').skip(1).step_by(2).collect();
        let names = [AGENT, HANDLER, FORK].into_iter().flatten().map(|(_, name)| *name);
        let missing: Vec<&str> = names.filter(|name| !told.contains(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn no_call_is_there_twice() {
        let numbers: BTreeSet<i64> = ALL.iter().copied().flatten().map(|(number, _)| *number).collect();
        assert_eq!(numbers.len(), ALL.iter().map(|group| group.len()).sum::<usize>());
    }

    /// A trace of the threads `genba` and of the thread that loaded the agent (see above).
    #[test]
    fn the_table_has_each_system_call_of_a_trace() {
        const TRACED: [i64; 51] = [
            0, 1, 3, 4, 5, 8, 9, 10, 11, 13, 14, 15, 17, 24, 28, 39, 60, 73, 79, 89, 98, 107, 110, 128, 138, 157, 186,
            202, 217, 219, 222, 223, 226, 228, 257, 262, 267, 273, 297, 302, 310, 314, 315, 318, 334, 435, 436, 263,
            264, 83, 439,
        ];
        let numbers: BTreeSet<i64> = ALL.iter().copied().flatten().map(|(number, _)| *number).collect();
        let missing: Vec<i64> = TRACED.into_iter().filter(|number| !numbers.contains(number)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
