//! `cargo xtask handler`: the code that runs inside the signal handler calls nothing outside itself (I-04).
//! Builds crates/signal as one object file in release and compares its undefined symbols with an allow-list.
//! Owns: the allow-list. Never: runs what it built. A symbol in the list needs a reason beside it.

use std::fs;
use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSymbol};

use crate::violation::{Violation, verdict};

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
    command
        .args(["-C", "codegen-units=1", "-C", "link-dead-code=yes"])
        .arg(format!("--emit=obj={}", object_path.display()));
    // Cargo does not run rustc again for an object that was deleted or made with other flags.
    if arguments.is_empty() {
        touch(&root.join("crates/signal/src/lib.rs"))?;
    }
    let status = command.status().map_err(|error| format!("cannot start the compiler: {error}"))?;
    if !status.success() {
        return Err("crates/signal did not compile".into());
    }
    let bytes = fs::read(&object_path).map_err(|error| format!("cannot read {}: {error}", object_path.display()))?;
    verdict("handler", check(&bytes)?)
}

/// Every undefined symbol of an object file that is not in the allow-list.
pub fn check(object_file: &[u8]) -> Result<Vec<Violation>, String> {
    let object = object::File::parse(object_file)
        .map_err(|error| format!("the compiler's output is no object file: {error}"))?;
    let mut violations = Vec::new();
    let mut defined = 0_usize;
    for symbol in object.symbols() {
        let name = symbol.name().map_err(|error| format!("a symbol without a readable name: {error}"))?;
        if !symbol.is_undefined() {
            defined += usize::from(symbol.kind() == object::SymbolKind::Text);
        } else if !name.is_empty() && !ALLOWED.contains(&name) {
            violations.push(Violation::new(
                "crates/signal",
                format!("calls `{}`", readable(name)),
                "write it so that the compiler needs no call (no slicing, no indexing, no copies of arrays)",
            ));
        }
    }
    if defined == 0 {
        violations.push(Violation::new(
            "crates/signal",
            "no function in the object file",
            "the check must see the handler's code: make its entry a plain function",
        ));
    }
    Ok(violations)
}

fn plain_rustc(source: &Path) -> Command {
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "--crate-type", "rlib", "-C", "opt-level=3"]).arg(source);
    rustc
}

fn touch(path: &Path) -> Result<(), String> {
    fs::File::options()
        .append(true)
        .open(path)
        .and_then(|file| file.set_modified(std::time::SystemTime::now()))
        .map_err(|error| format!("cannot touch {}: {error}", path.display()))
}

/// The words inside a mangled Rust name: `_ZN4core9panicking5panic17h…E` → `core::panicking::panic`.
fn readable(name: &str) -> String {
    let Some(mut rest) = name.strip_prefix("_ZN") else {
        return name.to_owned();
    };
    let mut words = Vec::new();
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0) {
        let length: usize = rest[..end].parse().unwrap_or(0);
        let Some(word) = rest.get(end..end + length) else {
            break;
        };
        words.push(word);
        rest = &rest[end + length..];
    }
    if words.last().is_some_and(|word| word.starts_with('h') && word.len() == 17) {
        words.pop();
    }
    words.join("::")
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
        assert_eq!(all.len(), 2, "{all:#?}");
        assert!(all[0].contains("panic") || all[1].contains("panic"), "{all:#?}");
        assert!(all.iter().any(|line| line.contains("`memcpy`")), "{all:#?}");
    }

    #[test]
    fn code_that_calls_nothing_passes() {
        assert_eq!(check(&compile("good.rs")).expect("it is an object"), vec![]);
    }

    #[test]
    fn an_object_without_functions_is_no_proof() {
        let violations = check(&compile("empty.rs")).expect("it is an object");
        assert_eq!(violations.len(), 1);
        assert_eq!(violations[0].found, "no function in the object file");
    }
}
