//! `cargo xtask handler`: the code that runs inside the signal handler calls nothing outside itself (I-04).
//! Builds crates/signal as one object file in release and follows its relocations from the handler's entry: each undefined
//! symbol met must be in an allow-list. What the handler runs of crates/python must lie in that object too: it is generic or inline.
//! Owns: the allow-list. Never: runs what it built. A symbol in the list needs a reason beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};

use crate::violation::{Violation, verdict};

/// The handler as the kernel calls it.
const ENTRY: &str = "genba_on_sample";
/// What a thread runs in the middle of a copy or an allocation, under the same rules; a fixture may be without.
const OTHER_ENTRIES: [&str; 2] =
    ["genba_signal::deposits::counts::genba_on_copy", "genba_signal::deposits::counts::genba_on_allocation"];
/// Symbols the object may leave to the linker. Empty: no memcpy, no panic, no libc.
const ALLOWED: &[&str] = &[];

pub fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let folder = root.join("build/handler");
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let object_path = folder.join("signal.o");
    let mut command = match arguments.first() {
        Some(source) => plain_rustc(Path::new(source)),
        None => {
            let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
            cargo
                .current_dir(root)
                .args(["rustc", "--quiet", "-p", "genba-signal", "--lib", "--release"])
                .arg("--target-dir")
                .arg(folder.join("target"))
                .arg("--");
            cargo
        }
    };
    command.args(["-C", "codegen-units=1"]).arg(format!("--emit=obj={}", object_path.display()));
    // Cargo does not run rustc again for an object that was deleted or made with other flags, so it forgets that it ran. The sources stay
    // untouched: everything that is built of them would be built again.
    if arguments.is_empty() {
        forget(&folder.join("target/release/.fingerprint"))?;
    }
    let status = command.status().map_err(|error| format!("cannot start the compiler: {error}"))?;
    if !status.success() {
        return Err("crates/signal did not compile".into());
    }
    let bytes = fs::read(&object_path).map_err(|error| format!("cannot read {}: {error}", object_path.display()))?;
    verdict("handler", check(&bytes)?)
}

/// Every undefined symbol that can be reached from the handler's entry and is not in the allow-list. What else the object
/// holds (`Debug` of its types, what only the sampler calls) may call what it likes.
pub fn check(object_file: &[u8]) -> Result<Vec<Violation>, String> {
    let object = object::File::parse(object_file)
        .map_err(|error| format!("the compiler's output is no object file: {error}"))?;
    let entry = object.symbols().find(|symbol| symbol.name() == Ok(ENTRY));
    let Some(entry) = entry.and_then(|symbol| symbol.section_index()) else {
        return Ok(vec![Violation::new(
            "crates/signal",
            format!("no function `{ENTRY}` in the object file"),
            "the check must see the handler's code: keep its entry a plain function of this name",
        )]);
    };
    // Each function and each constant has a section of its own; a relocation is an edge between them.
    let mut reached = BTreeMap::from([(entry.0, ENTRY.to_owned())]);
    let mut waiting = vec![entry];
    for entry in OTHER_ENTRIES {
        let other = object.symbols().find(|symbol| symbol.name().is_ok_and(|name| readable(name) == entry));
        if let Some(other) = other.and_then(|symbol| symbol.section_index()) {
            reached.insert(other.0, entry.to_owned());
            waiting.push(other);
        }
    }
    let mut missing: BTreeMap<String, String> = BTreeMap::new();
    while let Some(index) = waiting.pop() {
        let section =
            object.section_by_index(index).map_err(|error| format!("a section that is not there: {error}"))?;
        let user = reached.get(&index.0).cloned().unwrap_or_default();
        for (_, relocation) in section.relocations() {
            let RelocationTarget::Symbol(target) = relocation.target() else {
                continue;
            };
            let symbol =
                object.symbol_by_index(target).map_err(|error| format!("a symbol that is not there: {error}"))?;
            let name = symbol.name().map_err(|error| format!("a symbol without a readable name: {error}"))?;
            match symbol.section_index() {
                Some(next) if !reached.contains_key(&next.0) => {
                    let named = if name.is_empty() { user.clone() } else { readable(name) };
                    reached.insert(next.0, named);
                    waiting.push(next);
                }
                Some(_) => {}
                None if ALLOWED.contains(&name) => {}
                None => {
                    missing.entry(readable(name)).or_insert_with(|| user.clone());
                }
            }
        }
    }
    let violation = |(name, user): (String, String)| {
        Violation::new(
            "crates/signal",
            format!("`{user}` calls `{name}`"),
            "write it so that the compiler needs no call (no slicing, no indexing, no copies of arrays; in crates/python generic or inline)",
        )
    };
    Ok(missing.into_iter().map(violation).collect())
}

fn plain_rustc(source: &Path) -> Command {
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "--crate-type", "rlib", "-C", "opt-level=3"]).arg(source);
    rustc
}

/// Removes what cargo remembers of crates/signal in the target folder of this check.
fn forget(fingerprints: &Path) -> Result<(), String> {
    // The first time there is none.
    for entry in fs::read_dir(fingerprints).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("genba-signal-") {
            let path = entry.path();
            fs::remove_dir_all(&path).map_err(|error| format!("cannot remove {}: {error}", path.display()))?;
        }
    }
    Ok(())
}

/// A mangled Rust name as it is written: `core::panicking::panic`.
fn readable(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(fixture: &str) -> Vec<u8> {
        let folder = std::env::temp_dir().join(format!("genba-handler-{}-{fixture}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/handler").join(fixture);
        let object_path = folder.join("fixture.o");
        let status = plain_rustc(&source)
            .args(["-C", "codegen-units=1"])
            .arg(format!("--emit=obj={}", object_path.display()))
            .status()
            .expect("rustc starts");
        assert!(status.success());
        let bytes = fs::read(&object_path).expect("rustc wrote the object");
        fs::remove_dir_all(&folder).expect("the folder is ours");
        bytes
    }

    #[test]
    fn the_bad_fixture_names_panic_and_copy() {
        let all: Vec<String> =
            check(&compile("bad.rs")).expect("it is an object").iter().map(ToString::to_string).collect();
        let called: Vec<&str> = all.iter().filter_map(|line| line.split('`').nth(3)).collect();
        let expected = ["core::panicking::panic_bounds_check", "core::panicking::panic_cannot_unwind", "memcpy"];
        assert_eq!(called, expected, "{all:#?}");
    }

    #[test]
    fn code_that_calls_nothing_passes() {
        assert_eq!(check(&compile("good.rs")).expect("it is an object"), vec![]);
    }

    #[test]
    fn an_object_without_functions_is_no_proof() {
        let violations = check(&compile("empty.rs")).expect("it is an object");
        assert_eq!(violations.len(), 1);
        assert_eq!(violations[0].found, "no function `genba_on_sample` in the object file");
    }
}
