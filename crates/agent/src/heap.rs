//! Walks over the heap: by a thread of genba's while the program goes on, or in the program's own thread at a moment that is soon over.
//! Never: knows the sampler; takes the GIL in a thread of the program's.

mod copy;
mod gil;
pub mod moments;
pub mod pending_answers;
pub mod plan;
pub mod request;
mod rows;
pub mod thread;
mod walking;
