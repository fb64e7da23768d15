//! What is decided from the tables: which weight, what the filters keep, which verdict.
//! Never: lays out text.

pub mod collections;
pub mod difference;
pub mod filter;
pub mod nameless;
pub mod pace;
pub mod phase;
pub mod reading;
pub mod show;
pub mod test_function;
pub mod verdict;
pub mod waits;
pub mod warnings;
pub mod weight;
