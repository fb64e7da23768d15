//! What is decided from the tables: whose code it is, which weight, what the filters keep, which verdict.
//! Never: lays out text.

pub mod event_loop;
pub mod filter;
pub mod nameless;
pub mod own_code;
pub mod pace;
pub mod phase;
pub mod reading;
pub mod short_waits;
pub mod show;
pub mod verdict;
pub mod warnings;
pub mod weight;
