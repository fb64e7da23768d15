//! `cargo xtask proto [--check]`: makes crates/format/src/proto.rs from crates/format/genba.proto.
//! Owns: that command and the generated file's first lines. Never: runs protoc; the compiler is protox, in process.

use std::path::Path;

const SCHEMA_FOLDER: &str = "crates/format";
const SCHEMA: &str = "crates/format/genba.proto";
const GENERATED: &str = "crates/format/src/proto.rs";
const HEADER: &str = "\
//! The messages of a block's payload. Generated from crates/format/genba.proto by `cargo xtask proto`: do not edit.
//! `cargo xtask proto --check` makes this text again and compares.
//! Over 500 lines: one file a schema.

";

/// Writes the generated file, or with `--check` compares it. Err: one text for stderr, its first line without `error:`.
pub fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let check = match arguments {
        [] => false,
        [only] if only == "--check" => true,
        other => {
            return Err(format!("`cargo xtask proto` takes only --check, found {other:?}"));
        }
    };
    let wanted = generate(root)?;
    let path = root.join(GENERATED);
    if !check {
        return std::fs::write(&path, wanted).map_err(|error| format!("cannot write {GENERATED}: {error}"));
    }
    let found = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {GENERATED}: {error}"))?;
    match first_difference(&wanted, &found) {
        None => Ok(()),
        Some(line) => Err(format!(
            "{GENERATED} is not what {SCHEMA} gives; they differ from line {line} on\nhint: run `cargo xtask proto` and commit the result"
        )),
    }
}

fn generate(root: &Path) -> Result<String, String> {
    let failed = |error: &dyn std::fmt::Display| format!("cannot compile {SCHEMA}: {error}");
    let set = protox::compile([root.join(SCHEMA)], [root.join(SCHEMA_FOLDER)]).map_err(|error| failed(&error))?;
    let requests = set
        .file
        .into_iter()
        .map(|file| (prost_build::Module::from_protobuf_package_name(file.package()), file))
        .collect();
    let modules = prost_build::Config::new().generate(requests).map_err(|error| failed(&error))?;
    let mut text = String::from(HEADER);
    for module in modules.into_values() {
        text.push_str(&module);
    }
    Ok(text)
}

/// Number (from 1) of the first line that differs; None when the texts are equal.
fn first_difference(wanted: &str, found: &str) -> Option<usize> {
    if wanted == found {
        return None;
    }
    let same = wanted.lines().zip(found.lines()).take_while(|(left, right)| left == right).count();
    Some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_text_is_the_generated_one() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(run(&root, &["--check".to_owned()]), Ok(()));
    }

    #[test]
    fn a_changed_line_is_found() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some(2));
        assert_eq!(first_difference("a\nb\n", "a\n"), Some(2));
        assert_eq!(first_difference("a\n", "a"), Some(2));
    }
}
