//! Exports: a file a format. `EXPORTS` on the command line names them.

pub mod collapsed;
pub mod json;
pub mod speedscope;
