//! Names for the addresses that were hit, module by module.
//! Owns: turning functions into rows that do not overlap. Never: reads a file that no sample touched.

use std::collections::BTreeMap;

use genba_format::proto;
use genba_profile::hits::{HitAddresses, HitModule};
use genba_profile::names::{CFunction, KnownFunction, Names};

use super::elf_files;

/// Origin of rows for functions whose beginning and end are known, and no name: `libfoo.so+0x1200`.
const UNNAMED: &str = "no name";

pub fn find(modules: &BTreeMap<HitModule, HitAddresses>) -> Vec<proto::CName> {
    modules.iter().filter(|(_, hit)| !hit.inside.is_empty()).flat_map(|(module, hit)| of_module(module, hit)).collect()
}

/// Nothing when the file is not the one that was mapped.
fn of_module(module: &HitModule, hit: &HitAddresses) -> Vec<proto::CName> {
    let Some(files) = elf_files::open(&module.path, &module.build_id) else {
        return Vec::new();
    };
    let known: Vec<KnownFunction<'_>> =
        hit.known.iter().map(|(&address, name)| KnownFunction { address, name }).collect();
    let Ok(names) = Names::new(&files.image, files.debug.as_deref(), &known) else {
        return Vec::new();
    };
    let mut found: BTreeMap<u64, Row> = BTreeMap::new();
    for &address in &hit.inside {
        let row = match names.name_of(address) {
            Some(function) => Row::named(function),
            None => match names.extent_of(address) {
                Some((start, end)) => Row::unnamed(&module.path, start, end),
                None => continue,
            },
        };
        found.entry(row.start).or_insert(row);
    }
    without_overlap(found.into_values())
        .into_iter()
        .map(|row| proto::CName {
            module: module.path.clone(),
            build_id: module.build_id.clone(),
            start: row.start,
            end: row.end,
            name: row.name,
            origin: row.origin,
        })
        .collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    start: u64,
    end: u64,
    name: String,
    origin: String,
}

impl Row {
    fn named(function: CFunction) -> Self {
        let origin = function.origin.to_string();
        Row { start: function.start, end: function.end, name: function.name, origin }
    }

    fn unnamed(path: &str, start: u64, end: u64) -> Self {
        let file = path.rsplit('/').next().unwrap_or(path);
        Row { start, end, name: format!("{file}+{start:#x}"), origin: UNNAMED.to_owned() }
    }
}

/// A function that lies inside another one cuts the outer one in pieces, so that each address lies in one row.
/// `rows` come sorted by their start, each start once.
fn without_overlap(rows: impl Iterator<Item = Row>) -> Vec<Row> {
    let mut flat: Vec<Row> = Vec::new();
    let mut outer: Vec<Row> = Vec::new();
    for row in rows {
        close(&mut outer, row.start, &mut flat);
        if let Some(around) = outer.last_mut() {
            let before = Row { end: row.start, ..around.clone() };
            if before.start < before.end {
                flat.push(before);
            }
            around.start = row.end.min(around.end);
        }
        outer.push(row);
    }
    close(&mut outer, u64::MAX, &mut flat);
    flat
}

/// Moves the open rows that end before `at` to the finished ones.
fn close(outer: &mut Vec<Row>, at: u64, flat: &mut Vec<Row>) {
    while let Some(row) = outer.pop_if(|row| row.end <= at) {
        if row.start < row.end {
            flat.push(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Row, without_overlap};

    /// "0-9:a 2-4:b" → the rows that come out.
    #[track_caller]
    fn check(rows: &str, expected: &str) {
        let rows = rows.split(' ').map(|row| {
            let (range, name) = row.split_once(':').unwrap();
            let (start, end) = range.split_once('-').unwrap();
            let (start, end) = (start.parse().unwrap(), end.parse().unwrap());
            Row { start, end, name: name.to_owned(), origin: String::new() }
        });
        let flat: Vec<String> =
            without_overlap(rows).into_iter().map(|row| format!("{}-{}:{}", row.start, row.end, row.name)).collect();
        assert_eq!(flat.join(" "), expected);
    }

    #[test]
    fn each_address_lies_in_one_row() {
        check("0-4:a 4-9:b", "0-4:a 4-9:b");
        check("0-9:a 2-4:b", "0-2:a 2-4:b 4-9:a");
        check("0-9:a 2-4:b 6-7:c", "0-2:a 2-4:b 4-6:a 6-7:c 7-9:a");
        check("0-9:a 2-8:b 3-4:c", "0-2:a 2-3:b 3-4:c 4-8:b 8-9:a");
        check("0-5:a 3-9:b", "0-3:a 3-9:b");
        check("0-9:a 0-9:b", "0-9:b");
    }
}
