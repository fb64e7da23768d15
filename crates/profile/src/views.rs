//! What a reader gets: text, Markdown, JSON and files of other programs.
//! Never: decides anything that another view would have to decide again.

pub mod collections;
pub mod difference;
pub mod export;
pub mod heaps;
pub mod integrity;
pub mod lines;
pub mod live;
pub mod memory;
pub(crate) mod plumbing;
pub mod report;
pub mod summary;
pub mod tree;
