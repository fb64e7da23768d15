//! Lines of C sources and inlined functions, as columns: of one unit of the debug information for all its code, and of the addresses
//! that were hit for the recording.
//! Owns: the table of strings. Never: stores in a recording an address of which nothing is known.

use std::collections::HashMap;

use genba_format::proto;
use genba_profile::names::{CPlace, Places, UnitExtent};

/// For each address at which the answer changes, the answer from there on; no frames: nothing is known.
pub fn of_unit(places: &Places<'_>, unit: &UnitExtent) -> proto::CPlaces {
    let mut columns = Columns::default();
    let mut last: Vec<CPlace> = Vec::new();
    for &address in &unit.changes {
        let is_code = unit.code.iter().any(|code| code.contains(&address));
        let mut found = if is_code { places.at(address) } else { Vec::new() };
        if found.iter().all(|place| place.name.is_none() && place.file.is_none()) {
            found.clear();
        }
        if found != last {
            columns.begin(address, found.len());
            for (depth, place) in found.iter().enumerate() {
                // The outermost is the function that the symbols name, in the same words everywhere.
                let name = place.name.as_ref().filter(|_| depth > 0);
                columns.push(
                    name.map(|shown| shown.name.as_str()),
                    name.and_then(|shown| shown.full_name.as_deref()),
                    place.file.as_deref(),
                    place.line.unwrap_or_default(),
                );
            }
            last = found;
        }
    }
    columns.rows
}

/// What `of_unit` gave, to be asked.
pub struct UnitPlaces {
    rows: proto::CPlaces,
    starts: Vec<u64>,
    /// Index of the first frame of each start, and behind the last one.
    first_frames: Vec<usize>,
}

impl UnitPlaces {
    /// `None`: columns of different lengths.
    pub fn new(rows: proto::CPlaces) -> Option<Self> {
        let mut at = 0_u64;
        let starts = rows.address_delta.iter().map(|delta| {
            at = at.wrapping_add(*delta);
            at
        });
        let starts = starts.collect();
        let mut first_frames = vec![0];
        let mut behind = 0;
        for &frames in &rows.frames {
            behind += frames as usize;
            first_frames.push(behind);
        }
        let columns = [&rows.name, &rows.full_name, &rows.file, &rows.line];
        let is_whole =
            rows.frames.len() == rows.address_delta.len() && columns.iter().all(|column| column.len() == behind);
        is_whole.then_some(UnitPlaces { rows, starts, first_frames })
    }

    /// Appends what is known of `address`, which is larger than those before.
    pub fn copy_to(&self, columns: &mut Columns, address: u64) {
        let Some(index) = self.starts.partition_point(|&start| start <= address).checked_sub(1) else { return };
        let frames = self.first_frames[index]..self.first_frames[index + 1];
        if frames.is_empty() {
            return;
        }
        columns.begin(address, frames.len());
        for frame in frames {
            let text =
                |column: &[u32]| self.rows.strings.get(column[frame].checked_sub(1)? as usize).map(String::as_str);
            let (name, full_name) = (text(&self.rows.name), text(&self.rows.full_name));
            columns.push(name, full_name, text(&self.rows.file), self.rows.line[frame]);
        }
    }
}

#[derive(Default)]
pub struct Columns {
    rows: proto::CPlaces,
    text_of: HashMap<String, u32>,
    last_address: u64,
}

impl Columns {
    /// `None`: nothing was appended.
    pub fn into_rows(self) -> Option<proto::CPlaces> {
        (!self.rows.address_delta.is_empty()).then_some(self.rows)
    }

    fn begin(&mut self, address: u64, frames: usize) {
        self.rows.address_delta.push(address - self.last_address);
        self.last_address = address;
        self.rows.frames.push(frames as u32);
    }

    fn push(&mut self, name: Option<&str>, full_name: Option<&str>, file: Option<&str>, line: u32) {
        let (name, full_name, file) = (self.text(name), self.text(full_name), self.text(file));
        self.rows.name.push(name);
        self.rows.full_name.push(full_name);
        self.rows.file.push(file);
        self.rows.line.push(line);
    }

    /// Index + 1, and 0 for none.
    fn text(&mut self, text: Option<&str>) -> u32 {
        let Some(text) = text else {
            return 0;
        };
        if let Some(&known) = self.text_of.get(text) {
            return known;
        }
        self.rows.strings.push(text.to_owned());
        let index = self.rows.strings.len() as u32;
        self.text_of.insert(text.to_owned(), index);
        index
    }
}
