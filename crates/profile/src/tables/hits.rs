//! What the samples of a recording touched: addresses in modules and lines in source files. Who finds names and
//! sources asks for these and for nothing else.
//! Never: opens a file; names what has a stored name already (the caller may ask for a recording that has none).

use foldhash::HashSet;
use std::collections::{BTreeMap, BTreeSet};

use genba_format::{Recording, proto};

use crate::tables::locations::Locations;
use crate::tables::owner::{self, Owner, Places};
use crate::tables::stored::{self, Stored, absolute};

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hits {
    pub modules: BTreeMap<HitModule, HitAddresses>,
    /// By absolute path; names such as `<string>` are left out.
    pub files: BTreeMap<String, HitFile>,
}

/// Lines of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HitFile {
    /// Where expressions begin and end.
    pub lines: BTreeSet<u32>,
    /// Where their functions begin, and their names without what they are defined in.
    pub definitions: BTreeMap<u32, BTreeSet<String>>,
    /// CLOCK_REALTIME at which the first program began that ran it: a text that was written later may be another one. 0: not known.
    pub began_realtime_ns: u64,
    /// Not of an installed package or the standard library.
    pub is_users_own: bool,
}

/// A module as `Tables` stores it: `CName` names it by the same path and build id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HitModule {
    pub path: String,
    pub build_id: Vec<u8>,
}

/// File addresses.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HitAddresses {
    /// As for a source file: a module without a build id that was written later may be another one.
    pub began_realtime_ns: u64,
    /// Each lies inside the function it stands for: of a return address, the byte before it.
    pub inside: BTreeSet<u64>,
    /// First addresses and names that the dynamic linker told.
    pub known: BTreeMap<u64, String>,
}

pub fn hits(recording: &Recording) -> Hits {
    let mut hits = Hits::default();
    for (_, stored) in stored::processes(recording) {
        of_process(&stored, &mut hits);
    }
    hits
}

fn of_process(stored: &Stored, hits: &mut Hits) {
    let began_realtime_ns = stored.start().map_or(0, |start| match start.began_realtime_ns {
        0 => start.realtime_ns,
        told_ns => told_ns,
    });
    let samples = stored.blocks.iter().filter_map(|read| read.samples.as_ref());
    let mut waiting: Vec<u32> = samples
        .flat_map(|samples| samples.rows())
        .map(|row| row.node)
        .chain(stored.blocks.iter().flat_map(|read| &read.block.collections).map(|row| row.node))
        .chain(stored.blocks.iter().flat_map(|read| &read.block.weights).flat_map(|weights| weights.node.clone()))
        .chain(stored.blocks.iter().flat_map(|read| &read.block.marks).map(|mark| mark.node))
        .filter_map(|node| node.checked_sub(1))
        .collect::<HashSet<u32>>()
        .into_iter()
        .collect();
    let mut seen: HashSet<u32> = waiting.iter().copied().collect();
    // By rows of the process's own tables: there are many nodes in one module, many codes in one file.
    let mut instructions: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
    let mut inside: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
    while let Some(index) = waiting.pop() {
        let Some(row) = stored.node(index) else {
            continue;
        };
        match proto::NodeKind::try_from(row.kind as i32) {
            Ok(proto::NodeKind::Python) => {
                instructions.entry(row.table).or_default().insert(row.address);
            }
            Ok(proto::NodeKind::CReturn) => {
                inside.entry(row.table).or_default().insert(row.address.saturating_sub(1));
            }
            Ok(proto::NodeKind::Mark) | Err(_) => {}
            Ok(_) => {
                inside.entry(row.table).or_default().insert(row.address);
            }
        }
        waiting.extend(row.parent.filter(|parent| seen.insert(*parent)));
    }
    for known in stored.known_addresses() {
        if let (Some(module), Some(name)) = (module(stored, known.module), stored.string(known.name)) {
            hits.modules.entry(module).or_default().known.insert(known.address, name);
        }
    }
    for (index, addresses) in inside {
        if let Some(module) = module(stored, index) {
            let hit = hits.modules.entry(module).or_default();
            hit.began_realtime_ns = earlier(hit.began_realtime_ns, began_realtime_ns);
            hit.inside.extend(addresses);
        }
    }
    of_codes(stored, instructions, began_realtime_ns, hits);
}

/// A row of codes, and which of its code units were met.
type Hit<'stored> = (u32, &'stored proto::Code, BTreeSet<u64>);

/// `instructions`: code units by the row of their code.
fn of_codes(stored: &Stored, instructions: BTreeMap<u32, BTreeSet<u64>>, began_realtime_ns: u64, hits: &mut Hits) {
    let mut by_filename: BTreeMap<u32, Vec<Hit>> = BTreeMap::new();
    for (index, units) in instructions {
        if let Some(code) = stored.codes.get(index) {
            by_filename.entry(code.filename).or_default().push((index, code, units));
        }
    }
    let cwd = stored.start().map(|start| start.cwd.as_str());
    let places = Places { executable: stored.start().map_or("", |start| &start.executable), packages: &[] };
    for (filename, codes) in by_filename {
        let Some(filename) = stored.string(filename).filter(|name| !name.starts_with('<')) else {
            continue;
        };
        let path = absolute(&filename, cwd);
        let is_users_own = owner::of_python(&path, places) == Owner::User;
        let file = hits.files.entry(path).or_default();
        file.is_users_own |= is_users_own;
        file.began_realtime_ns = earlier(file.began_realtime_ns, began_realtime_ns);
        for (index, code, units) in codes {
            let qualname = stored.string(code.qualname).unwrap_or_default();
            let name = qualname.rsplit('.').next().unwrap_or_default();
            file.definitions.entry(code.first_line).or_default().insert(name.to_string());
            let locations = Locations::decode(&stored.linetable(index, code), code.first_line);
            for unit in units {
                let location = u32::try_from(unit).ok().and_then(|unit| locations.at(unit));
                match location {
                    Some(location) => file.lines.extend([location.line, location.end_line]),
                    None => file.lines.extend([code.first_line]),
                }
            }
        }
    }
}

/// 0: not known.
fn earlier(one_ns: u64, other_ns: u64) -> u64 {
    match (one_ns, other_ns) {
        (0, known_ns) | (known_ns, 0) => known_ns,
        (one_ns, other_ns) => one_ns.min(other_ns),
    }
}

/// None: not a file, or its row was lost.
fn module(stored: &Stored, index: u32) -> Option<HitModule> {
    let module = stored.modules.get(index).filter(|module| module.kind != 2)?;
    Some(HitModule { path: stored.string(module.path)?, build_id: module.build_id.clone() })
}
