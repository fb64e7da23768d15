//! Recordings as a whole: rows and bytes together, and looks at them that many share.

pub mod files;
pub mod grown;
pub mod keeper;
pub mod leftovers;
pub mod looks;
pub mod uploading;
pub mod whole;
