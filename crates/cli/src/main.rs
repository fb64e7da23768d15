//! The genba command.
#![forbid(unsafe_code)]
fn main() {}
