//! Floors: the folders of a crate in the order in which they may import each other.
//! Owns: the comparison with `floors` in edges.toml. Never: judges files that stand on no floor.

use std::collections::BTreeSet;

use crate::imports::{Crate, Place};
use crate::parts::{Part, TABLE};
use crate::violation::Violation;

/// `one`: None where the part is no crate.
pub fn check(part: &Part, one: Option<&Crate>, violations: &mut Vec<Violation>) {
    let floors: BTreeSet<&String> = part.floors.iter().flatten().collect();
    let floor_of = |place: &Place| floors.iter().find(|floor| place.first() == Some(**floor)).copied();
    let imports = one.map(Crate::imports).unwrap_or_default();
    for floor in &floors {
        if !imports.keys().any(|place| floor_of(place) == Some(*floor)) {
            violations.push(Violation::new(
                TABLE,
                format!("part `{}` has no floor `{floor}` below {}/src", part.name, part.path),
                "take it out of `floors`, or correct its name",
            ));
        }
    }
    let Some(one) = one else { return };
    for (importer, imported) in imports {
        let Some(own) = floor_of(importer) else { continue };
        for place in imported {
            let Some(floor) = floor_of(place).filter(|floor| *floor != own && !is_below(floor, own, part)) else {
                continue;
            };
            let relation = if is_below(own, floor, part) { "above" } else { "beside" };
            violations.push(Violation::new(
                one.file(importer),
                format!("imports {}, from the floor {relation} its own", one.file(place)),
                format!("move it, or what it needs: each chain of `floors` in {TABLE} begins with the lowest"),
            ));
        }
    }
}

/// In some chain that has both.
fn is_below(lower: &str, upper: &str, part: &Part) -> bool {
    part.floors.iter().any(|chain| {
        let position = |wanted: &str| chain.iter().position(|floor| floor == wanted);
        position(lower).zip(position(upper)).is_some_and(|(lower, upper)| lower < upper)
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::imports::crates;
    use crate::parts::Part;
    use crate::sources::SourceFile;

    /// What is found in a crate of `low`, with `left` above it, and `right` above it with `top` above that.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let there = [("low.rs", ""), ("left.rs", ""), ("right.rs", ""), ("top.rs", "")];
        let files: Vec<SourceFile> = there
            .iter()
            .chain(files)
            .map(|(path, text)| SourceFile { path: format!("a/src/{path}"), text: (*text).into() })
            .collect();
        let chain = |floors: &[&str]| floors.iter().map(|floor| (*floor).to_owned()).collect::<Vec<_>>();
        let floors = vec![chain(&["low", "left"]), chain(&["low", "right", "top"])];
        let mut violations = Vec::new();
        let crates = crates(&files, &mut violations);
        let part = Part { name: "a".into(), path: "a".into(), floors, ..Part::default() };
        check(&part, crates.first(), &mut violations);
        violations.iter().map(|violation| format!("{}: {}", violation.place, violation.found)).collect()
    }

    #[test]
    fn what_is_below_does_not_import_what_is_above() {
        let files = [
            ("lib.rs", "mod low; mod top; use top::two::g;"),
            ("low/one.rs", "use crate::top::two::g; use crate::side::h;"),
            ("top/two.rs", "use crate::low::other::f;"),
            ("low/other.rs", ""),
            ("side.rs", "use crate::top::two::g;"),
        ];
        assert_eq!(found(&files), ["a/src/low/one.rs: imports a/src/top/two.rs, from the floor above its own"]);
    }

    #[test]
    fn floors_of_no_common_chain_do_not_import_each_other() {
        let files = [
            ("left/one.rs", "use crate::low::two::f;"),
            ("low/two.rs", ""),
            ("right/three.rs", "use crate::left::one::g; use crate::low::two::f;"),
            ("left/four.rs", "use super::one::g;"),
            ("top/five.rs", "use crate::left::one::g; use crate::right::three::h;"),
        ];
        assert_eq!(
            found(&files),
            [
                "a/src/right/three.rs: imports a/src/left/one.rs, from the floor beside its own",
                "a/src/top/five.rs: imports a/src/left/one.rs, from the floor beside its own",
            ]
        );
    }

    #[test]
    fn paths_without_a_use_and_names_that_the_root_gives_on_count() {
        let files = [
            ("lib.rs", "mod low; mod top; pub use top::two;"),
            ("low/one.rs", "fn f() { crate::top::two::g() }"),
            ("low/other.rs", "use crate::two::g;"),
            ("top/two.rs", ""),
            ("low/tested.rs", "#[cfg(test)] mod tests { use crate::top::two::g; }"),
        ];
        assert_eq!(
            found(&files),
            [
                "a/src/low/one.rs: imports a/src/top/two.rs, from the floor above its own",
                "a/src/low/other.rs: imports a/src/top/two.rs, from the floor above its own",
            ]
        );
    }

    #[test]
    fn a_floor_that_is_not_there_is_found() {
        let part = Part {
            name: "a".into(),
            path: "a".into(),
            floors: vec![vec!["low".into(), "gone".into()]],
            ..Part::default()
        };
        let files = [SourceFile { path: "a/src/low/one.rs".into(), text: String::new() }];
        let mut violations = Vec::new();
        check(&part, crates(&files, &mut Vec::new()).first(), &mut violations);
        let found: Vec<&str> = violations.iter().map(|violation| violation.found.as_str()).collect();
        assert_eq!(found, ["part `a` has no floor `gone` below a/src"]);
    }
}
