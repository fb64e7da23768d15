//! The order of a comparison's rows.
//! Owns: which row comes first. Keeps: the same recordings give the same order. Never: leaves a row out.

use std::cmp::Reverse;

use crate::rules::difference::certainty::Estimate;
use crate::rules::difference::rows::{Code, Row, Subject};

/// Certain ones first, then those that were compared, each by the size of the change.
pub fn sort(rows: &mut [Row]) {
    rows.sort_by_cached_key(|row| {
        let Estimate { certain, is_too_few, .. } = row.estimate;
        // Bits of floats that are not negative are in their order.
        (!certain, is_too_few, Reverse(row.estimate.change().abs().to_bits()), place(&row.subject))
    });
}

/// The order of rows with the same change.
pub fn place(subject: &Subject) -> impl Ord + use<> {
    let code = |code: &Code| (code.file.clone(), code.line, code.function.clone(), code.expression.clone());
    match subject {
        Subject::Code { code: own, caller } => (0, Some(code(own)), caller.as_ref().map(code), None),
        Subject::Phase(phase) => (1, None, None, Some(*phase)),
        Subject::NoPython => (2, None, None, None),
    }
}
