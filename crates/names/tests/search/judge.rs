//! Every name that is found in a stripped file, judged by the symbol table that was taken away: pyenv's interpreters
//! (their table is hidden from the search) and, where the debug files of the distribution were put beside, the stripped ones of Debian sid.
//! What is asked for: no name that belongs to another function. How many functions have one is printed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::interpreters::{
    debug, entries_of, file_name, is_tried, judged, missing, missing_in_sid, pyenv, sid, without_symbol_table,
};
use genba_names::{CFunction, Image, Names, Origin};

/// The C library of the sid with which the judge agreed last.
const LIBC_TRIED: &str = "stable release version 2.43.";

#[test]
fn python_3_11_judges_the_search_without_its_symbols() {
    judge_pyenv("3.11");
}

#[test]
fn python_3_12_judges_the_search_without_its_symbols() {
    judge_pyenv("3.12");
}

#[test]
fn python_3_13_judges_the_search_without_its_symbols() {
    judge_pyenv("3.13");
}

#[test]
fn debug_files_judge_the_search_in_python_3_14() {
    judge_sid("3.14");
}

#[test]
fn debug_files_judge_the_search_in_python_3_15() {
    judge_sid("3.15");
}

#[test]
fn debug_files_judge_the_search_in_the_c_library() {
    let path = sid().join("usr/lib/x86_64-linux-gnu/libc.so.6");
    let is_tried = |bytes: &[u8]| bytes.windows(LIBC_TRIED.len()).any(|window| window == LIBC_TRIED.as_bytes());
    match fs::read(&path).ok().and_then(|bytes| Some((is_tried(&bytes), judge_stripped(&path)?))) {
        Some((is_tried, wrong)) => judged("the C library of Debian sid", is_tried, &wrong),
        None => missing_in_sid(&format!("{} has no debug file in {}", path.display(), debug().display())),
    }
}

/// Judges files that have a symbol table by hiding it.
fn judge_pyenv(version: &str) {
    let mut files = 0;
    let is_of = |release: &str| release.strip_prefix(version).is_some_and(|rest| rest.starts_with('.'));
    for (release, build) in pyenv().into_iter().filter(|(release, _)| is_of(release)) {
        let lib = build.join("lib");
        let modules = ["_json", "_pickle", "_datetime", "_decimal", "_socket", "_ctypes", "_struct", "array"];
        let is_judged = |file: &Path| modules.iter().any(|module| file_name(file).starts_with(&format!("{module}.")));
        let of_modules = entries_of(&lib.join(format!("python{version}/lib-dynload")));
        let main = lib.join(format!("libpython{version}.so.1.0"));
        for path in of_modules.into_iter().filter(|file| is_judged(file)).chain([main]) {
            let Ok(bytes) = fs::read(&path) else { continue };
            assert!(Image::parse(&bytes).unwrap().has_symbol_table(), "{} has no symbols to judge by", path.display());
            let stripped = without_symbol_table(bytes.clone());
            assert!(!Image::parse(&stripped).unwrap().has_symbol_table());
            judged(&release, is_tried(&release), &judge(&path, &stripped, &bytes, None));
            files += 1;
        }
    }
    if files == 0 {
        missing(&format!("no CPython {version} in pyenv"), &format!("pyenv install {version}"));
    }
}

fn judge_sid(version: &str) {
    let sid = sid();
    let release = release_in(&sid, version);
    let mut files = 0;
    let modules = entries_of(&sid.join(format!("usr/lib/python{version}/lib-dynload")));
    for path in modules.into_iter().chain([sid.join(format!("usr/bin/python{version}"))]) {
        if let Some(wrong) = judge_stripped(&path) {
            judged(&release, is_tried(&release), &wrong);
            files += 1;
        }
    }
    if files == 0 {
        missing_in_sid(&format!("no CPython {version} in {} has debug files in {}", sid.display(), debug().display()));
    }
    println!("{files} stripped files of CPython {release} were judged by debug files");
}

/// As the package says.
fn release_in(sid: &Path, version: &str) -> String {
    let status = fs::read_to_string(sid.join("var/lib/dpkg/status")).unwrap_or_default();
    let package = status.split("\n\n").find(|package| package.starts_with(&format!("Package: python{version}\n")));
    let said = package.and_then(|package| package.lines().find_map(|line| line.strip_prefix("Version: ")));
    said.and_then(|said| said.split(['-', '~', '+']).next()).unwrap_or(version).to_owned()
}

/// What is wrong. None: no such file, or it has no debug file.
fn judge_stripped(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let build_id = Image::parse(&bytes).unwrap().build_id()?.to_vec();
    let build_id: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = build_id.split_at_checked(2)?;
    let symbols = fs::read(debug().join(format!(".build-id/{first}/{rest}.debug"))).ok()?;
    Some(judge(path, &bytes, &bytes, Some(&symbols)))
}

/// What is wrong.
fn judge(path: &Path, stripped: &[u8], whole: &[u8], debug: Option<&[u8]>) -> String {
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
    if wrong.is_empty() {
        return String::new();
    }
    format!("{}: {} wrong names:\n{}", path.display(), wrong.len(), wrong.join("\n"))
}

/// Whether two names mean one function; the C library gives many of its functions several.
fn same_function(left: &str, right: &str) -> bool {
    let plain = |name: &str| {
        let name = name.trim_start_matches('_').trim_start_matches("IO_").trim_start_matches("new_");
        name.trim_end_matches("_2_1").trim_end_matches("_syscall").to_owned()
    };
    left == right || plain(left) == plain(right)
}
