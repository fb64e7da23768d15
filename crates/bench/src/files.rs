//! Exported files: JSON and CSV with hyperfine's keys and columns, and tables for Markdown, AsciiDoc and Org. JSON is read again, too.
//! Never: opens a file: text in, text out.

pub mod csv;
pub mod json;
pub mod tables;
