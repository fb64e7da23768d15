//! Names from the tables that every extension and the interpreter itself carry in their data: static types, type
//! specifications, module definitions, method and property tables.
//! Layouts: CPython 3.11 to 3.15, Include/cpython/object.h, moduleobject.h, methodobject.h, descrobject.h.
//! Never: names what does not look right in every field. Keeps: each named address begins a function.

use super::claims::{Claims, Role};
use super::slotdefs;
use crate::file::cells::{Cell, Cells};
use crate::file::elf::Image;
use crate::file::extents::Extents;
use crate::words::slots::{Numbered, Slot, TYPE_SLOTS, TYPE_TABLES, numbered};
use std::collections::{BTreeMap, BTreeSet};

/// Names by first address. `type_type` is where `PyType_Type` lies when this file defines it.
pub(crate) fn scan<'a>(
    image: &Image<'a>,
    extents: &Extents<'a>,
    cells: &Cells<'a>,
    type_type: Option<u64>,
) -> BTreeMap<u64, String> {
    let mut scan = Scan { image, extents, cells, type_type, claims: Claims::default(), owned: BTreeSet::new() };
    let named: Vec<(u64, &str)> =
        cells.addresses().into_iter().filter_map(|(place, target)| Some((place, scan.dotted_name(target)?))).collect();
    for &(place, name) in &named {
        let _ = scan.static_type(place, name);
        let _ = scan.specification(place, name);
        let _ = scan.module(place, name);
    }
    scan.slot_tables(&named);
    scan.lone_methods(&named);
    scan.claims.into_names()
}

const NAME_BYTES_MAX: usize = 120;
const TABLE_ENTRIES_MAX: u64 = 4096;
const METHOD_BYTES: u64 = 32;
const GETSET_BYTES: u64 = 40;
const SLOT_BYTES: u64 = 16;
const METH_FASTCALL: u64 = 0x80;

struct Scan<'s, 'a> {
    image: &'s Image<'a>,
    extents: &'s Extents<'a>,
    cells: &'s Cells<'a>,
    type_type: Option<u64>,
    claims: Claims,
    /// Method entries that belong to a type or a module.
    owned: BTreeSet<u64>,
}

struct Method<'a> {
    name: &'a str,
    function: Option<u64>,
    /// By its name or its calling convention: programs have tables of texts, functions and small numbers of their own.
    is_surely_pythons: bool,
}

impl<'a> Scan<'_, 'a> {
    /// A `PyTypeObject` whose `tp_name` stands at `place`.
    fn static_type(&mut self, place: u64, name: &str) -> Option<()> {
        let base = place.checked_sub(24)?;
        let references = self.number(base)?;
        let kind_fits = match (self.cells.at(base + 8)?, self.type_type) {
            (Cell::Number(kind), None) => kind == 0,
            (Cell::Number(kind), Some(_)) => kind == 0,
            (Cell::Address(kind), known) => Some(kind) == known,
            (Cell::Import(symbol), _) => symbol == b"PyType_Type",
        };
        let small = |offset: u64, limit: u64| self.number(base + offset).filter(|&n| n < limit);
        let sizes_fit = references != 0
            && self.number(base + 16)? == 0
            && small(32, 1 << 20).is_some()
            && small(40, 1 << 16).is_some()
            && small(56, 1 << 20).is_some()
            && small(168, 1 << 32).is_some();
        if !kind_fits || !sizes_fit {
            return None;
        }
        let mut found: Vec<(Option<u64>, Slot)> = Vec::new();
        for (offset, slot) in TYPE_SLOTS {
            found.push((self.function(base + offset)?, slot));
        }
        for (offset, entries) in TYPE_TABLES {
            let Some(table) = self.pointer(base + offset)? else {
                continue;
            };
            for (index, entry) in (0..).zip(entries) {
                let function = self.function(table + 8 * index)?;
                match entry {
                    Some(slot) => found.push((function, *slot)),
                    None if function.is_some() => return None,
                    None => {}
                }
            }
        }
        self.pointer(base + 176)?;
        let methods = self.methods_of(self.pointer(base + 232)?)?;
        self.pointer(base + 240)?;
        let accessors = self.accessors_of(self.pointer(base + 248)?)?;
        for (function, slot) in found {
            self.claim(function, Some(name), Role::of_slot(slot));
        }
        self.claim_methods(name, methods);
        self.claim_accessors(name, accessors);
        Some(())
    }

    /// A `PyType_Spec` whose `name` stands at `place`.
    fn specification(&mut self, place: u64, name: &str) -> Option<()> {
        let item_bytes = self.number(place + 8)? >> 32;
        if item_bytes >= 1 << 16 || self.number(place + 16)? >= 1 << 32 {
            return None;
        }
        let slots = self.pointer(place + 24)??;
        let mut functions = Vec::new();
        let mut methods = Vec::new();
        let mut accessors = Vec::new();
        for index in 0..=TABLE_ENTRIES_MAX {
            let entry = slots + SLOT_BYTES * index;
            let number = self.number(entry)? & 0xffff_ffff;
            if number == 0 {
                break;
            }
            // In 3.15 the upper half of the number holds flags (PySlot).
            match numbered(number & 0xffff)? {
                Numbered::Function(slot) => functions.push((self.function(entry + 8)?, slot)),
                Numbered::Methods => methods.extend(self.methods_of(self.pointer(entry + 8)?)?),
                Numbered::GetSets => accessors.extend(self.accessors_of(self.pointer(entry + 8)?)?),
                Numbered::Other => {
                    self.cells.at(entry + 8)?;
                }
            }
        }
        for (function, slot) in functions {
            self.claim(function, Some(name), Role::of_slot(slot));
        }
        self.claim_methods(name, methods);
        self.claim_accessors(name, accessors);
        Some(())
    }

    /// A `PyModuleDef` whose `m_name` stands at `place`.
    fn module(&mut self, place: u64, name: &str) -> Option<()> {
        let base = place.checked_sub(40)?;
        let empty_head = (8..40).step_by(8).all(|offset| self.number(base + offset) == Some(0));
        let state_bytes = self.number(base + 56)? as i64;
        if !empty_head || self.number(base)? == 0 || !(-1..1 << 30).contains(&state_bytes) {
            return None;
        }
        self.pointer(base + 48)?;
        let methods = self.methods_of(self.pointer(base + 64)?)?;
        let slots = self.module_slots(self.pointer(base + 72)?)?;
        let mut functions = slots;
        for (offset, word) in [(80, "m_traverse"), (88, "m_clear"), (96, "m_free")] {
            functions.push((self.function(base + offset)?, word));
        }
        self.claim_methods(name, methods);
        for (function, word) in functions {
            self.claim(function, Some(name), Role::Slot { c_name: word, word });
        }
        Some(())
    }

    /// Tables of `struct wrapperbase`: entries of one size, one behind the other.
    fn slot_tables(&mut self, named: &[(u64, &'a str)]) {
        let mut next = 0;
        let mut run = Vec::new();
        let dunders = named.iter().filter(|(_, name)| name.starts_with("__"));
        for &(place, name) in dunders {
            let Some(entry) = self.slot_entry(place, name) else {
                continue;
            };
            if place != next {
                self.claim_slot_table(&std::mem::take(&mut run));
            }
            run.push(entry);
            next = place + slotdefs::ENTRY_BYTES;
        }
        self.claim_slot_table(&run);
    }

    fn slot_entry(&self, place: u64, word: &'a str) -> Option<slotdefs::Entry<'a>> {
        let offset_bytes = self.number(place + 8)?;
        let fits = offset_bytes < 4096 && self.number(place + 40)? < 16;
        self.function(place + 24)?;
        self.pointer(place + 32)?;
        let function = self.function(place + 16)?;
        fits.then_some(slotdefs::Entry { word, offset_bytes, function })
    }

    fn claim_slot_table(&mut self, entries: &[slotdefs::Entry<'_>]) {
        for (function, slot) in slotdefs::slot_functions(entries) {
            self.claim(Some(function), None, Role::of_slot(slot));
        }
    }

    /// Method entries to which no type and no module points, in runs of one behind the other.
    fn lone_methods(&mut self, named: &[(u64, &'a str)]) {
        let mut next = 0;
        let mut run = Vec::new();
        for &(place, _) in named {
            if self.owned.contains(&place) {
                continue;
            }
            let Some(method) = self.method(place) else {
                continue;
            };
            if place != next {
                self.claim_lone_methods(std::mem::take(&mut run));
            }
            run.push(method);
            next = place + METHOD_BYTES;
        }
        self.claim_lone_methods(run);
    }

    /// Outside of the interpreter, a run in which nothing is surely Python's is left out.
    fn claim_lone_methods(&mut self, run: Vec<Method<'a>>) {
        if self.type_type.is_some() || run.iter().any(|method| method.is_surely_pythons) {
            for method in run {
                self.claim(method.function, None, Role::Method(method.name.to_owned()));
            }
        }
    }

    fn module_slots(&self, table: Option<u64>) -> Option<Vec<(Option<u64>, &'static str)>> {
        let mut functions = Vec::new();
        let Some(table) = table else {
            return Some(functions);
        };
        for index in 0..=TABLE_ENTRIES_MAX {
            let entry = table + SLOT_BYTES * index;
            let word = match self.number(entry)? & 0xffff {
                0 => return Some(functions),
                1 | 84 => "Py_mod_create",
                2 | 85 => "Py_mod_exec",
                3..=110 => continue,
                _ => return None,
            };
            functions.push((self.function(entry + 8)?, word));
        }
        None
    }

    fn methods_of(&self, table: Option<u64>) -> Option<Vec<(u64, Method<'a>)>> {
        let mut methods = Vec::new();
        let Some(table) = table else {
            return Some(methods);
        };
        for index in 0..TABLE_ENTRIES_MAX {
            let entry = table + METHOD_BYTES * index;
            if self.number(entry) == Some(0) {
                return Some(methods);
            }
            methods.push((entry, self.method(entry)?));
        }
        None
    }

    /// A `PyMethodDef` at `entry`: name, function, calling convention, documentation.
    fn method(&self, entry: u64) -> Option<Method<'a>> {
        let name = self.identifier(self.pointer(entry)??)?;
        if self.cells.at(entry + 8)? == Cell::Number(0) {
            return None;
        }
        let function = self.function(entry + 8)?;
        let flags = self.number(entry + 16)?;
        let convention_fits = matches!(flags & 0x28f, 1 | 3 | 4 | 8 | 0x80 | 0x82 | 0x282);
        if flags >= 0x400 || !convention_fits {
            return None;
        }
        self.pointer(entry + 24)?;
        Some(Method { name, function, is_surely_pythons: flags & METH_FASTCALL != 0 || name.starts_with("__") })
    }

    /// The getters and setters of a `PyGetSetDef` table.
    fn accessors_of(&self, table: Option<u64>) -> Option<Vec<(Option<u64>, String)>> {
        let mut accessors = Vec::new();
        let Some(table) = table else {
            return Some(accessors);
        };
        for index in 0..TABLE_ENTRIES_MAX {
            let entry = table + GETSET_BYTES * index;
            if self.number(entry) == Some(0) {
                return Some(accessors);
            }
            let name = self.identifier(self.pointer(entry)??)?;
            let getter = self.function(entry + 8)?;
            let setter = self.function(entry + 16)?;
            self.pointer(entry + 24)?;
            accessors.push((getter, format!("{name}.__get__")));
            accessors.push((setter, format!("{name}.__set__")));
        }
        None
    }

    fn claim_methods(&mut self, owner: &str, methods: Vec<(u64, Method<'a>)>) {
        for (entry, method) in methods {
            self.owned.insert(entry);
            self.claim(method.function, Some(owner), Role::Method(method.name.to_owned()));
        }
    }

    fn claim_accessors(&mut self, owner: &str, accessors: Vec<(Option<u64>, String)>) {
        for (function, word) in accessors {
            self.claim(function, Some(owner), Role::Accessor(word));
        }
    }

    fn claim(&mut self, function: Option<u64>, owner: Option<&str>, role: Role) {
        if let Some(function) = function.filter(|&function| self.begins_function(function)) {
            self.claims.add(function, owner, role);
        }
    }

    fn begins_function(&self, address: u64) -> bool {
        self.extents.is_empty() || self.extents.starting_at(address).is_some()
    }

    fn number(&self, place: u64) -> Option<u64> {
        self.cells.number_at(place)
    }

    /// Outer `None`: what stands there is no function. Inner `None`: nothing, or a function of another file.
    fn function(&self, place: u64) -> Option<Option<u64>> {
        match self.cells.at(place)? {
            Cell::Number(0) | Cell::Import(_) => Some(None),
            Cell::Address(address) if self.image.is_code(address) => Some(Some(address)),
            Cell::Number(_) | Cell::Address(_) => None,
        }
    }

    /// Outer `None`: what stands there is no pointer to data. Inner `None`: null, or data of another file.
    fn pointer(&self, place: u64) -> Option<Option<u64>> {
        match self.cells.at(place)? {
            Cell::Number(0) | Cell::Import(_) => Some(None),
            Cell::Address(address) if !self.image.is_code(address) => Some(Some(address)),
            Cell::Number(_) | Cell::Address(_) => None,
        }
    }

    fn identifier(&self, address: u64) -> Option<&'a str> {
        self.dotted_name(address).filter(|name| !name.contains(['.', '-']))
    }

    /// The name of a type, a module or a method: "list", "_io.BytesIO", "method-wrapper".
    fn dotted_name(&self, address: u64) -> Option<&'a str> {
        let text = self.image.text_at(address, NAME_BYTES_MAX)?;
        let begins = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
        (begins && text.chars().all(fits)).then_some(text)
    }
}
