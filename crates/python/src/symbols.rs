//! Where the names of a program's loaded files lie.
//! Owns: `Symbols`. Never: looks by itself. Partner: agent/src/system/symbols.rs, which asks the dynamic linker of the own process.

use core::ffi::CStr;

/// A way to find the program's symbols.
pub trait Symbols {
    /// The address of the definition that the program uses.
    fn address(&self, name: &CStr) -> Option<u64>;
}
