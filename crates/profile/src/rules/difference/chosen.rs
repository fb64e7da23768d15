//! By which weight recordings are compared.
//! Owns: the choice, and its reason. Never: chooses a weight that a recording does not tell.

use crate::rules::difference::Run;
use crate::rules::weight::{Choice, Weight, tells};

/// The first run that does not tell that weight.
#[must_use]
pub fn without<'r>(before: &'r [Run], after: &'r [Run], weight: Weight) -> Option<&'r Run> {
    before.iter().chain(after).find(|run| !tells(&run.reading, weight))
}

/// Wall, where each run would choose it and it is the program's doing; else the first that all runs tell.
pub fn choice(before: &[Run], after: &[Run], asked: Option<Weight>) -> Choice {
    if let Some(weight) = asked {
        return Choice { weight, why: None };
    }
    let lacking = |weight: Weight| without(before, after, weight);
    let mut all = before.iter().chain(after);
    if lacking(Weight::Cpu).is_none() && all.all(|run| run.reading.choice.weight == Weight::Wall) {
        return Choice { weight: Weight::Wall, why: Some("the program waited most of the time".to_string()) };
    }
    match (lacking(Weight::Cpu), lacking(Weight::Wall)) {
        (None, _) => Choice { weight: Weight::Cpu, why: None },
        (Some(run), None) => Choice { weight: Weight::Wall, why: Some(format!("{} tells no CPU time", run.name)) },
        (Some(_), Some(run)) => Choice { weight: Weight::Samples, why: Some(format!("{} tells no clock", run.name)) },
    }
}
