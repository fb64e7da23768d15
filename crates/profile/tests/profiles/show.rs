//! `--show` leaves frames out and no time: in every view, by every weight, for each thread.

use crate::notation;
use genba_profile::build::{Additions, profile};
use genba_profile::filter::Filter;
use genba_profile::glob::Glob;
use genba_profile::reading::Reading;
use genba_profile::report::{By, Options, json, report, text};
use genba_profile::show::Show;
use genba_profile::tree::{self, tree};
use genba_profile::weight::Weight;

const MIXED: &str = "
    process 7 3.13.0 executable=/usr/bin/python3.13 cwd=/app
    thread 7 main
    <module>@app.py:1 > sort@app.py:3 > list.sort[python3.13] > key@app.py:5 > ?dict.get[python3.13] x40
    <module>@app.py:1 > sort@app.py:3 > list.sort[python3.13] x30
    <module>@app.py:2 > dumps@/usr/lib/python3.13/json/__init__.py:4 > encode[_json.so] x20 gc
    <module>@app.py:2 > poll[libc.so.6] x7 poll
    thread 8 worker
    run@app.py:9 > memmove[libc.so.6] x25
    start_thread[libc.so.6] > dgemm[libblas.so] x15
    (none) x3
";

fn mixed(thread: Option<&str>) -> Reading {
    let threads = thread.iter().map(|name| Glob::new(name).expect("a short glob")).collect();
    let profile = profile(&notation::recording(MIXED), &Additions::default());
    Reading::filtered(profile, &Filter { threads, ..Filter::default() }).expect("the thread is there")
}

fn each_thread_and_weight(check: impl Fn(&Reading, Weight)) {
    for thread in [None, Some("main"), Some("worker")] {
        for weight in [Weight::Cpu, Weight::Wall, Weight::Samples] {
            check(&mixed(thread), weight);
        }
    }
}

#[test]
fn rows_of_the_report_are_the_same_numbers() {
    each_thread_and_weight(|reading, weight| {
        for by in [By::Expression, By::Line, By::Function, By::Module, By::Thread, By::Process] {
            let options = |show| Options { by, show, weight: Some(weight), ..Options::default() };
            let both = report(reading, &options(Show::Both));
            for show in [Show::Python, Show::C] {
                let shown = report(reading, &options(show));
                assert_eq!(shown.whole, both.whole);
                let numbers = |report: &genba_profile::report::Report| {
                    report.rows.iter().map(|row| (row.subject.clone(), row.own, row.total)).collect::<Vec<_>>()
                };
                assert_eq!(numbers(&shown), numbers(&both), "{show:?} {by:?} {weight}");
            }
        }
    });
}

/// Only the line of the chain under a row may differ.
#[test]
fn text_and_json_differ_in_their_chains_alone() {
    each_thread_and_weight(|reading, weight| {
        let page = |show| report(reading, &Options { show, weight: Some(weight), ..Options::default() });
        let (both, python) = (page(Show::Both), page(Show::Python));
        let rows = |report| {
            let text = text::text(reading, report, None, Default::default());
            // Chains are indented under their rows.
            let is_row = |line: &&str| (line.contains('%') || line.contains('=')) && !line.starts_with("          ");
            text.lines().filter(is_row).map(str::to_string).collect::<Vec<_>>()
        };
        assert!(!rows(&both).is_empty());
        assert_eq!(rows(&python), rows(&both));
        let without_chains = |report| {
            let text = json::json(reading, report, &[]).expect("JSON");
            let mut page: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            for row in page["rows"].as_array_mut().expect("rows") {
                let row = row.as_object_mut().expect("a row");
                for key in ["chain", "chain_share", "split"] {
                    row.remove(key).expect("a chain");
                }
            }
            page
        };
        assert_eq!(without_chains(&python), without_chains(&both));
    });
}

/// The time of a C function goes to the Python function that called it.
#[test]
fn in_the_tree_time_folds_into_the_caller() {
    each_thread_and_weight(|reading, weight| {
        for show in [Show::Both, Show::Python, Show::C] {
            let tree = tree(reading, &tree::Options { show, weight: Some(weight), ..Default::default() });
            let roots: u64 = tree.roots.iter().map(|root| tree.branches[*root].total.by(weight)).sum();
            let own: u64 = tree.branches.iter().map(|branch| branch.own.by(weight)).sum();
            assert_eq!((roots, own), (tree.whole.by(weight), tree.whole.by(weight)), "{show:?} {weight}");
            for branch in tree.branches.iter() {
                let below: u64 = branch.children.iter().map(|child| tree.branches[*child].total.by(weight)).sum();
                assert_eq!(branch.total.by(weight), branch.own.by(weight) + below);
            }
        }
    });
    let reading = mixed(Some("worker"));
    let tree = tree(&reading, &tree::Options { show: Show::Python, weight: Some(Weight::Cpu), ..Default::default() });
    let own_of = |name: &str| {
        let named = tree.branches.iter().find(|branch| match branch.step {
            tree::Step::Function(function, _) => reading.functions[function].name == name,
            tree::Step::EventLoop | tree::Step::State(_) | tree::Step::NoStack => false,
        });
        named.map(|branch| branch.own.samples)
    };
    assert_eq!((own_of("run"), own_of("memmove")), (Some(25), None));
}
