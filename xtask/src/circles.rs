//! Import circles: no file of a crate imports one that, step by step, imports it.
//! Owns: what an import is: a path into the crate, in a `use` or elsewhere, outside of tests. A name that a file re-exports counts for the
//! file that it is from. Never: counts `mod name;`; follows names that macros make.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, UseTree};

use crate::sources::SourceFile;
use crate::violation::Violation;

/// Re-exports of re-exports are followed so far.
const REEXPORTS_MAX: usize = 8;

/// From the crate's root on.
type Place = Vec<String>;

pub fn check(files: &[SourceFile], violations: &mut Vec<Violation>) {
    let mut crates: BTreeMap<&str, BTreeMap<Place, Module>> = BTreeMap::new();
    for file in files {
        let Some((folder, inside)) = file.path.split_once("/src/").filter(|_| file.extension() == "rs") else {
            continue;
        };
        match syn::parse_file(&file.text) {
            Ok(syntax) => {
                let place = place(inside);
                let module = Module::of(&file.path, &place, &syntax.items);
                crates.entry(folder).or_default().insert(place, module);
            }
            Err(error) => violations.push(Violation::new(&file.path, error.to_string(), "write Rust")),
        }
    }
    for modules in crates.values() {
        for Group { places, shortest } in groups(&imports(modules)) {
            let files: Vec<&str> = shortest.iter().chain(&shortest[..1]).map(|place| modules[*place].file).collect();
            violations.push(Violation::new(
                files[0],
                format!("{} files that import each other: {}", places.len(), files.join(" → ")),
                "move what both need into a file below them",
            ));
        }
    }
}

/// Of a file below `src/`.
fn place(inside: &str) -> Place {
    let stem = inside.strip_suffix(".rs").unwrap_or(inside);
    let mut place: Place = stem.split('/').map(str::to_owned).collect();
    if matches!(place.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        place.pop();
    }
    place
}

/// A file of a crate.
struct Module<'f> {
    file: &'f str,
    /// All that it names inside of the crate.
    paths: BTreeSet<Place>,
    /// What it imports by name, for itself or for others.
    names: BTreeMap<String, Place>,
    /// The modules of it that are for tests alone.
    tests: BTreeSet<Place>,
}

impl<'f> Module<'f> {
    fn of(file: &'f str, place: &Place, items: &[Item]) -> Module<'f> {
        let mut reader = Reader {
            place: place.clone(),
            file_place: place.clone(),
            module: Module { file, paths: BTreeSet::new(), names: BTreeMap::new(), tests: BTreeSet::new() },
        };
        items.iter().for_each(|item| reader.visit_item(item));
        reader.module
    }
}

/// Reads a file, outside of its tests.
struct Reader<'f> {
    /// Of the module that is read, which may be written inside of another.
    place: Place,
    file_place: Place,
    module: Module<'f>,
}

impl Reader<'_> {
    /// Where a path leads that begins with one of these words. A path that begins otherwise may begin with a module of this one.
    fn absolute(&self, path: &[String]) -> Option<Place> {
        let (first, rest) = path.split_first()?;
        let begin = match first.as_str() {
            "crate" => Place::new(),
            "self" => self.place.clone(),
            "super" => {
                let mut above = self.place.clone();
                above.pop()?;
                let deeper = rest.iter().take_while(|word| *word == "super").count();
                for _ in 0..deeper {
                    above.pop()?;
                }
                return Some(above.into_iter().chain(rest.iter().skip(deeper).cloned()).collect());
            }
            _ => return Some(self.place.iter().chain(path).cloned().collect()),
        };
        Some(begin.into_iter().chain(rest.iter().cloned()).collect())
    }

    fn add(&mut self, path: &[String]) {
        let absolute = self.absolute(path);
        self.module.paths.extend(absolute);
    }

    fn add_use(&mut self, before: &[String], tree: &UseTree) {
        let with = |word: &dyn ToString| [before, &[word.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.add_use(&with(&path.ident), &path.tree),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_use(before, tree)),
            UseTree::Glob(_) => self.add(&with(&"*")),
            UseTree::Name(name) if name.ident == "self" => {
                let called = before.last().cloned();
                self.add_name(before.to_vec(), called);
            }
            UseTree::Name(name) => self.add_name(with(&name.ident), Some(name.ident.to_string())),
            UseTree::Rename(rename) => self.add_name(with(&rename.ident), Some(rename.rename.to_string())),
        }
    }

    fn add_name(&mut self, path: Place, called: Option<String>) {
        self.add(&path);
        if let (Some(absolute), Some(called), true) = (self.absolute(&path), called, self.place == self.file_place) {
            self.module.names.insert(called, absolute);
        }
    }

    /// Paths in what a macro is given.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Place = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(word) => {
                    if colons != 2 {
                        self.end_path(&mut path);
                    }
                    path.push(word.to_string());
                    colons = 0;
                }
                TokenTree::Punct(sign) if sign.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.end_path(&mut path);
                    self.add_tokens(group.stream());
                    colons = 0;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.end_path(&mut path);
                    colons = 0;
                }
            }
        }
        self.end_path(&mut path);
    }

    fn end_path(&mut self, path: &mut Place) {
        if path.len() > 1 {
            self.add(path);
        }
        path.clear();
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        } else if let Item::Mod(ItemMod { ident, content: None, .. }) = item {
            self.module.tests.extend(self.absolute(&["self".to_owned(), ident.to_string()]));
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if module.content.is_some() {
            self.place.push(module.ident.to_string());
            visit::visit_item_mod(self, module);
            self.place.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.add_use(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Place = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if words.len() > 1 {
            self.add(&words);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        self.add_tokens(called.tokens.clone());
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        _ => &[],
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    let is_test = |attribute: &Attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
        _ => false,
    };
    attributes.iter().any(is_test)
}

type Imports<'m> = BTreeMap<&'m Place, BTreeSet<&'m Place>>;

/// The files that each file imports.
fn imports<'m>(modules: &'m BTreeMap<Place, Module>) -> Imports<'m> {
    let for_tests: BTreeSet<&Place> = modules.values().flat_map(|module| &module.tests).collect();
    let is_real = |place: &&Place| !for_tests.iter().any(|test| place.starts_with(test));
    let edges = modules.iter().filter(|(place, _)| is_real(place)).map(|(place, module)| {
        let targets = module.paths.iter().filter_map(|path| target(modules, path, 0));
        (place, targets.filter(|target| *target != place).collect())
    });
    edges.collect()
}

/// The file that a path leads to: the longest part of it that is one, or where that file has the name from. A path to a file alone only
/// gives it a name here; what is used of it counts.
fn target<'m>(modules: &'m BTreeMap<Place, Module>, path: &[String], reexports: usize) -> Option<&'m Place> {
    // The crate's root is in all paths; one that leads to nothing deeper is a name of it, or of another crate.
    let (place, module) = (0..=path.len()).rev().find_map(|length| modules.get_key_value(&path[..length]))?;
    let name = path.get(place.len())?;
    let from = module.names.get(name).filter(|from| from.as_slice() != path);
    match from {
        Some(from) if reexports < REEXPORTS_MAX => {
            let rest = path.iter().skip(place.len() + 1);
            let further: Place = from.iter().chain(rest).cloned().collect();
            target(modules, &further, reexports + 1)
        }
        _ => Some(place).filter(|place| !place.is_empty()),
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
