//! What is measured: command lines with their parameters, and the runs that were made of each.
//! Never: starts a process, judges a number.

pub mod lines;
pub mod measured;
pub mod scan;
