//! The tree as JSON for scripts: a table of branches, a parent before its children, the heaviest child first. docs/reading.md lists the keys.
//! A table and not nested objects: a stack may be deeper than a reader of JSON likes.

use serde::Serialize;

use super::{Branch, EVENT_LOOP, Found, Options, Step, Tree};
use crate::figures::share;
use crate::profile::{Home, Profile};
use crate::report::json::{FiltersPage, filters_page, key};
use crate::weight::Totals;

#[derive(Serialize)]
struct Page<'a> {
    version: u32,
    weight: &'static str,
    weight_why: Option<&'a str>,
    samples: u64,
    cpu_ns: u64,
    wall_ns: u64,
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
    share: f64,
    samples: u64,
    cpu_ns: u64,
    wall_ns: u64,
}

/// Branches below `share_min` and `depth_max` are left out, with all that is below them.
pub fn json(profile: &Profile, tree: &Tree, options: &Options) -> serde_json::Result<String> {
    let whole = tree.whole.by(tree.choice.weight);
    let mut branches = Vec::new();
    let mut waiting: Vec<_> = tree.roots.iter().rev().map(|root| (*root, None, 1)).collect();
    while let Some((index, parent, depth)) = waiting.pop() {
        let branch = &tree.branches[index];
        let total_share = share(branch.total.by(tree.choice.weight), whole);
        if total_share < options.share_min || options.depth_max.is_some_and(|depth_max| depth > depth_max) {
            continue;
        }
        let row = branches.len();
        let own_share = share(branch.own.by(tree.choice.weight), whole);
        branches.push(page(profile, branch, parent, [total_share, own_share]));
        waiting.extend(branch.children.iter().rev().map(|child| (*child, Some(row), depth + 1)));
    }
    let Totals { samples, cpu_ns, wall_ns } = tree.whole;
    let page = Page {
        version: 1,
        weight: key(tree.choice.weight),
        weight_why: tree.choice.why.as_deref(),
        samples,
        cpu_ns,
        wall_ns,
        filters: filters_page(profile, tree.choice.weight),
        branches,
    };
    serde_json::to_string_pretty(&page).map(|text| text + "\n")
}

fn page<'a>(profile: &'a Profile, branch: &Branch, parent: Option<usize>, shares: [f64; 2]) -> BranchPage<'a> {
    let (name, kind, file, first_line) = match branch.step {
        Step::State(state) => (state.to_string(), "state", None, None),
        Step::NoStack => ("no stack".to_owned(), "no stack", None, None),
        Step::EventLoop => (EVENT_LOOP.to_owned(), "loop", None, None),
        Step::Function(function, found) => {
            let function = &profile.functions[function];
            let (kind, file, first_line) = match &function.home {
                Home::Python { file, first_line } => {
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
        share,
        samples: branch.own.samples,
        cpu_ns: branch.own.cpu_ns,
        wall_ns: branch.own.wall_ns,
    }
}
