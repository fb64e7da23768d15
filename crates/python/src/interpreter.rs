//! What an interpreter keeps beside its threads: the collector's state, and the word that its loop looks at.
//! Never: read by the handler.

pub mod breaker;
pub mod collector;
