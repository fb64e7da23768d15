//! What a thread waits for, by the system call that it is in and the memory of the lock. Owns: nothing itself.

pub mod locks;
pub mod restarted;
