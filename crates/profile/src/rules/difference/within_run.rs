//! What the samples of one run tell of a row's sum, and what they leave open.
//! Owns: which parts that answer has. Never: knows how much runs differ from each other.

mod bootstrap;
pub mod progress;
pub mod visits;

use crate::rules::difference::within_run::visits::Visits;

/// One row's sum in one run, and the variance that its samples give it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    pub value: f64,
    pub variance: f64,
    /// For a run that no other one is measured with.
    pub visits: Option<Visits>,
}
