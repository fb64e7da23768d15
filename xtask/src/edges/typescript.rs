//! The TypeScript half of `cargo xtask edges`: a part imports its own files, the parts its row names, and its libraries.
//! Owns: the reading of `from "…"` and `import("…")`. Never: resolves through node_modules.

use crate::parts::{Part, TABLE};
use crate::sources::SourceFile;
use crate::violation::Violation;

pub fn check(part: &Part, parts: &[Part], file: &SourceFile, violations: &mut Vec<Violation>) {
    if !matches!(file.extension(), "ts" | "tsx" | "mjs") || file.path.contains(".test.") {
        return;
    }
    for (index, line) in file.text.lines().enumerate() {
        for target in targets_in(line) {
            let (name, fits, list) = if target.starts_with('.') {
                let path = resolve(&file.path, target);
                if part.holds(&path) {
                    continue;
                }
                match parts.iter().find(|other| other.holds(&path)) {
                    Some(other) => (other.name.clone(), part.may.contains(&other.name), "may"),
                    None => (path, false, "may"),
                }
            } else {
                // `node:fs` is of the library `node`.
                let library = target.split(['/', ':']).next().unwrap_or_default();
                let fits = part.libraries.iter().chain(&part.build).any(|name| name == library);
                (library.to_owned(), fits, "libraries")
            };
            if !fits {
                violations.push(Violation::new(
                    format!("{}:{}", file.path, index + 1),
                    format!("`{}` imports `{name}`", part.name),
                    format!("`{list}` in {TABLE} does not name it: go without, or decide it there"),
                ));
            }
        }
    }
}

fn targets_in(line: &str) -> Vec<&str> {
    let code = line.trim_start();
    let begins = ["import ", "import{", "export ", "} from "].iter().any(|start| code.starts_with(start));
    let mut targets = Vec::new();
    for mark in [" from ", "import ", "import("] {
        for (start, _) in code.match_indices(mark) {
            let rest = &code[start + mark.len()..];
            let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
            if let (Some(quote), true) = (quote, begins || mark == "import(")
                && let Some(end) = rest[1..].find(quote)
            {
                targets.push(&rest[1..=end]);
            }
        }
    }
    targets
}

/// Path of `target` seen from `file`, with `.` and `..` worked out.
fn resolve(file: &str, target: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn import_lines() {
        for (line, expected) in [
            ("import { a } from \"./b\";", &["./b"][..]),
            ("} from '../model/tree';", &["../model/tree"]),
            ("import \"./style.css\";", &["./style.css"]),
            ("export * from \"./c\";", &["./c"]),
            ("const m = await import(\"./late\");", &["./late"]),
            ("const text = 'import nothing from here';", &[]),
        ] {
            assert_eq!(targets_in(line), expected, "{line}");
        }
        assert_eq!(resolve("web/src/draw/icicle.ts", "../model/tree"), "web/src/model/tree");
    }
}
