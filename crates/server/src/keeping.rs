//! Recordings as a whole: rows and bytes together, and looks at them that many share.

pub mod keeper;
pub mod leftovers;
pub mod looks;
pub mod uploading;
