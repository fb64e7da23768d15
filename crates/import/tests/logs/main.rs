//! Files of other profilers from outside: what is read of them, and what of anything else. One form a file.

mod any_bytes;
mod collapsed;
mod prof;
mod shown;
mod traced;
mod vmprof;
