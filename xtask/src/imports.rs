//! What the files of a crate import of each other.
//! Owns: what an import is: a path into the crate, in a `use` or elsewhere, outside of tests. A name that a file re-exports counts for the
//! file that it is from. Never: counts `mod name;`; follows names that macros make.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, UseTree};

use crate::sources::SourceFile;
use crate::violation::Violation;

/// Re-exports of re-exports are followed so far.
const REEXPORTS_MAX: usize = 8;

/// Of a file: its modules, from the crate's root on.
pub type Place = Vec<String>;

/// A folder with `src` below it.
pub struct Crate<'f> {
    pub folder: &'f str,
    modules: BTreeMap<Place, Module<'f>>,
}

/// The files that each file imports.
pub type Imports<'m> = BTreeMap<&'m Place, BTreeSet<&'m Place>>;

/// A file that is not Rust is a violation.
pub fn crates<'f>(files: &'f [SourceFile], violations: &mut Vec<Violation>) -> Vec<Crate<'f>> {
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
    crates.into_iter().map(|(folder, modules)| Crate { folder, modules }).collect()
}

impl Crate<'_> {
    pub fn file(&self, place: &Place) -> &str {
        self.modules[place].file
    }

    pub fn imports(&self) -> Imports<'_> {
        imports(&self.modules)
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
