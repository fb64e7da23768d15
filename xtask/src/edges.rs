//! `cargo xtask edges`: compares edges.toml with `cargo metadata` and the imports of Rust, Python and TypeScript files.
//! Owns: the comparison of crates; one file a language does the imports. Never: repairs.

mod floors;
mod python;
mod typescript;

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

use crate::imports;
use crate::parts::{Part, TABLE, read_table};
use crate::sources::{SourceFile, read_below};
use crate::violation::{Violation, verdict};

pub fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let root = arguments.first().map_or(root, |other| Path::new(other));
    let metadata = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot start `cargo metadata`: {error}"))?;
    if !metadata.status.success() {
        return Err(format!(
            "`cargo metadata` failed in {}: {}",
            root.display(),
            String::from_utf8_lossy(&metadata.stderr)
        ));
    }
    let metadata: Json = serde_json::from_slice(&metadata.stdout)
        .map_err(|error| format!("`cargo metadata` printed no JSON: {error}"))?;
    let files = read_below(root)?;
    let parts = read_table(&files)?;
    verdict("edges", check(&parts, &metadata, &files))
}

pub fn check(parts: &[Part], metadata: &Json, files: &[SourceFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    crates(parts, metadata, &mut violations);
    let read = imports::crates(files, &mut violations);
    for part in parts {
        floors::check(part, read.iter().find(|one| one.folder == part.path), &mut violations);
        let held: Vec<&SourceFile> = files.iter().filter(|file| part.holds(&file.path)).collect();
        if held.is_empty() {
            violations.push(Violation::new(
                TABLE,
                format!("part `{}` has no file below {}", part.name, part.path),
                "take the row out, or correct its path",
            ));
        }
        for file in held {
            never(part, file, &mut violations);
            python::check(part, file, files, &mut violations);
            typescript::check(part, parts, file, &mut violations);
        }
    }
    violations
}

/// Dependencies of each workspace crate against its row.
fn crates(parts: &[Part], metadata: &Json, violations: &mut Vec<Violation>) {
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(part) = parts.iter().find(|part| part.crate_name.as_deref() == Some(name)) else {
            violations.push(Violation::new(
                TABLE,
                format!("crate `{name}` has no row"),
                "add it with the parts it may import",
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let wanted = dependency["name"].as_str().unwrap_or_default();
            let user = dependency["kind"].is_null();
            let ours = parts.iter().find(|other| other.crate_name.as_deref() == Some(wanted));
            let allowed = match ours {
                Some(other) => part.may.contains(&other.name),
                None if user => part.libraries.iter().any(|library| library == wanted),
                None => part.build.iter().chain(&part.libraries).any(|library| library == wanted),
            };
            if !allowed {
                let list = match (ours, user) {
                    (Some(_), _) => "may",
                    (None, true) => "libraries",
                    (None, false) => "build",
                };
                violations.push(Violation::new(
                    format!("{}/Cargo.toml", part.path),
                    format!("`{}` depends on `{wanted}`", part.name),
                    format!("`{list}` in {TABLE} does not name it: go without, or decide it there"),
                ));
            }
            let pinned = dependency["req"].as_str().is_some_and(|req| req.starts_with('='));
            if ours.is_none() && !pinned {
                violations.push(Violation::new(
                    format!("{}/Cargo.toml", part.path),
                    format!("`{wanted}` is not pinned"),
                    "write its version as `=x.y.z`",
                ));
            }
        }
    }
}

/// Names a part never touches, as whole words outside of comments.
fn never(part: &Part, file: &SourceFile, violations: &mut Vec<Violation>) {
    if !matches!(file.extension(), "rs" | "ts" | "tsx" | "py")
        || file.path.contains(".test.")
        || file.path.contains("/tests/")
    {
        return;
    }
    for (index, line) in file.text.lines().enumerate() {
        if file.extension() == "rs" && line.trim() == "#[cfg(test)]" {
            return;
        }
        let code = line.trim_start();
        if ["//", "*", "/*", "#"].iter().any(|start| code.starts_with(start)) {
            continue;
        }
        let code = code.split(" // ").next().unwrap_or_default();
        for word in &part.never {
            let found = match file.extension() {
                "rs" => contains(code, &format!("{word}::")) || contains(code, &format!("extern crate {word}")),
                _ => contains(code, word),
            };
            if found {
                violations.push(Violation::new(
                    format!("{}:{}", file.path, index + 1),
                    format!("`{}` touches `{word}`", part.name),
                    format!("`never` in {TABLE} forbids it here"),
                ));
            }
        }
    }
}

fn contains(code: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '"';
    code.match_indices(word).any(|(start, _)| {
        let before = code[..start].chars().next_back();
        let after = code[start + word.len()..].chars().next();
        !before.is_some_and(part_of_name)
            && (word.ends_with([':', '(']) || !after.is_some_and(|c| c.is_alphanumeric() || c == '_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture() -> (Vec<Part>, Json, Vec<SourceFile>) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/edges");
        let files = read_below(&root).expect("the fixture is there");
        let metadata = files.iter().find(|file| file.path == "metadata.json");
        let metadata = serde_json::from_str(&metadata.expect("it has metadata").text);
        let parts = read_table(&files).expect("its table is one");
        (parts, metadata.expect("its metadata is JSON"), files)
    }

    #[test]
    fn the_bad_fixture_fails_in_every_rule() {
        let (parts, metadata, files) = fixture();
        let all: Vec<String> = check(&parts, &metadata, &files).iter().map(ToString::to_string).collect();
        for expected in [
            "crates/inner/Cargo.toml: `inner` depends on `outer-crate`; `may`",
            "crates/inner/Cargo.toml: `inner` depends on `serde`; `libraries`",
            "crates/inner/Cargo.toml: `serde` is not pinned",
            "crates/inner/Cargo.toml: `inner` depends on `bindgen`; `build`",
            "edges.toml: crate `stray-crate` has no row",
            "edges.toml: part `gone` has no file below crates/gone",
            "crates/inner/src/lib.rs:2: `inner` touches `std`",
            "python/thin/start.py:2: `thin` imports `struct`",
            "python/thin/start.py:4: `thin` imports `json`",
            "web/model/tree.ts:2: `model` imports `draw`",
            "web/model/tree.ts:3: `model` imports `preact`",
            "web/model/tree.ts:4: `model` touches `document`",
        ] {
            assert!(all.iter().any(|line| line.starts_with(expected)), "nothing begins with {expected:?} in {all:#?}");
        }
        assert_eq!(all.len(), 12, "{all:#?}");
    }
}
