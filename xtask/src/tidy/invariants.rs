//! Numbered invariants: each `I-NN` of ARCHITECTURE.md has a place in code and one in a test, and each citation a definition.
//! Owns: what counts as a definition, as code and as a test. Never: judges whether the test is a good one.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::SourceFile;
use crate::violation::Violation;

const BOOK: &str = "ARCHITECTURE.md";

#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Place {
    Code,
    Test,
}

pub fn check(files: &[SourceFile], violations: &mut Vec<Violation>) {
    let defined: BTreeSet<String> = files
        .iter()
        .filter(|file| file.path == BOOK)
        .flat_map(|file| file.text.lines())
        .filter_map(|line| line.trim_start_matches(['-', '*', '|', ' ']).get(..4))
        .filter(|start| is_number(start))
        .map(str::to_owned)
        .collect();
    let mut cited: BTreeMap<String, BTreeSet<Place>> = BTreeMap::new();
    for file in files {
        let Some(whole) = place_of(file) else {
            continue;
        };
        let mut place = whole;
        for (index, line) in file.text.lines().enumerate() {
            if file.extension() == "rs" && line.trim() == "#[cfg(test)]" {
                place = Place::Test;
            }
            for number in numbers_in(line) {
                if !defined.contains(&number) {
                    violations.push(Violation::new(
                        format!("{}:{}", file.path, index + 1),
                        format!("{number} is not defined"),
                        format!("add it to {BOOK}, or cite one that is there"),
                    ));
                }
                cited.entry(number).or_default().insert(place);
            }
        }
    }
    for number in &defined {
        let places = cited.get(number).cloned().unwrap_or_default();
        for (place, name) in [(Place::Code, "code"), (Place::Test, "test")] {
            if !places.contains(&place) {
                violations.push(Violation::new(
                    BOOK,
                    format!("{number} is cited in no {name}"),
                    format!("cite it where the {name} keeps it"),
                ));
            }
        }
    }
}

/// Where a citation in this file counts; `None` for prose and for the checks themselves.
fn place_of(file: &SourceFile) -> Option<Place> {
    if file.path.starts_with("xtask/") {
        return None;
    }
    let test = file.path.split('/').any(|part| part == "tests" || part.starts_with("test_") || part == "tests.rs")
        || file.path.contains(".test.");
    match file.extension() {
        "rs" | "py" | "ts" | "tsx" | "c" => Some(if test { Place::Test } else { Place::Code }),
        _ => None,
    }
}

fn is_number(text: &str) -> bool {
    matches!(text.as_bytes(), [b'I', b'-', a, b] if a.is_ascii_digit() && b.is_ascii_digit())
}

fn numbers_in(line: &str) -> impl Iterator<Item = String> {
    line.match_indices("I-").filter_map(|(start, _)| {
        let before = line[..start].chars().next_back();
        let number = line.get(start..start + 4)?;
        (is_number(number) && !before.is_some_and(char::is_alphanumeric)).then(|| number.to_owned())
    })
}
