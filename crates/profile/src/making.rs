//! From the blocks of recordings to the tables.
//! Owns: also the promotion of libraries to the user's own code, because it rewrites rows. Whose code a stack is, it asks the tables.
//! Never: opens a file.

pub mod build;
pub mod cpu_over_time;
pub mod growing;
pub mod joined;
pub mod near_hits;
pub mod rare;
