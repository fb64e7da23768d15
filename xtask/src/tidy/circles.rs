//! Import circles: no file of a crate imports one that, step by step, imports it.
//! Owns: how a circle is told. Never: decides what an import is (imports.rs).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::imports::{Imports, Place, crates};
use crate::sources::SourceFile;
use crate::violation::Violation;

pub fn check(files: &[SourceFile], violations: &mut Vec<Violation>) {
    let crates = crates(files, violations);
    for one in &crates {
        for Group { places, shortest } in groups(&one.imports()) {
            let files: Vec<&str> = shortest.iter().chain(&shortest[..1]).map(|place| one.file(place)).collect();
            violations.push(Violation::new(
                files[0],
                format!("{} files that import each other: {}", places.len(), files.join(" → ")),
                "move what both need into a file below them",
            ));
        }
    }
}

/// Files that import each other, directly or step by step, and the shortest circle through the first of them.
struct Group<'m> {
    places: BTreeSet<&'m Place>,
    shortest: Vec<&'m Place>,
}

fn groups<'m>(imports: &Imports<'m>) -> Vec<Group<'m>> {
    let mut found: Vec<Group> = Vec::new();
    let below: BTreeMap<&Place, BTreeMap<&Place, &Place>> =
        imports.keys().map(|place| (*place, reached(imports, place))).collect();
    for (&place, reached) in &below {
        if !reached.contains_key(place) || found.iter().any(|group| group.places.contains(place)) {
            continue;
        }
        let places = reached.keys().filter(|other| below[*other].contains_key(place)).copied().collect();
        let mut shortest = vec![place];
        let mut before = reached[place];
        while before != place {
            shortest.insert(1, before);
            before = reached[before];
        }
        found.push(Group { places, shortest });
    }
    found
}

/// All that a file imports step by step, each with the file that it is imported by on the shortest way.
fn reached<'m>(imports: &Imports<'m>, begin: &'m Place) -> BTreeMap<&'m Place, &'m Place> {
    let mut before = BTreeMap::new();
    let mut to_visit = VecDeque::from([begin]);
    while let Some(place) = to_visit.pop_front() {
        for &next in imports.get(place).into_iter().flatten() {
            before.entry(next).or_insert_with(|| {
                to_visit.push_back(next);
                place
            });
        }
    }
    before
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::sources::SourceFile;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| SourceFile { path: format!("a/src/{path}"), text: (*text).into() };
        let files: Vec<SourceFile> = files.iter().map(file).collect();
        let mut violations = Vec::new();
        check(&files, &mut violations);
        violations.iter().map(|violation| violation.found.replace("a/src/", "")).collect()
    }

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        assert_eq!(
            found(&[("one.rs", "use crate::two::f;"), ("two.rs", "fn f() { crate::one::g() }")]),
            ["2 files that import each other: one.rs → two.rs → one.rs"]
        );
        let three = [
            ("lib.rs", "mod one; mod two; mod three;"),
            ("one.rs", "use crate::{two::{self, G}, x};"),
            ("two.rs", "use super::three as other; fn f() { other::k() }"),
            ("three/mod.rs", "fn f() { println!(\"{}\", super::one::g()) }"),
        ];
        assert_eq!(found(&three), ["3 files that import each other: one.rs → two.rs → three/mod.rs → one.rs"]);
        assert_eq!(found(&three[..3]), Vec::<String>::new());
    }

    #[test]
    fn a_part_that_imports_its_whole_is_one_too() {
        assert_eq!(
            found(&[("one.rs", "mod part; fn f() { part::g() }"), ("one/part.rs", "use super::Whole;")]),
            ["2 files that import each other: one.rs → one/part.rs → one.rs"]
        );
        assert_eq!(found(&[("one.rs", "mod part;"), ("one/part.rs", "use super::Whole;")]), Vec::<String>::new());
    }

    #[test]
    fn a_name_that_is_handed_on_is_of_its_own_file() {
        let files = [
            ("one/mod.rs", "mod low; mod high; pub use low::Name;"),
            ("one/low.rs", "pub struct Name;"),
            ("one/high.rs", "use super::Name;"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_is_only_named_is_not_imported() {
        let files = |used: &str| {
            let one = format!("use crate::two; fn f() {{ two::{used}() }}");
            found(&[
                ("one.rs", &one),
                ("two.rs", "mod low; mod high; pub use low::g; pub use high::h;"),
                ("two/low.rs", ""),
                ("two/high.rs", "use crate::one::f;"),
            ])
        };
        assert_eq!(files("g"), Vec::<String>::new());
        assert_eq!(files("h"), ["2 files that import each other: one.rs → two/high.rs → one.rs"]);
    }

    #[test]
    fn tests_may_import_what_they_test() {
        let files = [
            ("one.rs", "use crate::two::f; #[cfg(test)] mod tests { use crate::three::g; } #[cfg(test)] mod more;"),
            ("one/more.rs", "use crate::three::g;"),
            ("two.rs", "pub fn f() {}"),
            ("three.rs", "use crate::one::h;"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }
}
