//! What a recorded process keeps for its recording: its session, the sampler's life, orders, memory, what goes over a fork.
//! Never: takes a sample.

pub mod alarm;
pub mod arena;
pub mod bells;
pub mod files_over_fork;
pub mod last_words;
pub mod life;
pub mod mailbox;
pub mod process_key;
pub mod room;
pub mod safe_point;
pub mod scheduling;
pub mod session;
