//! Words that every floor uses: problems, random names, times.

pub mod moment;
pub mod problem;
pub mod random;
