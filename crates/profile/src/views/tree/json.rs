//! The tree as JSON for scripts: a table of branches, a parent before its children, these in the order of the tree. docs/reading/json.md lists the keys.
//! A table and not nested objects: a stack may be deeper than a reader of JSON likes.

use serde::Serialize;

use super::{Branch, BranchIndex, EVENT_LOOP, Found, Options, Step, Tree};
use crate::rules::reading::Reading;
use crate::rules::weight::Totals;
use crate::tables::profile::{Home, Profile};
use crate::tables::state::in_words;
use crate::views::report::json::{FiltersPage, filters_page};
use crate::words::figures::share;

#[derive(Serialize)]
struct Page<'a> {
    version: u32,
    weight: &'static str,
    weight_why: Option<&'a str>,
    samples: u64,
    cpu_ns: u64,
    wall_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    copied_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocated_bytes: Option<u64>,
    filters: Option<FiltersPage<'a>>,
    branches: Vec<BranchPage<'a>>,
}

#[derive(Serialize)]
struct BranchPage<'a> {
    /// Row in `branches`.
    parent: Option<usize>,
    name: String,
    kind: &'static str,
    file: Option<&'a str>,
    first_line: Option<u32>,
    total_share: f64,
    total_samples: u64,
    total_cpu_ns: u64,
    total_wall_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_copied_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_allocated_bytes: Option<u64>,
    share: f64,
    samples: u64,
    cpu_ns: u64,
    wall_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    copied_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocated_bytes: Option<u64>,
}

/// What the options leave out is not there, nor what is below it.
pub fn json(reading: &Reading, tree: &Tree, options: &Options) -> serde_json::Result<String> {
    let profile = &reading.profile;
    let whole = tree.whole.by(tree.choice.weight);
    let mut branches = Vec::new();
    let mut waiting = Vec::new();
    let wait = |children: &[BranchIndex], parent: Option<usize>, depth: usize, waiting: &mut Vec<_>| {
        let (shown, _) = tree.shown(options, children, depth);
        waiting.extend(shown.into_iter().rev().map(|child| (child, parent, depth)));
    };
    wait(&tree.roots, None, 0, &mut waiting);
    while let Some((index, parent, depth)) = waiting.pop() {
        let branch = &tree.branches[index];
        let shares = [branch.total, branch.own].map(|totals| share(totals.by(tree.choice.weight), whole));
        let row = branches.len();
        branches.push(page(profile, branch, parent, shares));
        wait(&branch.children, Some(row), depth + 1, &mut waiting);
    }
    let Totals { samples, cpu_ns, wall_ns, copied_bytes, allocated_bytes, .. } = tree.whole;
    let page = Page {
        version: 1,
        weight: tree.choice.weight.key(),
        weight_why: tree.choice.why.as_deref(),
        samples,
        cpu_ns,
        wall_ns,
        copied_bytes: profile.counts_copies().then_some(copied_bytes),
        allocated_bytes: profile.counts_allocations().then_some(allocated_bytes),
        filters: filters_page(reading, tree.choice.weight),
        branches,
    };
    genba_text::json::pretty(&page)
}

fn page<'a>(profile: &'a Profile, branch: &Branch, parent: Option<usize>, shares: [f64; 2]) -> BranchPage<'a> {
    let (name, kind, file, first_line) = match branch.step {
        Step::State(state) => (in_words(state), "state", None, None),
        Step::NoStack => ("no stack".to_owned(), "no stack", None, None),
        Step::EventLoop => (EVENT_LOOP.to_owned(), "loop", None, None),
        Step::Function(function, found) => {
            let function = &profile.functions[function];
            let (kind, file, first_line) = match &function.home {
                Home::Python { file, first_line, .. } => {
                    ("python", Some(profile.files[*file].path.as_str()), Some(*first_line))
                }
                Home::C { module, .. } => {
                    let kind = match found {
                        Found::OnStack => "c",
                        Found::Inferred => "inferred",
                        Found::Inlined => "inlined",
                    };
                    (kind, Some(profile.modules[*module].path.as_str()), None)
                }
                Home::Mark => ("mark", None, None),
            };
            (function.name.clone(), kind, file, first_line)
        }
    };
    let [total_share, share] = shares;
    let copied = |totals: Totals| profile.counts_copies().then_some(totals.copied_bytes);
    let allocated = |totals: Totals| profile.counts_allocations().then_some(totals.allocated_bytes);
    BranchPage {
        parent,
        name,
        kind,
        file,
        first_line,
        total_share,
        total_samples: branch.total.samples,
        total_cpu_ns: branch.total.cpu_ns,
        total_wall_ns: branch.total.wall_ns,
        total_copied_bytes: copied(branch.total),
        total_allocated_bytes: allocated(branch.total),
        share,
        samples: branch.own.samples,
        cpu_ns: branch.own.cpu_ns,
        wall_ns: branch.own.wall_ns,
        copied_bytes: copied(branch.own),
        allocated_bytes: allocated(branch.own),
    }
}
