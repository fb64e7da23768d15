//! What the page of `--export-html` holds: the words of the screen, and the numbers of `--export-json`.
//! Owns: the keys, which web/model/bench/session.ts reads. Never: makes the page around them (genba-page does); has a word or a number of its own.

use serde::Serialize;

use super::ratios::Shown;
use super::report;
use crate::files::json;
use crate::judging::findings::Findings;
use crate::words::units::Unit;

#[derive(Serialize)]
struct Numbers<'a> {
    /// Of times; null: the one that fits each command.
    unit: Option<&'static str>,
    /// Of each result.
    blocks: Vec<String>,
    together: String,
    export: json::Page<'a>,
}

/// # Errors
/// A number that JSON has no word for.
pub fn numbers(findings: &Findings<'_>, shown: &Shown) -> serde_json::Result<String> {
    genba_text::json::compact(&Numbers {
        unit: shown.unit.map(Unit::name),
        blocks: report::blocks(findings, shown),
        together: report::together(findings, shown),
        export: json::page(findings),
    })
}
