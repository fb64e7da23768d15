//! Chores of the repository: `cargo xtask VERB`. Owns: the list of verbs. Never: holds a verb's work (one file a verb).
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

mod edges;
mod glibc;
mod handler;
mod imports;
mod parts;
mod proto;
mod sources;
mod tidy;
mod violation;

type Verb = fn(&Path, &[String]) -> Result<(), String>;

const VERBS: &[(&str, Verb)] = &[
    ("edges", edges::run),
    ("glibc", glibc::run),
    ("handler", handler::run),
    ("proto", proto::run),
    ("tidy", tidy::run),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let verb = arguments.first().map(String::as_str).unwrap_or_default();
    let Some((_, run)) = VERBS.iter().find(|(name, _)| *name == verb) else {
        let names: Vec<&str> = VERBS.iter().map(|(name, _)| *name).collect();
        eprintln!("error: no verb `{verb}` in xtask\nhint: one of {}", names.join(", "));
        return ExitCode::from(2);
    };
    match run(&root, &arguments[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("error: {text}");
            ExitCode::FAILURE
        }
    }
}
