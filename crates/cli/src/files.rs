//! Files that the command finds or makes: its own, its cache, what installers wrote, one that still grows; and what tells one from another.
//! Owns: nothing itself. Never: knows of a verb.

pub mod cache_folder;
pub mod growing_file;
pub mod identity;
pub mod interpreter;
pub mod own_file;
pub mod packages;
pub mod private_folder;
