//! A recording in memory, and what can be asked of one row of it.
//! Never: adds samples up, or decides what matters.

pub mod file_names;
pub mod hits;
pub mod locations;
pub mod owner;
pub mod profile;
pub mod source_text;
pub mod state;
pub mod stored;
pub mod table;
pub mod tried;
