//! A field of the format can be forgotten neither on the page of `--dry-run` nor in docs/privacy.md.

use std::collections::BTreeSet;

use genba_format::measure::Measure;
use genba_format::proto;

use super::{Rows, Stored};

const FORMAT: &str = include_str!("../../../../../format/genba.proto");
const PRIVACY: &str = include_str!("../../../../../../docs/privacy.md");

/// A message, its fields, the row of the page that tells of them, and the row of docs/privacy.md.
const TOLD: [(&str, &str, &str, &str); 72] = [
    ("Block", "start", "process", "process"),
    ("Block", "tables", "Python code", "Python code"),
    ("Block", "samples columns", "samples", "samples"),
    ("Block", "accounting", "accounting", "accounting"),
    ("Block", "marks", "marks", "marks"),
    ("Block", "end recorder", "end", "end"),
    ("Block", "c_names c_places", "C names", "C names"),
    ("Block", "sources", "source text", "source text"),
    ("Block", "reaped", "children's CPU", "children's CPU"),
    ("Block", "packages", "packages", "packages"),
    ("Block", "weights", "copied bytes", "copied bytes, allocated bytes"),
    ("Block", "collections collector", "collections", "collections"),
    ("Block", "not_followed", "not followed", "not followed"),
    ("Block", "heaps", "heaps", "heap by class"),
    ("Block", "traced", "counts of calls", "counts of calls"),
    ("Start", "pid parent_pid parent_key continues_key", "process", "process"),
    ("Start", "executable", "executable", "executable"),
    ("Start", "argv", "command line", "command line"),
    ("Start", "cwd", "working directory", "working directory"),
    ("Start", "python_version agent_version", "versions", "versions"),
    ("Start", "tags", "stored tags", "tags"),
    ("Start", "native memory without_children within", "options", "options"),
    ("Start", "realtime_ns monotonic_ns began_realtime_ns", "time", "time"),
    ("Start", "interval_ns budget_per_mille", "interval", "time"),
    ("Start", "cpu_before_ns", "accounting", "accounting"),
    ("Start", "refused", "not sampled", "not sampled"),
    ("Tables", "strings_first strings", "Python code", "Python code"),
    ("Tables", "modules_first modules", "modules", "modules"),
    ("Tables", "codes_first codes code_parts", "Python code", "Python code"),
    ("Tables", "nodes_first nodes", "stacks", "stacks"),
    ("Tables", "threads_first threads", "threads", "threads"),
    ("Tables", "known_addresses", "C names", "C names"),
    ("Tables", "contexts_first contexts", "tasks and tags", "tasks and tags"),
    ("Module", "path build_id kind tick_first", "modules", "modules"),
    ("Code", "qualname first_line linetable_bytes linetable", "Python code", "Python code"),
    ("Code", "filename", "their files", "Python code"),
    ("CodePart", "code offset linetable", "Python code", "Python code"),
    ("Nodes", "parent kind table address", "stacks", "stacks"),
    ("Thread", "tid name start_ns", "threads", "threads"),
    ("Context", "kind name parent", "tasks and tags", "tasks and tags"),
    ("KnownAddress", "module address name", "C names", "C names"),
    ("Samples", "end_delta_quanta thread node state ticks cpu_quanta wall_quanta context", "samples", "samples"),
    ("Columns", "rows end_delta thread node state ticks wall_lack cpu_lack", "samples", "samples"),
    ("Columns", "distinct distinct_delta context", "samples", "samples"),
    (
        "Weights",
        "kind thread node context count weight variance_kib2",
        "allocated bytes",
        "copied bytes, allocated bytes",
    ),
    ("Count", "reason ticks", "accounting", "accounting"),
    ("Accounting", "ticks sampled dropped refused cpu_process_ns cpu_genba_ns", "accounting", "accounting"),
    ("Accounting", "cpu_sampled_ns cpu_not_sampled_ns wall_not_sampled_ns", "accounting", "accounting"),
    ("Accounting", "handler_ns handler_runs cpu_reaped_ns measures", "accounting", "accounting"),
    ("Accounting", "thread_clocks", "threads", "threads"),
    ("Accounting", "rss_bytes", "memory", "memory"),
    ("Measure", "kind exact genba sampled not_sampled", "accounting", "accounting"),
    ("Reaped", "pid at_ns cpu_ns", "children's CPU", "children's CPU"),
    ("ThreadClock", "thread cpu_ns cpu_not_sampled_ns ended turns cpu_queue_ns name", "threads", "threads"),
    ("Mark", "at_ns kind value thread node other", "marks", "marks"),
    ("Mark", "text", "words of marks", "marks"),
    ("Collection", "start_ns pause_ns generation reason examined", "collections", "collections"),
    ("Collection", "collected uncollectable thread node young threshold", "collections", "collections"),
    ("Collector", "before lost incremental", "collections", "collections"),
    ("End", "why", "end", "end"),
    ("CName", "module build_id start end name origin full_name", "C names", "C names"),
    ("CPlaces", "module build_id strings address_delta frames name full_name file line", "C sources", "C names"),
    ("Source", "path sha256 lines chunks lack", "source text", "source text"),
    ("SourceChunk", "first_line text", "source text", "source text"),
    ("Recorder", "genba_version", "versions", "versions"),
    ("Recorder", "argv", "genba's own", "command line"),
    ("Recorder", "exit_code exit_signal wall_ns", "end", "end"),
    ("NotFollowed", "name reason count python wall_ns cpu_ns command", "not followed", "not followed"),
    ("Heap", "pid realtime_ns moment collected objects bytes pause_ns", "heaps", "heap by class"),
    ("Heap", "file", "files of heaps", "heap by class"),
    ("Heap", "classes class_objects class_bytes", "heap by class", "heap by class"),
    ("Traced", "prof call_ps", "counts of calls", "counts of calls"),
];

/// `Message.field` of all that the format stores.
fn stored() -> BTreeSet<String> {
    let text: String = FORMAT.lines().map(|line| line.split("//").next().unwrap_or("")).collect();
    let messages = text.split("message ").skip(1).filter_map(|message| {
        let (name, rest) = message.split_once('{')?;
        Some((name.trim().to_owned(), rest.split_once('}')?.0.to_owned()))
    });
    let fields = |(message, body): (String, String)| {
        let names = body.split(';').filter_map(|field| field.split_once('=')?.0.split_whitespace().next_back());
        names.map(|name| format!("{message}.{name}")).collect::<Vec<_>>()
    };
    messages.flat_map(fields).collect()
}

#[test]
fn every_field_of_the_format_has_a_row_here_and_in_the_docs() {
    let told: BTreeSet<String> = TOLD
        .iter()
        .flat_map(|(message, fields, ..)| fields.split(' ').map(move |field| format!("{message}.{field}")))
        .collect();
    let stored = stored();
    assert!(stored.contains("CodePart.linetable") && stored.contains("Traced.call_ps"), "{stored:?}");
    assert_eq!(stored.difference(&told).collect::<Vec<_>>(), Vec::<&String>::new(), "say where these are told");
    assert_eq!(told.difference(&stored).collect::<Vec<_>>(), Vec::<&String>::new(), "the format has none of these");
    let mut rows = Rows::default();
    Stored::default().add_to(&mut rows);
    for (message, fields, row, doc) in TOLD {
        let row = format!("  {row:<17} ");
        assert!(rows.page.lines().any(|line| line.starts_with(&row)), "{message}: {fields}: no row `{row}`");
        let doc = format!("| {doc} | ");
        assert!(PRIVACY.lines().any(|line| line.starts_with(&doc)), "{message}: {fields}: no row `{doc}` in the docs");
    }
}

#[test]
fn what_a_run_was_asked_to_count_is_told() {
    let heap = proto::Heap {
        file: "app.heap-1.json".to_owned(),
        classes: vec!["int".to_owned(), "app.Order".to_owned(), "str".to_owned()],
        class_bytes: vec![1, 2],
        ..proto::Heap::default()
    };
    let weights =
        proto::Weights { kind: Measure::Copied.stored(), weight: vec![300, 400], ..proto::Weights::default() };
    let block = proto::Block {
        weights: vec![weights],
        collections: vec![proto::Collection::default()],
        reaped: vec![proto::Reaped { cpu_ns: 2_000_000, ..proto::Reaped::default() }],
        ..proto::Block::default()
    };
    let mut stored = Stored::default();
    stored.add_heaps(&[heap]);
    stored.add_counted(&block);
    let mut rows = Rows::default();
    stored.add_to(&mut rows);
    for row in [
        "  files of heaps    app.heap-1.json\n",
        "  heap by class     app.Order\n                    int\n                    str\n",
        "  copied bytes      700 bytes, by stack\n",
        "  allocated bytes   none\n",
        "  collections       1 collection, each with its time, reason and place\n",
        "  children's CPU    2.00 ms of 1 child process that ended\n",
    ] {
        assert!(rows.page.contains(row), "no {row:?} in\n{}", rows.page);
    }
}
