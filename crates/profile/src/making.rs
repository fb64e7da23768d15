//! From the blocks of recordings to the tables.
//! Never: opens a file.

pub mod build;
pub mod joined;
pub mod near_hits;
