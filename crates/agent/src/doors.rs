//! Who calls in: the Python package, a thread that `genba attach` made, and the functions of libc that genba stands in front of.
//! Never: does itself what the floors below do.

pub mod api;
pub mod attached;
pub mod heap;
pub mod interpose;
pub mod late;
pub mod visited;
