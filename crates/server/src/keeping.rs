//! Recordings as a whole: rows and bytes together.

pub mod keeper;
pub mod leftovers;
pub mod uploading;
