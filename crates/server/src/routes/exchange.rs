//! What all routes share of a request and an answer.

pub mod answer;
pub mod asked;
pub mod caller;
pub mod visit;
