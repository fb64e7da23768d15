//! Who calls in: the Python package, and the functions of libc that genba stands in front of.
//! Never: does itself what the floors below do.

pub mod api;
pub mod interpose;
