//! A recording in memory, and what can be asked of one row of it, or of one stack: also whose code it is and what the event loop runs.
//! Never: adds samples up, or decides what matters.

pub mod file_names;
pub mod hits;
pub mod locations;
pub mod own_code;
pub mod owner;
pub mod profile;
pub mod source_text;
pub mod stacks;
pub mod state;
pub mod stored;
pub mod table;
pub mod window;
