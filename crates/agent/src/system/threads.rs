//! Where threads of the program begin and end.
//! Never: knows the sampler.

pub mod ends;
pub mod starts;
