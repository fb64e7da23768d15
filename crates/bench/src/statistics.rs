//! Numbers in, numbers out: means, ratios with their intervals, how many runs would tell.
//! Never: knows a command, a clock or a word.

pub mod comparison;
pub mod earlier;
pub mod needed;
pub mod noise;
pub mod summary;
pub mod trend;
