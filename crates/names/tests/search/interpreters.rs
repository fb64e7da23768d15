//! The interpreters that judge the search: where they lie, what a missing one means, and which releases must be right.
//! Owns: $GENBA_PYTHONS, $GENBA_SID, $GENBA_DEBUG, $GENBA_STANDALONE, and $GENBA_GATE, with which what `make prepare` can bring must be there.
//! Never: judges a name.

use std::path::{Path, PathBuf};

/// Releases that the whole suite has run on are in a table there.
const TRIED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/limits.md");

/// What make/prepare.sh could not get, and why.
const NOT_HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../build/not-here");

/// pyenv's builds, each with its version.
pub fn pyenv() -> Vec<(String, PathBuf)> {
    let builds = entries_of(&home().join(".pyenv/versions")).into_iter();
    builds.map(|build| (file_name(&build).to_owned(), build)).collect()
}

/// A folder of Debian sid.
pub fn sid() -> PathBuf {
    named("GENBA_SID", "sid")
}

/// A tree of .build-id/xx/….debug: the debug files of the sid's packages.
pub fn debug() -> PathBuf {
    named("GENBA_DEBUG", "debug")
}

/// A folder for each minor version of python-build-standalone.
pub fn standalone() -> PathBuf {
    named("GENBA_STANDALONE", "standalone")
}

/// Nothing was judged, since these files are missing. With $GENBA_GATE that is a failure.
pub fn missing(what: &str, hint: &str) {
    assert!(std::env::var_os("GENBA_GATE").is_none_or(|gate| gate != "1"), "error: {what}\nhint: {hint}");
    left_out(what);
}

/// Nothing was judged of Debian sid. With $GENBA_GATE that is a failure, unless make/prepare.sh said what could not be had: what sid has
/// today is Debian's.
pub fn missing_in_sid(what: &str) {
    let said = std::fs::read_to_string(NOT_HERE).unwrap_or_default();
    if said.contains("Debian sid") || said.contains("no debug files") {
        left_out(what);
    } else {
        missing(what, "make prepare, as root");
    }
}

/// Nothing was judged, and nobody can help it.
pub fn left_out(what: &str) {
    eprintln!("not judged: {what}");
}

/// What is wrong fails the test where the release was tried; a newer one, which comes to Debian sid or pyenv any day, is reported.
pub fn judged(release: &str, is_tried: bool, wrong: &str) {
    if wrong.is_empty() {
        return;
    }
    assert!(!is_tried, "{release}: {wrong}");
    eprintln!("{release} was not tried yet (docs/limits.md), and is not all right: {wrong}");
}

/// Whether docs/limits.md has a row for this release of CPython.
pub fn is_tried(release: &str) -> bool {
    let table = std::fs::read_to_string(TRIED).unwrap_or_else(|error| panic!("{TRIED}: {error}"));
    assert!(table.contains("\n| CPython | build |\n"), "{TRIED} has no table of releases");
    table.lines().any(|line| line.starts_with(&format!("| {release} |")))
}

pub fn entries_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

pub fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// The file with its `.symtab` turned into an unused section, as far as the search can see.
pub fn without_symbol_table(mut bytes: Vec<u8>) -> Vec<u8> {
    let table = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    for section in 0..usize::from(u16::from_le_bytes([bytes[60], bytes[61]])) {
        let kind = table + 64 * section + 4..table + 64 * section + 8;
        if bytes[kind.clone()] == 2_u32.to_le_bytes() {
            bytes[kind].fill(0);
        }
    }
    bytes
}

fn named(variable: &str, folder: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| home().join(".cache/genba").join(folder), PathBuf::from)
}

fn home() -> PathBuf {
    PathBuf::from(std::env::var_os("HOME").unwrap_or_default())
}
