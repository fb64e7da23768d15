//! Programs and their environments: what `genba run` left in this one's, and what the next one gets.
//! Never: knows what is recorded of them.

pub mod environment;
pub mod next_program;
