//! The functions of libc that genba stands in front of, when it is preloaded.
//! Owns: one file below for each subject. Never: changes what the program gets; `errno` is the real
//! function's. Only calls through the dynamic linker come here; a raw system call is noticed by `signals::held` on the next tick.

mod children;
mod ends;
mod execs;
mod filters;
mod handlers;
mod lost_ways;
mod masks;
mod namespaces;
mod unbroken;
mod waits;
