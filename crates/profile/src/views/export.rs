//! Exports: a file a format. `EXPORTS` on the command line names them.

pub mod collapsed;
pub mod json;
mod moments;
pub mod speedscope;
