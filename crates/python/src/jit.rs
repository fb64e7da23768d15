//! How the code that CPython's JIT makes is entered: one of these, or the address of `_PyJIT_Entry`.
//! Owns: the two numbers. Never: finds the way back (signal/src/jit.rs).

/// There is no such code.
pub const NONE: u64 = 0;
/// 3.14: each trace begins with a shim that the eval loop calls.
pub const SHIM: u64 = 1;
