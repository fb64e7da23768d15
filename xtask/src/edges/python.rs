//! The Python half of `cargo xtask edges`: what a module imports against its row's `imports`.
//! Owns: the reading of import lines. Never: runs Python; a line is read as text, which is enough for `import` and `from`.

use crate::parts::{Part, TABLE};
use crate::sources::SourceFile;
use crate::violation::Violation;

/// Stands for every module of the standard library, in a row that need not name them one by one.
const STANDARD_LIBRARY: &str = "@standard-library";
/// Stands for modules next to the file or above it inside the part.
const OWN_FOLDER: &str = "@own-folder";

/// Names that are not in the standard library of any CPython genba supports, and not ours: what `@standard-library` excludes.
/// Asking an interpreter would tie the check to one version; the tests' few dependencies are named instead.
const THIRD_PARTY: &[&str] =
    &["pytest", "numpy", "pandas", "requests", "gunicorn", "django", "flask", "greenlet", "genba"];

pub fn check(part: &Part, file: &SourceFile, files: &[SourceFile], violations: &mut Vec<Violation>) {
    let (Some(allowed), "py") = (&part.imports, file.extension()) else {
        return;
    };
    for (index, line) in file.text.lines().enumerate() {
        for module in modules_in(line) {
            let own = || {
                files.iter().any(|other| {
                    part.holds(&other.path)
                        && other.extension() == "py"
                        && (other.stem() == module || other.path.contains(&format!("/{module}/")))
                })
            };
            let fits = allowed.iter().any(|name| match name.as_str() {
                STANDARD_LIBRARY => !THIRD_PARTY.contains(&module) && !own(),
                OWN_FOLDER => own(),
                name => name == module,
            });
            if !fits {
                violations.push(Violation::new(
                    format!("{}:{}", file.path, index + 1),
                    format!("`{}` imports `{module}`", part.name),
                    format!("`imports` in {TABLE} does not name it: go without, or decide it there"),
                ));
            }
        }
    }
}

/// First parts of the modules that a line imports; relative imports stay inside the part and name none.
fn modules_in(line: &str) -> Vec<&str> {
    let code = line.trim_start();
    let first = |name: &'_ str| -> Option<usize> { name.find(['.', ' ', ';', ',']) };
    let head = |name| first(name).map_or(name, |end| &name[..end]);
    if let Some(rest) = code.strip_prefix("from ") {
        let imports = rest.split_whitespace().nth(1) == Some("import");
        let module = head(rest.trim_start());
        return if imports && !module.is_empty() { vec![module] } else { Vec::new() };
    }
    if let Some(rest) = code.strip_prefix("import ") {
        let rest = rest.split('#').next().unwrap_or_default();
        return rest.split(',').map(|name| head(name.trim())).filter(|name| !name.is_empty()).collect();
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::modules_in;

    #[test]
    fn import_lines() {
        for (line, expected) in [
            ("import os, sys", &["os", "sys"][..]),
            ("    import os.path as p  # why", &["os"]),
            ("from pathlib import Path", &["pathlib"]),
            ("from . import native", &[]),
            ("from here we go", &[]),
            ("important = 1", &[]),
        ] {
            assert_eq!(modules_in(line), expected, "{line}");
        }
    }
}
