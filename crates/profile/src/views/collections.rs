//! The garbage collections of a recording, for `genba gc`.
//! Owns: nothing itself; rules/collections.rs has the numbers. Never: draws a conclusion of its own.

pub mod heading;
pub mod json;
pub mod page;
pub mod text;
pub mod tried;
pub use crate::rules::collections::{Sum, Summary, summary, why_none};
pub use crate::rules::difference::paired::PAIRS_MIN;
pub use crate::rules::difference::tried::{Run, Tried};
