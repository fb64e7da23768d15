//! Every name that is found in a stripped file, judged by the symbol table that was taken away: pyenv's interpreters
//! (their table is hidden from the search) and, where the debug files of the distribution were put beside
//! (`$GENBA_DEBUG`, default ~/.cache/genba/debug, a tree of .build-id/xx/….debug), the stripped ones of $GENBA_SID.
//! What is asked for: no name that belongs to another function. How many functions have one is printed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use genba_names::{CFunction, Image, Names, Origin};

#[test]
fn unstripped_builds_judge_the_search_without_their_symbols() {
    let mut judged = 0;
    for version in ["3.11", "3.12", "3.13"] {
        let root = home().join(".pyenv/versions");
        for build in entries_of(&root).filter(|build| file_name(build).starts_with(&format!("{version}."))) {
            let lib = build.join("lib");
            judged += usize::from(judge_hidden(&lib.join(format!("libpython{version}.so.1.0"))));
            for module in ["_json", "_pickle", "_datetime", "_decimal", "_socket", "_ctypes", "_struct", "array"] {
                let modules = entries_of(&lib.join(format!("python{version}/lib-dynload")));
                for file in modules.filter(|file| file_name(file).starts_with(&format!("{module}."))) {
                    judged += usize::from(judge_hidden(&file));
                }
            }
        }
    }
    if judged == 0 {
        println!("skipped: no CPython 3.11 to 3.13 in pyenv");
    }
}

#[test]
fn debug_files_judge_the_search_in_stripped_builds() {
    let sid = std::env::var_os("GENBA_SID").map_or_else(|| home().join(".cache/genba/sid"), PathBuf::from);
    let debug = std::env::var_os("GENBA_DEBUG").map_or_else(|| home().join(".cache/genba/debug"), PathBuf::from);
    let mut files: Vec<PathBuf> = Vec::new();
    for version in ["3.14", "3.15"] {
        files.push(sid.join(format!("usr/bin/python{version}")));
        files.extend(entries_of(&sid.join(format!("usr/lib/python{version}/lib-dynload"))));
    }
    files.push(sid.join("usr/lib/x86_64-linux-gnu/libc.so.6"));
    let mut judged = 0;
    for file in files {
        let Ok(bytes) = fs::read(&file) else {
            continue;
        };
        let build_id: String = Image::parse(&bytes)
            .unwrap()
            .build_id()
            .unwrap_or_default()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let Some((first, rest)) = build_id.split_at_checked(2) else {
            continue;
        };
        let Ok(symbols) = fs::read(debug.join(format!(".build-id/{first}/{rest}.debug"))) else {
            continue;
        };
        judge(&file, &bytes, &bytes, Some(&symbols));
        judged += 1;
    }
    println!("{judged} stripped files were judged by debug files below {}", debug.display());
}

/// Judges a file that has a symbol table by hiding it. False: no such file.
fn judge_hidden(path: &Path) -> bool {
    let Ok(bytes) = fs::read(path) else {
        return false;
    };
    assert!(Image::parse(&bytes).unwrap().has_symbol_table(), "{} has no symbols to judge by", path.display());
    judge(path, &without_symbol_table(&bytes), &bytes, None);
    true
}

fn judge(path: &Path, stripped: &[u8], whole: &[u8], debug: Option<&[u8]>) {
    let names = Names::new(stripped, None, &[]).unwrap();
    let truth = Names::new(whole, debug, &[]).unwrap();
    let found: Vec<(u64, CFunction)> =
        names.function_starts().filter_map(|start| Some((start, names.name_of(start)?))).collect();
    let mut truths_of_name: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (start, function) in &found {
        if function.origin != Origin::ColdPart
            && let Some(true_function) = truth.name_of(*start)
        {
            truths_of_name.entry(&function.name).or_default().insert(true_function.name);
        }
    }
    let mut wrong = Vec::new();
    let mut by_origin: BTreeMap<Origin, usize> = BTreeMap::new();
    for (start, function) in &found {
        *by_origin.entry(function.origin).or_default() += 1;
        let Some(true_function) = truth.name_of(*start) else {
            continue;
        };
        let fits = match function.origin {
            // A table points to where a function begins.
            Origin::PythonTables => true_function.start == *start && true_function.origin != Origin::ColdPart,
            Origin::Landmark => function.name == true_function.name,
            Origin::IfuncResolver => same_function(&function.name, &true_function.name),
            // The part and the function it is said to belong to have one name in the symbol table.
            Origin::ColdPart => truths_of_name
                .get(function.name.as_str())
                .is_some_and(|truths| truths.iter().any(|name| same_function(name, &true_function.name))),
            Origin::DynamicSymbols => true_function.start <= *start,
            _ => true,
        };
        if !fits {
            wrong.push(format!("{start:x}: {} ({}), in truth {}", function.name, function.origin, true_function.name));
        }
    }
    let total = names.function_starts().count();
    let origins: Vec<String> = by_origin.iter().map(|(origin, count)| format!("{origin} {count}")).collect();
    println!("{}: {} of {total} functions named: {}", path.display(), found.len(), origins.join(", "));
    assert!(wrong.is_empty(), "{}: {} wrong names:\n{}", path.display(), wrong.len(), wrong.join("\n"));
}

/// Whether two names mean one function; the C library gives many of its functions several.
fn same_function(left: &str, right: &str) -> bool {
    let plain = |name: &str| {
        let name = name.trim_start_matches('_').trim_start_matches("IO_").trim_start_matches("new_");
        name.trim_end_matches("_2_1").trim_end_matches("_syscall").to_owned()
    };
    left == right || plain(left) == plain(right)
}

/// The file with its `.symtab` turned into an unused section, as far as the search can see.
fn without_symbol_table(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (table, count) = (word(&bytes, 40), usize::from(u16::from_le_bytes([bytes[60], bytes[61]])));
    for section in 0..count {
        let kind_at = table + 64 * section + 4;
        if bytes[kind_at..kind_at + 4] == 2_u32.to_le_bytes() {
            bytes[kind_at..kind_at + 4].fill(0);
        }
    }
    assert!(!Image::parse(&bytes).unwrap().has_symbol_table());
    bytes
}

fn entries_of(folder: &Path) -> std::vec::IntoIter<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter()
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn home() -> PathBuf {
    PathBuf::from(std::env::var_os("HOME").unwrap_or_default())
}
