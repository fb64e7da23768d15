//! `judge_names RECORDING ROOT DEBUG`: the C names that a recording stores, judged by separate debug files that nobody looked at while it was
//! made, as one line of JSON. ROOT is the folder that the recorded paths lie in, DEBUG a tree of .build-id/xx/….debug. tests/names/test_names_truth.py
//! makes the recordings. An example, so that every build of the tests leaves it in target/debug/examples.
//! Weights are samples of running threads. Never: counts a name that only tells who leads to a function (`NAME⁺`) as its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::ExitCode;

use genba_format::proto::{self, NodeKind};
use genba_format::{ProcessKey, Recording};
use genba_names::{Image, Names, Origin};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [recording, root, debug] = &words[..] else {
        eprintln!(
            "error: expected a recording and two folders, found {words:?}\nhint: judge_names RECORDING ROOT DEBUG"
        );
        return ExitCode::from(2);
    };
    let read = std::fs::read(recording).map_err(|error| error.to_string());
    match read.and_then(|bytes| genba_format::read(&bytes).map_err(|error| error.to_string())) {
        Ok(read) => println!("{}", judge(&read, Path::new(root), Path::new(debug))),
        Err(error) => {
            eprintln!("error: {recording}: {error}\nhint: genba check tells more");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// What the judge says about one address.
#[derive(Clone, PartialEq, Eq)]
enum Verdict {
    /// The function's own name.
    True,
    /// `NAME⁺`: whom the function works for; the function that the debug file knows there.
    Lineage(String),
    /// The function that the debug file knows there.
    Unnamed(String),
    Wrong(String),
    /// No debug file for this module.
    NotJudged,
}

#[derive(Default)]
struct Shares {
    frames: u64,
    named: u64,
    lineage: u64,
    judged: u64,
}

impl Shares {
    fn add(&mut self, verdict: &Verdict, ticks: u64) {
        self.frames += ticks;
        self.judged += if *verdict == Verdict::NotJudged { 0 } else { ticks };
        self.named += if *verdict == Verdict::True { ticks } else { 0 };
        self.lineage += if matches!(verdict, Verdict::Lineage(_)) { ticks } else { 0 };
    }

    fn json(&self) -> Value {
        json!({"frames": self.frames, "named": self.named, "lineage": self.lineage, "judged": self.judged})
    }
}

fn judge(recording: &Recording, root: &Path, debug: &Path) -> Value {
    let mut judge = Judge { root, debug, names: stored_names(recording), files: HashMap::new(), known: HashMap::new() };
    let (mut first, mut under_python, mut all) = <(Shares, Shares, Shares)>::default();
    let mut wrong = BTreeSet::new();
    let (mut missing, mut first_missing) = <(BTreeMap<String, u64>, BTreeMap<String, u64>)>::default();
    for process in processes(recording) {
        for (&leaf, &ticks) in &process.weights {
            let mut stack: Vec<usize> = std::iter::successors(Some(leaf), |&node| process.nodes[node].parent).collect();
            stack.reverse();
            let mut above: Option<u32> = None;
            let mut seen_python = false;
            for node in stack.into_iter().map(|node| &process.nodes[node]) {
                let caller = above.replace(node.kind);
                seen_python |= node.kind == NodeKind::Python as u32;
                let Some(look_up) = look_up(node.kind, node.address) else {
                    continue;
                };
                let module = &process.modules[node.table as usize];
                let verdict = judge.at(module, look_up);
                all.add(&verdict, ticks);
                if seen_python {
                    under_python.add(&verdict, ticks);
                }
                let file = module.0.rsplit('/').next().unwrap_or_default();
                let is_first = caller == Some(NodeKind::Python as u32);
                if is_first {
                    first.add(&verdict, ticks);
                }
                if let (Verdict::Unnamed(truth) | Verdict::Lineage(truth), true) = (&verdict, is_first) {
                    *first_missing.entry(format!("{truth} ({file})")).or_default() += ticks;
                }
                match verdict {
                    Verdict::Wrong(words) => _ = wrong.insert(format!("{file}+{look_up:#x}: {words}")),
                    Verdict::Unnamed(truth) => *missing.entry(format!("{truth} ({file})")).or_default() += ticks,
                    Verdict::True | Verdict::Lineage(_) | Verdict::NotJudged => {}
                }
            }
        }
    }
    assert!(all.frames > 0, "a recording without a C frame cannot be judged");
    let shares = json!({"first": first.json(), "under_python": under_python.json(), "all": all.json()});
    json!({"shares": shares, "wrong": wrong, "missing": heaviest(missing), "first_missing": heaviest(first_missing)})
}

fn heaviest(functions: BTreeMap<String, u64>) -> Vec<(u64, String)> {
    let mut functions: Vec<(u64, String)> = functions.into_iter().map(|(name, ticks)| (ticks, name)).collect();
    functions.sort_unstable_by(|left, right| right.cmp(left));
    functions.truncate(MISSING_MAX);
    functions
}

/// As many functions without a name are printed.
const MISSING_MAX: usize = 40;

/// The byte inside of the function that a node stands for.
fn look_up(kind: u32, address: u64) -> Option<u64> {
    match NodeKind::try_from(kind as i32).ok()? {
        NodeKind::Python | NodeKind::Mark => None,
        NodeKind::CReturn => Some(address - 1),
        NodeKind::CLeaf | NodeKind::CInferredCall | NodeKind::CInferredOperands => Some(address),
    }
}

type Module = (String, Vec<u8>);

struct Judge<'r> {
    root: &'r Path,
    debug: &'r Path,
    names: HashMap<Module, BTreeMap<u64, &'r proto::CName>>,
    /// Bytes live as long as the judge.
    files: HashMap<Module, Option<Names<'static>>>,
    known: HashMap<(Module, u64), Verdict>,
}

impl Judge<'_> {
    fn at(&mut self, module: &Module, address: u64) -> Verdict {
        let key = (module.clone(), address);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let verdict = self.verdict(module, address);
        self.known.insert(key, verdict.clone());
        verdict
    }

    fn verdict(&mut self, module: &Module, address: u64) -> Verdict {
        let (root, debug) = (self.root, self.debug);
        let files = self.files.entry(module.clone()).or_insert_with(|| truth_of(module, root, debug));
        let Some(truth) = files else {
            return Verdict::NotJudged;
        };
        let rows = self.names.get(module);
        let row = rows.and_then(|rows| rows.range(..=address).next_back()).map(|(_, row)| *row);
        let row = row.filter(|row| address < row.end && row.origin != "no name");
        let symbol =
            truth.name_of(address).filter(|found| matches!(found.origin, Origin::DebugFile | Origin::ColdPart));
        let Some(row) = row else {
            return Verdict::Unnamed(symbol.map_or("?".to_owned(), |found| found.name));
        };
        let Some(symbol) = symbol else {
            // Stubs of the linker have no symbol.
            return if row.origin == "linker stub" { Verdict::True } else { Verdict::NotJudged };
        };
        let fits = match row.origin.as_str() {
            "dominated" => return Verdict::Lineage(symbol.name),
            "cold part" => {
                let whole = rows.into_iter().flat_map(BTreeMap::values);
                let mut wholes = whole.filter(|other| other.name == row.name && other.origin != "cold part");
                let true_at = |address| truth.name_of(address).map(|found| found.name);
                // Where the function itself was not hit there is no row to compare with; crates/names/tests/search/judge.rs compares them all.
                wholes.clone().next().is_none()
                    || wholes.any(|other| true_at(other.start).as_ref() == Some(&symbol.name))
            }
            "method table" => symbol.start == row.start && symbol.origin != Origin::ColdPart,
            "landmark" => symbol.name == row.name,
            _ => symbol.start == row.start || same_function(&row.name, &symbol.name),
        };
        match fits {
            true => Verdict::True,
            false => Verdict::Wrong(format!("{} ({}), in truth {}", row.name, row.origin, symbol.name)),
        }
    }
}

/// Whether two names mean one function; the C library gives many of its functions several.
fn same_function(left: &str, right: &str) -> bool {
    let plain =
        |name: &str| name.trim_start_matches('_').trim_start_matches("IO_").trim_start_matches("libc_").to_owned();
    plain(left) == plain(right)
}

fn truth_of(module: &Module, root: &Path, debug: &Path) -> Option<Names<'static>> {
    let (path, build_id) = module;
    let image: &'static [u8] = std::fs::read(root.join(path.trim_start_matches('/'))).ok()?.leak();
    if Image::parse(image).ok()?.build_id()? != build_id {
        return None;
    }
    let (first, rest) = build_id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let symbols: &'static [u8] = std::fs::read(debug.join(format!(".build-id/{first:02x}/{rest}.debug"))).ok()?.leak();
    Names::new(image, Some(symbols), &[]).ok()
}

fn stored_names(recording: &Recording) -> HashMap<Module, BTreeMap<u64, &proto::CName>> {
    let mut names: HashMap<Module, BTreeMap<u64, &proto::CName>> = HashMap::new();
    for row in recording.blocks.iter().flat_map(|read| &read.block.c_names) {
        names.entry((row.module.clone(), row.build_id.clone())).or_default().insert(row.start, row);
    }
    names
}

#[derive(Default)]
struct Process {
    strings: Vec<Vec<u8>>,
    modules: Vec<Module>,
    nodes: Vec<Node>,
    /// Samples of running threads by leaf.
    weights: BTreeMap<usize, u64>,
}

struct Node {
    parent: Option<usize>,
    kind: u32,
    table: u32,
    address: u64,
}

/// Blocks of one process come in order; the recordings judged here are whole.
fn processes(recording: &Recording) -> Vec<Process> {
    assert!(recording.faults.is_empty() && recording.lost.is_empty(), "a damaged recording cannot be judged");
    let mut found: BTreeMap<ProcessKey, Process> = BTreeMap::new();
    for read in &recording.blocks {
        let process = found.entry(read.header.process_key).or_default();
        if let Some(tables) = &read.block.tables {
            process.strings.extend(tables.strings.iter().cloned());
            for module in &tables.modules {
                let path = String::from_utf8_lossy(&process.strings[module.path as usize]).into_owned();
                process.modules.push((path, module.build_id.clone()));
            }
            if let Some(nodes) = &tables.nodes {
                for row in 0..nodes.parent.len() {
                    let parent = nodes.parent[row].checked_sub(1).map(|parent| parent as usize);
                    let (kind, table, address) = (nodes.kind[row], nodes.table[row], nodes.address[row]);
                    process.nodes.push(Node { parent, kind, table, address });
                }
            }
        }
        if let Some(samples) = read.whole().samples {
            for row in 0..samples.node.len() {
                if let (Some(leaf), 0 | 1) = (samples.node[row].checked_sub(1), samples.state[row]) {
                    *process.weights.entry(leaf as usize).or_default() += 1;
                }
            }
        }
    }
    found.into_values().collect()
}
