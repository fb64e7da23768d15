//! The numbers of this process and of the calling thread.
//! Owns: the system calls for them. Never: keeps one.

#[must_use]
pub fn own_tid() -> u32 {
    // SAFETY: no arguments, no memory.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

#[must_use]
pub fn own_pid() -> u32 {
    // SAFETY: no arguments, no memory. The system call itself: after vfork a cached value would be the parent's.
    unsafe { libc::syscall(libc::SYS_getpid) as u32 }
}
