//! What genba's signal would change of the program's system calls, put right at the end of the handler.
//! Owns: one file below for each such call. Never: touches a call that the kernel left as it is without genba.

pub mod cut_write;
pub mod restarted_call;
