//! How things are said: refusals, units of time.
//! Never: knows a measurement.

pub mod refusal;
pub mod units;
