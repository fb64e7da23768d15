//! Floors: the folders of a crate in the order in which they may import each other.
//! Owns: the comparison with `floors` in edges.toml. Never: judges files that stand on no floor.

use crate::imports::{Crate, Place};
use crate::parts::{Part, TABLE};
use crate::violation::Violation;

pub fn check(part: &Part, one: &Crate, violations: &mut Vec<Violation>) {
    let floor_of = |place: &Place| part.floors.iter().position(|floor| place.first() == Some(floor));
    for (importer, imported) in one.imports() {
        let Some(own) = floor_of(importer) else { continue };
        for higher in imported.into_iter().filter(|place| floor_of(place).is_some_and(|floor| floor > own)) {
            violations.push(Violation::new(
                one.file(importer),
                format!("imports {}, from a floor above its own", one.file(higher)),
                format!("move it, or what it needs: `floors` in {TABLE} begins with the lowest"),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::imports::crates;
    use crate::parts::Part;
    use crate::sources::SourceFile;

    #[test]
    fn what_is_below_does_not_import_what_is_above() {
        let file = |path: &str, text: &str| SourceFile { path: format!("a/src/{path}"), text: text.into() };
        let files = [
            file("lib.rs", "mod low; mod high; use high::two::g;"),
            file("low/one.rs", "use crate::high::two::g; use crate::side::h;"),
            file("high/two.rs", "use crate::low::other::f;"),
            file("low/other.rs", ""),
            file("side.rs", "use crate::high::two::g;"),
        ];
        let mut violations = Vec::new();
        let crates = crates(&files, &mut violations);
        let part = Part { floors: vec!["low".into(), "high".into()], ..Part::default() };
        check(&part, &crates[0], &mut violations);
        let found: Vec<String> =
            violations.iter().map(|violation| format!("{}: {}", violation.place, violation.found)).collect();
        assert_eq!(found, ["a/src/low/one.rs: imports a/src/high/two.rs, from a floor above its own"]);
    }
}
