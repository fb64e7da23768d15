//! Programs and their environments: what `genba run` left in this one's, and what the next one gets.
//! Never: knows what is recorded of them.

pub mod environment;
mod executable;
pub mod handed;
pub mod next_program;
mod room;
mod words;

pub use room::thread_ends;
