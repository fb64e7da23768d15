//! What genba itself asks of the kernel and of libc, past the dynamic linker's search: another preloaded library may have a clock, files or threads of
//! its own under these names (a false clock, a recorder of file accesses, `fakeroot`), which are meant for the program.
//! Owns: hidden functions of libc's names, which every call in this library leads to, also those of Rust's own library and of zstd's; libc's clock and
//! its functions for genba's threads. Never: is seen by the program, makes a call that libc's function of that name would not make.
//! Among them are no points at which a thread can be cancelled.

use crate::system::symbols;
use core::arch::global_asm;
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Functions with the arguments of their system call. The compiler cannot make them: what it makes under such a name is seen by the program.
macro_rules! as_in_the_kernel {
    ($($name:literal $number:ident)*) => { $(
        global_asm!(
            ".pushsection .text.genba_direct,\"ax\",@progbits",
            concat!(".globl ", $name, "\n.hidden ", $name, "\n.type ", $name, ",@function\n", $name, ":"),
            ".cfi_startproc",
            "mov r10, rcx",
            "mov eax, {number}",
            "syscall",
            "cmp rax, -4095",
            "jae genba_direct_failed",
            "ret",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            ".popsection",
            number = const libc::$number,
        );
    )* };
}

as_in_the_kernel! {
    // Files and sockets.
    "access" SYS_access
    "bind" SYS_bind
    "close" SYS_close
    "fcntl" SYS_fcntl
    "flock" SYS_flock
    "fstat" SYS_fstat
    "fstat64" SYS_fstat
    "fstatfs" SYS_fstatfs
    "ftruncate" SYS_ftruncate
    "getsockname" SYS_getsockname
    "lseek" SYS_lseek
    "lseek64" SYS_lseek
    "mkdir" SYS_mkdir
    "openat" SYS_openat
    "pread" SYS_pread64
    "read" SYS_read
    "readlink" SYS_readlink
    "readlinkat" SYS_readlinkat
    "renameat" SYS_renameat
    "socket" SYS_socket
    "stat" SYS_stat
    "stat64" SYS_stat
    "unlinkat" SYS_unlinkat
    "write" SYS_write
    // Memory.
    "mmap" SYS_mmap
    "mmap64" SYS_mmap
    "mprotect" SYS_mprotect
    "mremap" SYS_mremap
    "munmap" SYS_munmap
    // Who it is.
    "getegid" SYS_getegid
    "geteuid" SYS_geteuid
    "getgid" SYS_getgid
    "getpgid" SYS_getpgid
    "getpgrp" SYS_getpgrp
    "getpid" SYS_getpid
    "getppid" SYS_getppid
    "getrusage" SYS_getrusage
    "getuid" SYS_getuid
    "sched_yield" SYS_sched_yield
}

global_asm!(
    ".pushsection .text.genba_direct,\"ax\",@progbits",
    // As libc's: -1, and the number in errno.
    ".globl genba_direct_failed",
    ".hidden genba_direct_failed",
    ".type genba_direct_failed,@function",
    "genba_direct_failed:",
    ".cfi_startproc",
    "neg eax",
    "push rax",
    ".cfi_adjust_cfa_offset 8",
    "call __errno_location@PLT",
    "pop rcx",
    ".cfi_adjust_cfa_offset -8",
    "mov dword ptr [rax], ecx",
    "mov rax, -1",
    "ret",
    ".cfi_endproc",
    ".size genba_direct_failed, . - genba_direct_failed",
    ".globl syscall",
    ".hidden syscall",
    ".type syscall,@function",
    "syscall:",
    ".cfi_startproc",
    "mov rax, rdi",
    "mov rdi, rsi",
    "mov rsi, rdx",
    "mov rdx, rcx",
    "mov r10, r8",
    "mov r8, r9",
    "mov r9, qword ptr [rsp + 8]",
    "syscall",
    "cmp rax, -4095",
    "jae genba_direct_failed",
    "ret",
    ".cfi_endproc",
    ".size syscall, . - syscall",
    // The kernel has `openat` for both.
    ".globl open",
    ".hidden open",
    ".type open,@function",
    ".globl open64",
    ".hidden open64",
    ".type open64,@function",
    "open64:",
    "open:",
    ".cfi_startproc",
    "mov r10, rdx",
    "mov edx, esi",
    "mov rsi, rdi",
    "mov edi, {here}",
    "mov eax, {openat}",
    "syscall",
    "cmp rax, -4095",
    "jae genba_direct_failed",
    "ret",
    ".cfi_endproc",
    ".size open, . - open",
    ".size open64, . - open64",
    // As libc has it since 2.13: both words of 64 bits.
    ".globl getrlimit",
    ".hidden getrlimit",
    ".type getrlimit,@function",
    "getrlimit:",
    ".cfi_startproc",
    "mov r10, rsi",
    "mov esi, edi",
    "xor edi, edi",
    "xor edx, edx",
    "mov eax, {prlimit}",
    "syscall",
    "cmp rax, -4095",
    "jae genba_direct_failed",
    "ret",
    ".cfi_endproc",
    ".size getrlimit, . - getrlimit",
    // libc's way to the clock asks the kernel's code in this process; before it is found, the kernel.
    ".globl clock_gettime",
    ".hidden clock_gettime",
    ".type clock_gettime,@function",
    "clock_gettime:",
    ".cfi_startproc",
    "mov rax, qword ptr [rip + {clock}]",
    "test rax, rax",
    "jz 2f",
    "jmp rax",
    "2:",
    "mov eax, {clock_gettime}",
    "syscall",
    "cmp rax, -4095",
    "jae genba_direct_failed",
    "ret",
    ".cfi_endproc",
    ".size clock_gettime, . - clock_gettime",
    ".popsection",
    here = const libc::AT_FDCWD,
    openat = const libc::SYS_openat,
    prlimit = const libc::SYS_prlimit64,
    clock_gettime = const libc::SYS_clock_gettime,
    clock = sym CLOCK,
);

/// libc's `clock_gettime`; 0: not found yet.
static CLOCK: AtomicU64 = AtomicU64::new(0);
/// The name of the file whose clock the program has in place of libc's; 0: it has libc's.
static OTHER_CLOCK: AtomicU64 = AtomicU64::new(0);

/// Functions for genba's own threads. libc has had these in libpthread before glibc 2.34: there the search decides.
const OWN: [&CStr; 3] = [c"pthread_create", c"pthread_detach", c"pthread_timedjoin_np"];
static FOUND: [AtomicU64; OWN.len()] = [const { AtomicU64::new(0) }; OWN.len()];

/// When the library is loaded: later calls come where the dynamic linker must not be called.
pub fn find_all() {
    if let Some(clock) = symbols::of_libc(c"clock_gettime") {
        CLOCK.store(clock, SeqCst);
        if !symbols::is_defined_beside(c"clock_gettime", clock)
            && let Some(file) = symbols::address(c"clock_gettime").and_then(symbols::file_around)
        {
            OTHER_CLOCK.store(file.as_ptr() as u64, SeqCst);
        }
    }
    for at in 0..OWN.len() {
        let _ = own(at);
    }
}

/// The library that was loaded with the program and has a clock of its own for it. Asked for its name alone.
pub fn other_clock() -> Option<&'static CStr> {
    let name = OTHER_CLOCK.load(SeqCst) as *const c_char;
    // SAFETY: null or the linker's own name of that file, which stays.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })
}

/// The place of a function in `OWN`.
pub const fn position(name: &CStr) -> usize {
    position_in(&OWN, name)
}

/// The place of a name in a list; without one the library does not compile.
pub const fn position_in(names: &[&CStr], name: &CStr) -> usize {
    let mut at = 0;
    while at < names.len() {
        if is_same(names[at].to_bytes(), name.to_bytes()) {
            return at;
        }
        at += 1;
    }
    panic!("this function is missing in the list")
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// `None`: nobody has such a function.
pub fn own(position: usize) -> Option<u64> {
    let mut address = FOUND[position].load(SeqCst);
    if address == 0 {
        address = symbols::of_libc(OWN[position]).or_else(|| symbols::next(OWN[position]))?;
        FOUND[position].store(address, SeqCst);
    }
    Some(address)
}

/// libc's own function `$name` as a `$type`, whatever is preloaded; where there is none, the whole function ends with `$missing`.
macro_rules! of_libc {
    ($name:literal, $type:ty, $missing:expr) => {{
        const POSITION: usize = crate::system::real::direct::position($name);
        let Some(own) = crate::system::real::direct::own(POSITION) else { return $missing };
        // SAFETY: libc's function of this name has this type.
        unsafe { core::mem::transmute::<u64, $type>(own) }
    }};
}
pub(crate) use of_libc;

#[cfg(test)]
mod tests {
    use super::{CLOCK, find_all, other_clock};
    use crate::system::errno;
    use crate::system::symbols;
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn a_call_that_fails_says_so_as_libc_does() {
        errno::set(0);
        // SAFETY: a path that ends in NUL, plain numbers, memory of this stack.
        unsafe {
            assert_eq!(libc::open(c"/nowhere/file".as_ptr(), libc::O_RDONLY), -1);
            assert_eq!(errno::get(), libc::ENOENT);
            assert_eq!(libc::syscall(libc::SYS_close, -1), -1);
            assert_eq!(errno::get(), libc::EBADF);
            assert_eq!(libc::lseek(-1, 0, libc::SEEK_SET), -1);
            errno::set(0);
            assert_eq!(libc::mmap(core::ptr::null_mut(), 4096, 0, libc::MAP_PRIVATE, -1, 0), libc::MAP_FAILED);
            assert_eq!(errno::get(), libc::EBADF);
            let mut limit: libc::rlimit = core::mem::zeroed();
            assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
            assert!(limit.rlim_cur > 0 && limit.rlim_cur <= limit.rlim_max);
        }
    }

    #[test]
    fn the_clock_is_the_kernels_before_and_after_it_is_found() {
        let read = || {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: writes one timespec on this stack.
            let failed = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
            (failed, time.tv_sec, time.tv_nsec)
        };
        let before = read();
        find_all();
        assert_eq!(Some(CLOCK.load(SeqCst)), symbols::of_libc(c"clock_gettime"));
        assert_eq!(other_clock(), None);
        let after = read();
        assert!(before.0 == 0 && before < after, "{before:?} {after:?}");
        // SAFETY: no clock has this number.
        assert_eq!(unsafe { libc::clock_gettime(1000, core::ptr::null_mut()) }, -1);
    }

    /// The last one lies on the stack.
    #[test]
    fn all_six_arguments_arrive() {
        // SAFETY: a new mapping, and its end.
        unsafe {
            let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let none = core::ptr::null_mut::<u8>();
            let wrong = libc::syscall(libc::SYS_mmap, none, 4096, libc::PROT_READ, private, -1, 1);
            assert_eq!((wrong, errno::get()), (-1, libc::EINVAL), "an offset within a page");
            let right = libc::syscall(libc::SYS_mmap, none, 4096, libc::PROT_READ, private, -1, 0);
            assert_ne!(right, -1);
            assert_eq!(libc::munmap(right as *mut _, 4096), 0);
        }
    }
}
