//! How things are said, whatever they are: numbers, globs, colours, lines of a width, source text.
//! Never: knows a profile.

pub mod excerpt;
pub mod figures;
pub mod glob;
pub mod paint;
pub mod shell;
pub mod wrap;
