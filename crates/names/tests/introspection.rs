//! Names found in the interpreters' files with their symbol tables hidden, judged by what the same interpreters say of
//! themselves while they run (introspection.py): the owner and word of each function address must agree.
//! Interpreters: 3.11 to 3.13 of $GENBA_PYTHONS or pyenv, python3.14 and 3.15 of the folder $GENBA_SID (default
//! ~/.cache/genba/sid), 3.11 and 3.14 of python-build-standalone in $GENBA_STANDALONE (default ~/.cache/genba/standalone).
//! A missing one is skipped in words.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    let candidates: Vec<PathBuf> = match std::env::var_os("GENBA_PYTHONS") {
        Some(named) => std::env::split_paths(&named).collect(),
        None => fs::read_dir(home().join(".pyenv/versions"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|build| build.path().join("bin/python3"))
            .collect(),
    };
    let says_version = |python: &PathBuf| {
        let ran = Command::new(python).args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).output();
        ran.is_ok_and(|ran| ran.stdout.trim_ascii() == version.as_bytes())
    };
    match candidates.iter().find(|python| says_version(python)) {
        Some(python) => judge(Command::new(python).args(["-c", SCRIPT]), Path::new("/")),
        None => println!("skipped: no CPython {version} in pyenv and none named by GENBA_PYTHONS"),
    }
}

fn judge_sid(python: &str) {
    let root = std::env::var_os("GENBA_SID").map_or_else(|| home().join(".cache/genba/sid"), PathBuf::from);
    let can_be_run = Command::new("chroot").arg(&root).args([python, "-V"]).output();
    if can_be_run.is_ok_and(|ran| ran.status.success()) {
        judge(Command::new("chroot").arg(&root).args([python, "-c", SCRIPT]), &root);
    } else {
        println!("skipped: no {python} can be run in {} (that needs root)", root.display());
    }
}

fn judge_standalone(version: &str) {
    let folder =
        std::env::var_os("GENBA_STANDALONE").map_or_else(|| home().join(".cache/genba/standalone"), PathBuf::from);
    let python = folder.join(version).join("bin/python3");
    if python.exists() {
        judge(Command::new(&python).args(["-c", SCRIPT]), Path::new("/"));
    } else {
        println!("skipped: no {}", python.display());
    }
}

/// What the interpreter says of one function: owners and words.
type Said = BTreeSet<(String, String)>;

fn judge(python: &mut Command, root: &Path) {
    let ran = python.output().unwrap();
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
    assert!(wrong.is_empty(), "{} wrong names:\n{}", wrong.len(), wrong.join("\n"));
    // Tables made at run time, or in another file, cannot be found; they are few.
    let all: usize = counts.values().sum();
    let missing = counts.get("missing").copied().unwrap_or(0);
    assert!(all > 2000 && missing * 20 < all, "{missing} of {all} functions have no name");
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

/// The file with its `.symtab` turned into an unused section, as far as the search can see.
fn without_symbol_table(mut bytes: Vec<u8>) -> Vec<u8> {
    let table = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    for section in 0..usize::from(u16::from_le_bytes([bytes[60], bytes[61]])) {
        let kind = table + 64 * section + 4..table + 64 * section + 8;
        if bytes[kind.clone()] == 2_u32.to_le_bytes() {
            bytes[kind].fill(0);
        }
    }
    bytes
}

fn home() -> PathBuf {
    PathBuf::from(std::env::var_os("HOME").unwrap_or_default())
}
