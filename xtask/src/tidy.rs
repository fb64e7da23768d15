//! `cargo xtask tidy`: the house rules a machine can hold (lengths, headers, names, leftovers, places of this machine).
//! Owns: one function a rule, each naming what to do instead. Never: repairs. Invariants and paths in comments have their own files.

mod circles;
mod crowds;
mod invariants;
mod paths;

use std::path::Path;

use crate::sources::{SourceFile, read_below};
use crate::violation::{Violation, verdict};

const CODE: &[&str] = &["rs", "py", "ts", "tsx", "c", "h", "css", "sh", "mk", "mjs", "js"];
const LINES_MAX: usize = 500;
const HEADER_LINES_MAX: usize = 25;
const REASON: &str = "Over 500 lines:";
const DRAWERS: &[&str] = &["utils", "util", "common", "helpers", "helper", "misc", "types"];
/// Written in two halves so that this file passes its own check.
const LEFTOVERS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X:"),
    concat!("unimple", "mented!"),
    concat!("to", "do!("),
];
const MACHINE: &[&str] = &[
    concat!("/ro", "ot/"),
    concat!("/tmp/", "target"),
    concat!("deb.debian", ".org"),
    concat!("snapshot.debian", ".org"),
    concat!("registry.npmjs", ".org"),
    concat!("pypi.org", "/simple"),
    concat!("index", "-url"),
    concat!("snapshot", "=http"),
];

/// Folders with words that a reader sees. Their word for the moment at which a thread is due is *tick* (docs/glossary.md).
const SCREENS: &[&str] = &["crates/cli/", "crates/profile/", "python/genba/", "web/model/", "web/parts/"];
const NOT_TICK: &[&str] = &[
    concat!("two lo", "oks"),
    concat!("the lo", "oks"),
    concat!("dropped lo", "oks"),
    concat!("genba lo", "oks"),
    concat!("lo", "oks a second"),
    concat!("lo", "oks per second"),
    concat!("look", " more often"),
    concat!("shorter than a lo", "ok"),
    concat!("was look", "ed at in"),
    concat!("gla", "nces"),
];

pub fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let root = arguments.first().map_or(root, |other| Path::new(other));
    verdict("tidy", check(&read_below(root)?))
}

pub fn check(files: &[SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files {
        lengths(file, &mut violations);
        headers(file, &mut violations);
        names(file, &mut violations);
        leftovers(file, &mut violations);
        machine(file, &mut violations);
        ticks(file, &mut violations);
    }
    invariants::check(files, &mut violations);
    paths::check(files, &mut violations);
    circles::check(files, &mut violations);
    crowds::check(files, &mut violations);
    violations
}

fn lengths(file: &SourceFile, violations: &mut Vec<Violation>) {
    let lines = file.text.lines().count();
    let reasoned = file.text.lines().take(HEADER_LINES_MAX).any(|line| line.contains(REASON));
    if CODE.contains(&file.extension()) && lines > LINES_MAX && !reasoned {
        violations.push(Violation::new(
            &file.path,
            format!("{lines} lines"),
            format!("split it, or say why in its header: `{REASON} …`"),
        ));
    }
}

fn headers(file: &SourceFile, violations: &mut Vec<Violation>) {
    if file.extension() != "rs" {
        return;
    }
    let header = file.text.lines().take_while(|line| line.starts_with("//!")).count();
    let generated = file
        .text
        .lines()
        .next()
        .is_some_and(|line| line.starts_with("// @generated") || line.starts_with("// Generated"));
    if header == 0 && !generated {
        violations.push(Violation::new(
            &file.path,
            "no `//!` header",
            "begin with what the file owns, must not do and keeps",
        ));
    }
    if header > HEADER_LINES_MAX {
        violations.push(Violation::new(
            &file.path,
            format!("a header of {header} lines"),
            format!("at most {HEADER_LINES_MAX}; the rest belongs to docs/"),
        ));
    }
}

fn names(file: &SourceFile, violations: &mut Vec<Violation>) {
    if !CODE.contains(&file.extension()) {
        return;
    }
    let folders = file.path.split('/').rev().skip(1);
    for name in folders.chain([file.stem()]) {
        if DRAWERS.contains(&name.to_ascii_lowercase().as_str()) {
            violations.push(Violation::new(
                &file.path,
                format!("a drawer named `{name}`"),
                "put each function with the noun it serves",
            ));
        }
    }
}

fn leftovers(file: &SourceFile, violations: &mut Vec<Violation>) {
    for (number, line) in numbered(file) {
        for leftover in LEFTOVERS {
            if contains_word(line, leftover) {
                violations.push(Violation::new(
                    format!("{}:{number}", file.path),
                    format!("`{leftover}`"),
                    "do it, or leave it out and say so in docs/limits.md",
                ));
            }
        }
    }
}

fn machine(file: &SourceFile, violations: &mut Vec<Violation>) {
    if file.path == "Cargo.lock" {
        return;
    }
    for (number, line) in numbered(file) {
        for place in MACHINE {
            if contains_word(line, place) {
                violations.push(Violation::new(
                    format!("{}:{number}", file.path),
                    format!("`{place}`, a place of one machine"),
                    "take it from the environment or the tool's own configuration",
                ));
            }
        }
    }
}

fn ticks(file: &SourceFile, violations: &mut Vec<Violation>) {
    if !SCREENS.iter().any(|folder| file.path.starts_with(folder)) {
        return;
    }
    for (number, line) in numbered(file) {
        for word in NOT_TICK {
            if contains_word(&line.to_lowercase(), word) {
                violations.push(Violation::new(
                    format!("{}:{number}", file.path),
                    format!("`{word}`"),
                    "the word is `tick` (docs/glossary.md)",
                ));
            }
        }
    }
}

fn numbered(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    file.text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// True when `word` stands in `line` with no letter or digit right before it (a root below `/proc/1` is not the machine's own).
fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        !line[..start]
            .chars()
            .next_back()
            .is_some_and(|before| before.is_alphanumeric() || before == '}' || before == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the rules say about one file, as text.
    fn check_file(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile { path: path.into(), text: text.into() };
        check(&[file]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_bad_fixture_fails_in_every_rule() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tidy");
        let all: Vec<String> =
            check(&read_below(&root).expect("the fixture is there")).iter().map(ToString::to_string).collect();
        for expected in [
            "src/long.rs: 501 lines",
            "src/bare.rs: no `//!` header",
            "src/wordy.rs: a header of 26 lines",
            "src/utils.py: a drawer named `utils`",
            "src/common/names.ts: a drawer named `common`",
            &format!("src/left.py:1: `{}`", LEFTOVERS[0]),
            &format!("src/left.py:2: `{}`", MACHINE[0]),
            &format!("web/model/words.ts:2: `{}`", NOT_TICK[1]),
            "ARCHITECTURE.md: I-02 is cited in no code",
            "ARCHITECTURE.md: I-03 is cited in no test",
            "src/cites.rs:2: I-09 is not defined",
            "src/cites.rs:3: `gone.rs`, which is not there",
        ] {
            assert!(all.iter().any(|line| line.starts_with(expected)), "nothing begins with {expected:?} in {all:#?}");
        }
        assert_eq!(all.len(), 12, "{all:#?}");
        assert!(run(Path::new("nowhere"), &[root.display().to_string()]).is_err());
    }

    #[test]
    fn a_long_file_with_a_reason_passes() {
        let long = format!("//! A table.\n//! {REASON} one table.\n{}", "//\n".repeat(600));
        assert_eq!(check_file("src/table.rs", &long), Vec::<String>::new());
    }

    #[test]
    fn a_path_inside_another_root_is_no_machine_path() {
        assert_eq!(check_file("a.md", concat!("/proc/PID/ro", "ot/usr is fine")), Vec::<String>::new());
        assert_eq!(check_file("a.md", concat!("/ro", "ot/.cache")).len(), 1);
    }
}
