//! Names found in the interpreters' files with their symbol tables hidden, judged by what the same interpreters say of
//! themselves while they run (introspection.py): the owner and word of each function address must agree.
//! Interpreters: 3.11 to 3.13 of $GENBA_PYTHONS or pyenv, python3.14 and 3.15 of Debian sid, 3.11 and 3.14 of python-build-standalone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::interpreters::{
    is_tried, judged, left_out, missing, missing_in_sid, pyenv, sid, standalone, without_symbol_table,
};
use genba_names::{Names, Origin};

const SCRIPT: &str = include_str!("introspection.py");

#[test]
fn python_3_11() {
    judge_pyenv("3.11");
}

#[test]
fn python_3_12() {
    judge_pyenv("3.12");
}

#[test]
fn python_3_13() {
    judge_pyenv("3.13");
}

#[test]
fn python_3_14() {
    judge_sid("python3.14");
}

#[test]
fn python_3_15() {
    judge_sid("python3.15");
}

#[test]
fn python_3_11_standalone() {
    judge_standalone("3.11");
}

#[test]
fn python_3_14_standalone() {
    judge_standalone("3.14");
}

/// An interpreter that $GENBA_PYTHONS names (executables, separated by colons), else pyenv's.
fn judge_pyenv(version: &str) {
    let named = std::env::var_os("GENBA_PYTHONS");
    let candidates: Vec<PathBuf> = match &named {
        Some(named) => std::env::split_paths(named).collect(),
        None => pyenv().into_iter().map(|(_, build)| build.join("bin/python3")).collect(),
    };
    let is_of = |python: &&PathBuf| {
        let release = release_of(Command::new(python));
        release.is_some_and(|release| release.strip_prefix(version).is_some_and(|rest| rest.starts_with('.')))
    };
    match candidates.iter().find(is_of) {
        Some(python) => judge(|| Command::new(python), Path::new("/")),
        None if named.is_some() => left_out(&format!("GENBA_PYTHONS names no CPython {version}")),
        None => missing(&format!("no CPython {version} in pyenv"), &format!("pyenv install {version}")),
    }
}

fn judge_sid(python: &str) {
    let root = sid();
    let in_root = || {
        let mut command = Command::new("chroot");
        command.arg(&root).arg(python);
        command
    };
    if release_of(in_root()).is_none() {
        return missing_in_sid(&format!("no {python} can be run in {} (that needs root)", root.display()));
    }
    let maps = root.join("proc/self/maps");
    assert!(maps.exists(), "error: no {}\nhint: make prepare, as root, mounts /proc there", maps.display());
    judge(in_root, &root);
}

fn judge_standalone(version: &str) {
    let python = standalone().join(version).join("bin/python3");
    if python.exists() {
        judge(|| Command::new(&python), Path::new("/"));
    } else {
        missing(&format!("no {}", python.display()), "make prepare, which needs go, takes it from a Go module");
    }
}

/// None: it cannot be run, or is no CPython 3.
fn release_of(mut python: Command) -> Option<String> {
    let ran = python.args(["-c", "import platform; print(platform.python_version())"]).output().ok()?;
    let said = String::from_utf8(ran.stdout).ok()?;
    ran.status.success().then(|| said.trim().to_owned())
}

/// What the interpreter says of one function: owners and words.
type Said = BTreeSet<(String, String)>;

fn judge(python: impl Fn() -> Command, root: &Path) {
    let release = release_of(python()).unwrap();
    let ran = python().args(["-c", SCRIPT]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let mut said: BTreeMap<String, BTreeMap<u64, Said>> = BTreeMap::new();
    for line in String::from_utf8(ran.stdout).unwrap().lines() {
        let [file, address, owner, word] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let address = u64::from_str_radix(address, 16).unwrap();
        let functions = said.entry(file.to_owned()).or_default();
        functions.entry(address).or_default().insert((owner.to_owned(), word.to_owned()));
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (file, functions) in &said {
        let bytes = fs::read(root.join(file.trim_start_matches('/'))).unwrap();
        let bytes = without_symbol_table(bytes);
        let names = Names::new(&bytes, None, &[]).unwrap();
        for (&address, said) in functions {
            let found = names.name_of(address);
            let verdict = match &found {
                None => "missing",
                Some(found) if found.origin == Origin::DynamicSymbols => "exported",
                Some(found) if found.origin != Origin::PythonTables => "missing",
                Some(found) if found.start != address => "wrong",
                Some(found) => verdict_on(&found.name, said),
            };
            *counts.entry(verdict).or_default() += 1;
            if verdict == "wrong" {
                wrong.push(format!("{file} {address:x}: {found:?}, but Python says {said:?}"));
            }
        }
    }
    let files: Vec<&String> = said.keys().take(1).collect();
    println!("{files:?} and {} more: {counts:?}", said.len() - 1);
    // Tables made at run time, or in another file, cannot be found; they are few.
    let all: usize = counts.values().sum();
    let unnamed = counts.get("missing").copied().unwrap_or(0);
    if all <= 2000 || unnamed * 20 >= all {
        wrong.push(format!("{unnamed} of {all} functions have no name"));
    }
    judged(&release, is_tried(&release), &wrong.join("\n"));
}

fn verdict_on(name: &str, said: &Said) -> &'static str {
    if name.starts_with("slot_") {
        return "neutral";
    }
    let mut owners: Vec<&str> = said.iter().map(|(owner, _)| owner.as_str()).collect();
    owners.dedup();
    for (owner, word) in said {
        // A module's definition may say `io` where the module is called `_io`.
        let mut prefixes = [owner.as_str(), owner.trim_start_matches('_')].into_iter();
        let rest = prefixes.find_map(|prefix| name.strip_prefix(prefix)?.strip_prefix('.'));
        if rest.is_some_and(|rest| says(rest, word)) {
            return if owners.len() == 1 { "same" } else { "wrong" };
        }
    }
    if said.iter().any(|(_, word)| says(name, word)) { "bare" } else { "wrong" }
}

/// Whether one of the words in `found` (`__int__/__pos__`) is Python's word for the same slot.
fn says(found: &str, word: &str) -> bool {
    let one_slot = match word {
        "__lt__" | "__le__" | "__eq__" | "__ne__" | "__gt__" | "__ge__" => "tp_richcompare",
        "__delitem__" => "__setitem__",
        "__delattr__" => "__setattr__",
        "__delete__" => "__set__",
        "__buffer__" => "bf_getbuffer",
        "__release_buffer__" => "bf_releasebuffer",
        other => other,
    };
    let forward = word.strip_prefix("__r").map(|rest| format!("__{rest}"));
    found.split('/').any(|one| one == word || one == one_slot || Some(one) == forward.as_deref())
}
