//! The report as JSON for scripts. Its keys are stable: they are only added. docs/reading/json.md lists them.

use serde::Serialize;

use crate::rules::pace::Pace;
use crate::rules::phase::Phase;
use crate::rules::reading::Reading;
use crate::rules::verdict::json::{VerdictPage, page as verdict_page};
use crate::rules::weight::{Totals, Weight};
use crate::tables::profile::{Function, Home, NotFollowed, ProcessIndex, Profile};
use crate::tables::table::TableIndex;
use crate::views::report::callers::Caller;
use crate::views::report::{Report, Row};
use crate::words::figures::share;

#[derive(Serialize)]
struct Page<'a> {
    version: u32,
    weight: &'static str,
    weight_why: Option<&'a str>,
    wall_ns: u64,
    cpu_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    copied_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocated_bytes: Option<u64>,
    interval_ns: Option<u64>,
    interval_mostly_ns: Option<u64>,
    budget_per_mille: Option<u32>,
    accounting: AccountingPage<'a>,
    not_followed: &'a [NotFollowed],
    verdict: VerdictPage<'a>,
    filters: Option<FiltersPage<'a>>,
    processes: Vec<ProcessPage<'a>>,
    rows: Vec<RowPage<'a>>,
    folded: FoldedPage,
    rss_max_bytes: Option<u64>,
    rss_mean_bytes: Option<u64>,
    warnings: &'a [String],
}

/// What the filters kept; the shares of the rows are of that.
#[derive(Serialize)]
pub struct FiltersPage<'a> {
    flags: &'a [String],
    share: f64,
    kept: TotalsPage,
    whole: TotalsPage,
}

#[derive(Serialize)]
pub struct TotalsPage {
    samples: u64,
    cpu_ns: u64,
    wall_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    copied_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocated_bytes: Option<u64>,
}

/// Law 1.
#[derive(Serialize)]
pub struct AccountingPage<'a> {
    ticks: u64,
    sampled: u64,
    dropped: &'a std::collections::BTreeMap<String, u64>,
    refused: &'a std::collections::BTreeMap<String, u64>,
}

#[derive(Serialize)]
struct ProcessPage<'a> {
    pid: Option<u32>,
    recording: Option<&'a str>,
    python: Option<&'a str>,
    executable: Option<&'a str>,
    argv: &'a [String],
    refused: Option<&'a str>,
    imported: Option<&'a str>,
    ended: Option<&'a str>,
    tags: &'a [String],
    wall_ns: u64,
    cpu_ns: u64,
    cpu_sampled_ns: u64,
    cpu_not_sampled_ns: u64,
    cpu_not_recorded_ns: u64,
    cpu_genba_ns: u64,
    threads: u64,
    accounting: AccountingPage<'a>,
    rss_max_bytes: Option<u64>,
    rss_mean_bytes: Option<u64>,
}

#[derive(Serialize)]
struct RowPage<'a> {
    file: Option<&'a str>,
    line: Option<u32>,
    end_line: Option<u32>,
    function: Option<&'a str>,
    expression: Option<&'a str>,
    column: Option<u32>,
    end_column: Option<u32>,
    byte_column: Option<u32>,
    byte_end_column: Option<u32>,
    pid: Option<u32>,
    tid: Option<u32>,
    thread: Option<&'a str>,
    phase: Option<&'static str>,
    samples: u64,
    cpu_ns: u64,
    wall_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    copied_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocated_bytes: Option<u64>,
    share: f64,
    total_samples: u64,
    total_cpu_ns: u64,
    total_wall_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_copied_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_allocated_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocated_margin_bytes: Option<u64>,
    total_share: f64,
    chain: Vec<String>,
    chain_share: Option<f64>,
    split: Vec<StepPage>,
    callers: Vec<CallerPage<'a>>,
}

#[derive(Serialize)]
struct CallerPage<'a> {
    file: Option<&'a str>,
    line: Option<u32>,
    function: &'a str,
    share: f64,
}

#[derive(Serialize)]
struct StepPage {
    name: String,
    share: f64,
}

#[derive(Serialize)]
struct FoldedPage {
    rows: u64,
    share: f64,
}

pub fn json(reading: &Reading, report: &Report, warnings: &[String]) -> serde_json::Result<String> {
    written(reading, report, warnings, |page| genba_text::json::pretty(page))
}

/// On one line.
pub fn compact(reading: &Reading, report: &Report, warnings: &[String]) -> serde_json::Result<String> {
    written(reading, report, warnings, |page| genba_text::json::compact(page))
}

fn written(
    reading: &Reading,
    report: &Report,
    warnings: &[String],
    write: impl FnOnce(&Page<'_>) -> serde_json::Result<String>,
) -> serde_json::Result<String> {
    let profile = &reading.profile;
    let resident = profile.resident_max();
    let accounting = profile.accounting();
    let pace = Pace::of(profile);
    let weight = report.choice.weight;
    write(&Page {
        version: 1,
        weight: weight.key(),
        weight_why: report.choice.why.as_deref(),
        wall_ns: profile.wall_ns(),
        cpu_ns: profile.clocks().cpu_ns,
        copied_bytes: profile.counts_copies().then(|| profile.copied().exact),
        allocated_bytes: profile.counts_allocations().then(|| profile.allocated().exact),
        interval_ns: profile.processes.iter().find_map(|process| process.interval_ns),
        interval_mostly_ns: pace.mostly_ns,
        budget_per_mille: pace.budget_per_mille,
        accounting: accounting_page(&accounting),
        not_followed: &profile.not_followed,
        verdict: verdict_page(profile, &report.verdict),
        filters: filters_page(reading, weight),
        processes: (0..profile.processes.len()).map(|position| process(profile, ProcessIndex::new(position))).collect(),
        rows: report.rows.iter().map(|row| self::row(profile, report, row)).collect(),
        folded: FoldedPage {
            rows: report.folded.rows,
            share: share(report.folded.own.by(weight), report.whole.by(weight)),
        },
        rss_max_bytes: resident.map(|resident| resident.max_bytes),
        rss_mean_bytes: resident.map(|resident| resident.mean_bytes),
        warnings,
    })
}

pub fn accounting_page(accounting: &crate::tables::profile::Accounting) -> AccountingPage<'_> {
    AccountingPage {
        ticks: accounting.ticks,
        sampled: accounting.sampled,
        dropped: &accounting.dropped,
        refused: &accounting.refused,
    }
}

pub fn filters_page(reading: &Reading, weight: Weight) -> Option<FiltersPage<'_>> {
    let filtered = reading.kept.as_ref()?;
    let kept = Totals::of_profile(reading);
    Some(FiltersPage {
        flags: &filtered.flags,
        share: share(kept.by(weight), filtered.whole.by(weight)),
        kept: totals_page(reading, kept),
        whole: totals_page(reading, filtered.whole),
    })
}

pub fn totals_page(profile: &Profile, totals: Totals) -> TotalsPage {
    let Totals { samples, cpu_ns, wall_ns, copied_bytes, allocated_bytes, .. } = totals;
    TotalsPage {
        samples,
        cpu_ns,
        wall_ns,
        copied_bytes: profile.counts_copies().then_some(copied_bytes),
        allocated_bytes: profile.counts_allocations().then_some(allocated_bytes),
    }
}

fn process(profile: &Profile, index: ProcessIndex) -> ProcessPage<'_> {
    let process = &profile.processes[index];
    let (clocks, resident) = (profile.clocks_of(index), profile.resident(index));
    ProcessPage {
        pid: process.pid,
        recording: process.recording.as_deref(),
        python: process.python.as_deref(),
        executable: process.executable.as_deref(),
        argv: &process.argv,
        refused: process.refused.as_deref(),
        imported: process.imported.as_deref(),
        ended: process.ended.as_deref(),
        tags: &process.tags,
        wall_ns: process.wall_ns,
        cpu_ns: clocks.cpu_ns,
        cpu_sampled_ns: clocks.cpu_sampled_ns,
        cpu_not_sampled_ns: clocks.cpu_not_sampled_ns,
        cpu_not_recorded_ns: clocks.cpu_not_recorded_ns,
        cpu_genba_ns: clocks.cpu_genba_ns,
        threads: profile.thread_count(index),
        accounting: accounting_page(&process.accounting),
        rss_max_bytes: resident.map(|resident| resident.max_bytes),
        rss_mean_bytes: resident.map(|resident| resident.mean_bytes),
    }
}

fn row<'a>(profile: &'a Profile, report: &Report, row: &'a Row) -> RowPage<'a> {
    let subject = &row.subject;
    let expression = subject.expression.as_ref();
    let thread = subject.thread.map(|thread| &profile.threads[thread]);
    let copied = |totals: Totals| profile.counts_copies().then_some(totals.copied_bytes);
    let allocated = |totals: Totals| profile.counts_allocations().then_some(totals.allocated_bytes);
    let part = |totals: Totals| share(totals.by(report.choice.weight), report.whole.by(report.choice.weight));
    RowPage {
        file: subject.file.map(|file| profile.files[file].path.as_str()),
        line: subject.line,
        end_line: subject.end_line,
        function: subject.function.map(|function| profile.functions[function].name.as_str()),
        expression: expression.map(|expression| expression.text.as_str()),
        column: expression.map(|expression| expression.column),
        end_column: expression.map(|expression| expression.end_column),
        byte_column: subject.byte_columns.map(|bytes| bytes.start),
        byte_end_column: subject.byte_columns.map(|bytes| bytes.end),
        pid: subject.process.and_then(|process| profile.processes[process].pid),
        tid: thread.and_then(|thread| thread.tid),
        thread: thread.and_then(|thread| thread.name.as_deref()),
        phase: subject.phase.map(Phase::name),
        samples: row.own.samples,
        cpu_ns: row.own.cpu_ns,
        wall_ns: row.own.wall_ns,
        copied_bytes: copied(row.own),
        allocated_bytes: allocated(row.own),
        share: part(row.own),
        total_samples: row.total.samples,
        total_cpu_ns: row.total.cpu_ns,
        total_wall_ns: row.total.wall_ns,
        total_copied_bytes: copied(row.total),
        total_allocated_bytes: allocated(row.total),
        allocated_margin_bytes: profile.counts_allocations().then(|| row.own.allocated_margin_bytes(report.whole)),
        total_share: part(row.total),
        chain: row.chain.links.iter().map(|link| link.name(profile)).collect(),
        chain_share: (!row.chain.links.is_empty()).then_some(row.chain.share),
        split: row
            .chain
            .split
            .iter()
            .map(|(link, share)| StepPage { name: link.name(profile), share: *share })
            .collect(),
        callers: row.callers.iter().map(|caller| caller_page(profile, *caller)).collect(),
    }
}

fn caller_page(profile: &Profile, caller: Caller) -> CallerPage<'_> {
    let Function { name, home, .. } = &profile.functions[caller.function];
    let file = match home {
        Home::Python { file, .. } => Some(profile.files[*file].path.as_str()),
        Home::C { .. } | Home::Mark => None,
    };
    CallerPage { file, line: caller.line, function: name, share: caller.share }
}
