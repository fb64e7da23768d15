//! A comparison as JSON for scripts. Its keys are stable: they are only added. docs/json.md lists them.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::rules::difference::certainty::{ERRORS_IN_ALL_ROWS, Estimate};
use crate::rules::difference::comparable::{End, Facts, covered_least_per_mille, ends, waited_most};
use crate::rules::difference::{ADVISED_CHANGE, Code, Row, Run, Subject};
use crate::rules::phase::Phase;
use crate::rules::weight::{Weight, tells};
use crate::tables::profile::{Accounting, NotFollowed};
use crate::views::difference::Comparison;
use crate::views::report::json::{AccountingPage, FiltersPage, accounting_page, filters_page};

#[derive(Serialize)]
struct Page<'a> {
    version: u32,
    comparable: bool,
    reason: Option<String>,
    unlike: &'a [String],
    sides: SidesPage,
    weight: &'static str,
    weight_why: Option<&'a str>,
    unit: &'static str,
    verdict: String,
    confidence: f64,
    compared: usize,
    spread: SpreadPage,
    before: SidePage<'a>,
    after: SidePage<'a>,
    whole: EstimatePage,
    differences: Vec<RowPage<'a>>,
    functions: Vec<RowPage<'a>>,
    merged: Vec<MergedPage<'a>>,
    folded: FoldedPage,
    advice: Option<AdvicePage<'a>>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct SidesPage {
    before: FactsPage,
    after: FactsPage,
}

/// Of all recordings of a side.
#[derive(Serialize)]
struct FactsPage {
    pythons: Vec<String>,
    processes: usize,
    threads: usize,
    ends: Vec<String>,
    cpu_covered: Option<f64>,
    waited_for_cpu: Option<f64>,
    weights: Vec<&'static str>,
}

#[derive(Serialize)]
struct SpreadPage {
    part: f64,
    measured: bool,
    freedom: Option<usize>,
}

#[derive(Serialize)]
struct SidePage<'a> {
    samples: u64,
    recordings: Vec<RecordingPage<'a>>,
}

#[derive(Serialize)]
struct RecordingPage<'a> {
    recording: &'a str,
    pythons: Vec<String>,
    processes: usize,
    threads: usize,
    end: Option<String>,
    cpu_covered: Option<f64>,
    waited_for_cpu: Option<f64>,
    wall_ns: u64,
    cpu_ns: u64,
    cpu_sampled_ns: u64,
    cpu_not_sampled_ns: u64,
    cpu_genba_ns: u64,
    accounting: AccountingPage<'a>,
    not_followed: &'a [NotFollowed],
    filters: Option<FiltersPage<'a>>,
}

#[derive(Serialize)]
struct EstimatePage {
    before_ns: Option<u64>,
    after_ns: Option<u64>,
    before: i64,
    after: i64,
    change: i64,
    change_share: Option<f64>,
    low: i64,
    high: i64,
    certain: bool,
}

#[derive(Serialize)]
struct RowPage<'a> {
    file: Option<&'a str>,
    line: Option<u32>,
    function: Option<&'a str>,
    expression: Option<&'a str>,
    phase: Option<&'static str>,
    caller: Option<CodePage<'a>>,
    expressions: Option<usize>,
    #[serde(flatten)]
    estimate: EstimatePage,
    too_few_samples: bool,
    samples_before: u64,
    samples_after: u64,
    runs_needed: Option<u32>,
}

#[derive(Serialize)]
struct CodePage<'a> {
    file: &'a str,
    line: Option<u32>,
    function: &'a str,
    expression: Option<&'a str>,
}

#[derive(Serialize)]
struct MergedPage<'a> {
    file: &'a str,
    function: &'a str,
}

#[derive(Serialize)]
struct FoldedPage {
    differences: usize,
    functions: usize,
}

#[derive(Serialize)]
struct AdvicePage<'a> {
    change_share: f64,
    code: Option<CodePage<'a>>,
    caller: Option<CodePage<'a>>,
    runs: u32,
    times_longer: Option<f64>,
    fewer_longer: Option<LongerPage>,
    is_enough: bool,
}

#[derive(Serialize)]
struct LongerPage {
    runs: u32,
    times: f64,
}

/// `rows_max`: of each list; None: all.
pub fn json(comparison: &Comparison, rows_max: Option<usize>, warnings: &[String]) -> serde_json::Result<String> {
    let difference = &comparison.difference;
    let rows_max = rows_max.unwrap_or(usize::MAX);
    let weight = difference.choice.weight;
    let accountings = |runs: &[Run]| runs.iter().map(|run| run.reading.accounting()).collect::<Vec<_>>();
    let (before, after) = (accountings(comparison.before), accountings(comparison.after));
    let rows = |rows: &'_ [Row]| -> Vec<_> { rows.iter().take(rows_max).cloned().collect() };
    let (shown, functions) = (rows(&difference.rows), rows(&difference.functions));
    let page = Page {
        version: 1,
        comparable: difference.obstacles.is_empty(),
        reason: (!difference.obstacles.is_empty()).then(|| difference.obstacles.join("; ")),
        unlike: &difference.unlike,
        sides: SidesPage { before: facts(comparison.before), after: facts(comparison.after) },
        weight: weight.key(),
        weight_why: difference.choice.why.as_deref(),
        unit: if weight == Weight::Samples { "samples" } else { "ns" },
        verdict: comparison.verdict(),
        confidence: 1.0 - ERRORS_IN_ALL_ROWS,
        compared: difference.certainty.compared,
        spread: SpreadPage {
            part: difference.certainty.spread.part,
            measured: difference.certainty.spread.freedom.is_some(),
            freedom: difference.certainty.spread.freedom,
        },
        before: side(comparison.before, &before, difference.samples_before, weight),
        after: side(comparison.after, &after, difference.samples_after, weight),
        whole: estimate(&difference.whole, weight),
        differences: shown.iter().map(|row| self::row(row, weight)).collect(),
        functions: functions.iter().map(|row| self::row(row, weight)).collect(),
        merged: difference.merged.iter().map(|(file, function)| MergedPage { file, function }).collect(),
        folded: FoldedPage {
            differences: difference.rows.len() - shown.len(),
            functions: difference.functions.len() - functions.len(),
        },
        advice: difference.advice.as_ref().map(|advice| {
            let (code, caller) = code_and_caller(&advice.subject);
            AdvicePage {
                change_share: ADVISED_CHANGE,
                code: code.map(code_page),
                caller: caller.map(code_page),
                runs: advice.runs,
                times_longer: advice.times_longer,
                fewer_longer: advice.fewer_longer.map(|longer| LongerPage { runs: longer.runs, times: longer.times }),
                is_enough: advice.is_enough,
            }
        }),
        warnings,
    };
    genba_text::json::pretty(&page)
}

fn facts(runs: &[Run]) -> FactsPage {
    let facts: Vec<Facts> = runs.iter().map(Facts::of).collect();
    let pythons: BTreeSet<String> = facts.iter().flat_map(|facts| facts.pythons.clone()).collect();
    let weights = [Weight::Cpu, Weight::Wall, Weight::Samples];
    let do_all_tell = |weight: Weight| runs.iter().all(|run| tells(&run.reading, weight));
    FactsPage {
        pythons: pythons.into_iter().collect(),
        processes: facts.iter().map(|facts| facts.processes).max().unwrap_or(0),
        threads: facts.iter().map(|facts| facts.threads).max().unwrap_or(0),
        ends: ends(&facts).into_iter().map(End::words).collect(),
        cpu_covered: covered_least_per_mille(&facts).map(part),
        waited_for_cpu: waited_most(&facts),
        weights: weights.into_iter().filter(|weight| do_all_tell(*weight)).map(Weight::key).collect(),
    }
}

fn part(per_mille: u64) -> f64 {
    per_mille as f64 / 1_000.0
}

fn side<'a>(runs: &'a [Run], accountings: &'a [Accounting], samples: u64, weight: Weight) -> SidePage<'a> {
    let recordings = runs.iter().zip(accountings).map(|(run, accounting)| {
        let clocks = run.reading.clocks();
        let facts = Facts::of(run);
        RecordingPage {
            recording: &run.name,
            pythons: facts.pythons.into_iter().collect(),
            processes: facts.processes,
            threads: facts.threads,
            end: facts.end.map(End::words),
            cpu_covered: facts.covered_per_mille.map(part),
            waited_for_cpu: facts.waited_for_cpu,
            wall_ns: run.reading.wall_ns(),
            cpu_ns: clocks.cpu_ns,
            cpu_sampled_ns: clocks.cpu_sampled_ns,
            cpu_not_sampled_ns: clocks.cpu_not_sampled_ns,
            cpu_genba_ns: clocks.cpu_genba_ns,
            accounting: accounting_page(accounting),
            not_followed: &run.reading.not_followed,
            filters: filters_page(&run.reading, weight),
        }
    });
    SidePage { samples, recordings: recordings.collect() }
}

fn estimate(estimate: &Estimate, weight: Weight) -> EstimatePage {
    let whole = |value: f64| value.round() as i64;
    let as_ns = |value: f64| (weight != Weight::Samples).then_some(value.round() as u64);
    EstimatePage {
        before_ns: as_ns(estimate.before),
        after_ns: as_ns(estimate.after),
        before: whole(estimate.before),
        after: whole(estimate.after),
        change: whole(estimate.change()),
        change_share: (estimate.before > 0.0).then(|| estimate.change() / estimate.before),
        low: whole(estimate.low),
        high: whole(estimate.high),
        certain: estimate.certain,
    }
}

fn row(row: &Row, weight: Weight) -> RowPage<'_> {
    let (code, caller) = code_and_caller(&row.subject);
    let phase = match row.subject {
        Subject::Phase(phase) => Some(Phase::name(phase)),
        Subject::Code { .. } | Subject::NoPython => None,
    };
    RowPage {
        file: code.map(|code| code.file.as_str()),
        line: code.and_then(|code| code.line),
        function: code.map(|code| code.function.as_str()),
        expression: code.and_then(|code| code.expression.as_deref()),
        phase,
        caller: caller.map(code_page),
        expressions: (row.expressions > 0).then_some(row.expressions),
        estimate: estimate(&row.estimate, weight),
        too_few_samples: row.estimate.is_too_few,
        samples_before: row.samples_before,
        samples_after: row.samples_after,
        runs_needed: row.estimate.runs_needed,
    }
}

fn code_and_caller(subject: &Subject) -> (Option<&Code>, Option<&Code>) {
    match subject {
        Subject::Code { code, caller } => (Some(code), caller.as_ref()),
        Subject::Phase(_) | Subject::NoPython => (None, None),
    }
}

fn code_page(code: &Code) -> CodePage<'_> {
    CodePage { file: &code.file, line: code.line, function: &code.function, expression: code.expression.as_deref() }
}
