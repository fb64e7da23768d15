//! The sampler: which thread is asked when, and what becomes of the answer.
//! Never: runs on a thread of the program's.

pub mod collections;
pub mod counted;
pub mod heaps;
pub mod layout_trust;
pub mod lease;
pub mod ledger;
pub mod roster;
pub mod sampler;
pub mod schedule;
pub mod steps;
pub mod table;
pub mod threads;
