//! The stack of a thread: the walk over its Python frames and what that leaves, C frames, and the two in one.
//! Owns: nothing itself. `merge` alone needs the feature `std`.

pub mod frames;
#[cfg(feature = "std")]
pub mod merge;
pub mod native;
pub mod trampoline;
pub mod walked;
