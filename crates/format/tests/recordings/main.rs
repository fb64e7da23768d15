//! Recordings from outside: written, read, cut, damaged, mixed. One subject a file.

mod cuts;
mod described;
mod faults;
mod golden;
mod laws;
mod mixed;
mod pieces;
mod properties;
mod small;
