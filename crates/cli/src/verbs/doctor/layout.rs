//! `genba doctor --layout`: what a person sends in about an interpreter that genba does not know, or misreads.
//! Owns: what is in it, and what is not: no environment, no arguments, no values of the program's. Never: judges.

use std::fmt::Write;

use genba_process::interpreter::Evidence;
use genba_process::refusal::Refusal;
use genba_process::tree::Tree;
use genba_profile::report::printable;

use super::asking::Answer;

const BYTES_A_LINE: usize = 32;

/// `judgement`: what genba says of it.
pub fn text(tree: &Tree, answer: Option<&Answer>, evidence: &Result<Evidence, Refusal>, judgement: &str) -> String {
    let mut page =
        String::from("what to send when genba does not know an interpreter; it holds no data of a program\n\n");
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(page, "{name:<14} {}", printable(value));
    };
    row("genba", env!("CARGO_PKG_VERSION"));
    row("judgement", judgement);
    row("kernel", &tree.text("proc/sys/kernel/osrelease").unwrap_or_else(|| "not told".to_owned()));
    if let Some(answer) = answer {
        row("version", &answer.version);
        row("executable", &answer.executable);
        for (name, value) in &answer.config {
            row(name, value);
        }
    }
    match evidence {
        Err(refusal) => row("memory", &[vec![refusal.to_string()], refusal.details()].concat().join(": ")),
        Ok(evidence) => {
            row("file", &evidence.file.display().to_string());
            row("build id", &evidence.build_id.as_deref().map_or_else(|| "none".to_owned(), hex));
            let version = evidence.version.map_or_else(|| "none".to_owned(), |version| format!("{version:#010x}"));
            row("Py_Version", &version);
            let list = |wanted: bool| {
                let names = evidence.symbols.iter().filter(|(_, is_there)| *is_there == wanted).map(|(name, _)| *name);
                names.collect::<Vec<_>>().join(" ")
            };
            row("exported", &list(true));
            row("not exported", &list(false));
            if evidence.offsets.is_empty() {
                row("offsets", "none: CPython keeps a table of them since 3.13");
            }
            for (number, bytes) in evidence.offsets.chunks(BYTES_A_LINE).enumerate() {
                row(&format!("offsets {:04x}", number * BYTES_A_LINE), &hex(bytes));
            }
        }
    }
    page
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
