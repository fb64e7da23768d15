//! Names for the addresses that were hit, module by module.
//! Owns: turning functions into rows that do not overlap. Never: reads a file that no sample touched.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use genba_format::proto;
use genba_names::{KnownFunction, Names};
use genba_profile::build::{NO_NAME, REPLACED};
use genba_profile::hits::{HitAddresses, HitModule};

use super::c_functions::{Function, Named};
use super::elf_files::{self, Unread};
use super::facts::Facts;
use super::kept::Kept;
use super::root::Root;
use super::side_by_side;

/// What the files tell of the addresses that were hit.
#[derive(Default)]
pub struct Found {
    pub names: Vec<proto::CName>,
    pub places: Vec<proto::CPlaces>,
}

/// What is kept is read here and now; what is to be learned, modules side by side: a reader waits for this at the end of a run.
pub fn find(root: &Root, modules: &BTreeMap<HitModule, HitAddresses>) -> Found {
    let mut of_modules: Vec<(&HitModule, Found)> = Vec::new();
    let mut unknown: Vec<Unknown<'_>> = Vec::new();
    for (module, hit) in modules.iter().filter(|(_, hit)| !hit.inside.is_empty()) {
        // What is kept is kept of the file that is there now.
        let is_other = elf_files::may_be_another(root, &module.path, &module.build_id, hit.began_realtime_ns);
        let kept = if is_other { None } else { Kept::of(root, module, &hit.known) };
        let facts = kept.as_ref().and_then(|kept| kept.read(root, Some(&hit.inside)));
        match facts.filter(|facts| facts.cover(&hit.inside)) {
            Some(facts) => of_modules.push((module, found_in(&facts, module, hit))),
            None => unknown.push(Unknown { module, hit, kept }),
        }
    }
    // The largest first: nobody waits for it at the end.
    unknown
        .sort_by_cached_key(|one| Reverse(root.metadata(Path::new(&one.module.path)).map_or(0, |found| found.len())));
    of_modules.extend(side_by_side::each(&unknown, 1, |one, _| (one.module, learn(root, one))));
    if let Some(kept) = unknown.iter().find_map(|one| one.kept.as_ref()) {
        kept.make_room();
    }
    of_modules.sort_unstable_by_key(|&(module, _)| module);
    let mut found = Found::default();
    for (_, Found { names, places }) in of_modules {
        found.names.extend(names);
        found.places.extend(places);
    }
    found
}

/// A module of which too little is kept.
struct Unknown<'m> {
    module: &'m HitModule,
    hit: &'m HitAddresses,
    kept: Option<Kept>,
}

/// Keeps what is learned, with what was kept before.
fn learn(root: &Root, Unknown { module, hit, kept }: &Unknown<'_>) -> Found {
    let mut facts = kept.as_ref().and_then(|kept| kept.read(root, None)).unwrap_or_default();
    let files = match elf_files::open(root, &module.path, &module.build_id, hit.began_realtime_ns) {
        Ok(files) => files,
        Err(Unread::Missing) => return Found::default(),
        Err(Unread::Replaced) => return Found { names: vec![replaced(module)], places: Vec::new() },
    };
    let known: Vec<KnownFunction<'_>> =
        hit.known.iter().map(|(&address, name)| KnownFunction { address, name }).collect();
    let Ok(names) = Names::new(&files.image, files.debug.as_deref(), &known) else { return Found::default() };
    facts.learn(&names, &hit.inside);
    if let Some(kept) = kept.as_ref().filter(|_| facts.can_be_kept()) {
        kept.write(&facts, files.looked_for);
    }
    found_in(&facts, module, hit)
}

/// The whole of a module whose functions nobody can name any more.
fn replaced(module: &HitModule) -> proto::CName {
    proto::CName {
        module: module.path.clone(),
        build_id: module.build_id.clone(),
        end: u64::MAX,
        origin: REPLACED.to_owned(),
        ..Default::default()
    }
}

fn found_in(facts: &Facts, module: &HitModule, hit: &HitAddresses) -> Found {
    let mut rows: BTreeMap<u64, Row> = BTreeMap::new();
    for function in facts.functions_at(&hit.inside) {
        rows.entry(function.start).or_insert_with(|| Row::of(function, &module.path));
    }
    let (path, build_id) = (&module.path, &module.build_id);
    let names = without_overlap(rows.into_values()).into_iter().map(|row| proto::CName {
        module: path.clone(),
        build_id: build_id.clone(),
        start: row.start,
        end: row.end,
        name: row.name,
        origin: row.origin,
        full_name: row.full_name.unwrap_or_default(),
    });
    let places = facts.places_at(&hit.inside);
    let places = places.map(|rows| proto::CPlaces { module: path.clone(), build_id: build_id.clone(), ..rows });
    Found { names: names.collect(), places: places.into_iter().collect() }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    start: u64,
    end: u64,
    name: String,
    full_name: Option<String>,
    origin: String,
}

impl Row {
    /// A function without a name is named after the file of its module.
    fn of(function: Function, path: &str) -> Self {
        let Function { start, end, named } = function;
        match named {
            Some(Named { name, full_name, origin }) => Row { start, end, name, full_name, origin },
            None => {
                let file = path.rsplit('/').next().unwrap_or(path);
                Row { start, end, name: format!("{file}+{start:#x}"), full_name: None, origin: NO_NAME.to_owned() }
            }
        }
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
            Row { start, end, name: name.to_owned(), full_name: None, origin: String::new() }
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
