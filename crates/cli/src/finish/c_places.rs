//! Lines of C sources and inlined functions of one module, as columns for the recording.
//! Owns: the table of strings. Never: stores an address of which nothing is known.

use std::collections::{BTreeSet, HashMap};

use genba_format::proto;
use genba_profile::names::{Names, Shown};

/// None: the module has no debug information, or none for `addresses`.
pub fn of_module(names: &Names<'_>, addresses: &BTreeSet<u64>) -> Option<proto::CPlaces> {
    let sections = names.debug_sections()?;
    let places = sections.places()?;
    let mut columns = Columns::default();
    let mut last_address = 0;
    for &address in addresses {
        let found = places.at(address);
        if found.iter().all(|place| place.name.is_none() && place.file.is_none()) {
            continue;
        }
        columns.rows.address_delta.push(address - last_address);
        last_address = address;
        columns.rows.frames.push(u32::try_from(found.len()).ok()?);
        for (depth, place) in found.into_iter().enumerate() {
            // The outermost is the function that the symbols name, in the same words everywhere.
            let name = place.name.filter(|_| depth > 0);
            columns.push(name, place.file, place.line);
        }
    }
    (!columns.rows.address_delta.is_empty()).then_some(columns.rows)
}

#[derive(Default)]
struct Columns {
    rows: proto::CPlaces,
    text_of: HashMap<String, u32>,
}

impl Columns {
    fn push(&mut self, name: Option<Shown>, file: Option<String>, line: Option<u32>) {
        let (name, full_name) = name.map_or((None, None), |shown| (Some(shown.name), shown.full_name));
        let (name, full_name, file) = (self.text(name), self.text(full_name), self.text(file));
        self.rows.name.push(name);
        self.rows.full_name.push(full_name);
        self.rows.file.push(file);
        self.rows.line.push(line.unwrap_or_default());
    }

    /// Index + 1, and 0 for none.
    fn text(&mut self, text: Option<String>) -> u32 {
        let Some(text) = text else {
            return 0;
        };
        if let Some(&known) = self.text_of.get(&text) {
            return known;
        }
        self.rows.strings.push(text.clone());
        let index = self.rows.strings.len() as u32;
        self.text_of.insert(text, index);
        index
    }
}
