//! What an interpreter keeps beside its threads: the collector's state, the word that its loop looks at, and objects, among them the names
//! of threads.
//! Never: read by the handler.

pub mod breaker;
pub mod collector;
pub mod objects;
pub mod thread_names;
