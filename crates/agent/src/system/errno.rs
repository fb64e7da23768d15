//! The calling thread's `errno`: what genba does in the program's calls and handlers must leave it as it was.
//! Owns: both ways to it. Never: decides who keeps it.

#[must_use]
pub fn get() -> i32 {
    // SAFETY: the address of this thread's errno is always valid.
    unsafe { *libc::__errno_location() }
}

pub fn set(errno: i32) {
    // SAFETY: the address of this thread's errno is always valid.
    unsafe { *libc::__errno_location() = errno };
}
