//! What CPython's own tables and functions say.
//! Owns: names for functions that no symbol table has. Never: names by a version.

pub mod claims;
pub mod landmarks;
pub mod scan;
pub mod slotdefs;
