//! What is added to a recording after the run: names of the C functions and text of the source files that were hit.
//! Owns: the command's own block (names, sources, how the program ended). Never: changes what the program's processes
//! wrote, stores a name or a text that no sample touched.
//! Keeps: names come only from files with the build id that was mapped.

mod blocks;
mod c_functions;
mod c_names;
mod c_places;
mod elf_files;
mod facts;
mod kept;
mod packages;
mod pieces;
mod root;
mod side_by_side;
mod sources;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use genba_format::{BlockHeader, ProcessKey, ReadBlock, Recording, VERSION, compress, encode_block, proto};
use genba_profile::build::Additions;
use genba_profile::hits::{self, HitAddresses, HitModule, Hits};
use genba_profile::owner::is_in;

use crate::words::failure::{self, Failure};
pub use elf_files::{SymbolsAt, symbols_of};
pub use root::Root;
pub use side_by_side::both;
pub use sources::encoding::decoded;
pub use sources::{Places, SourceText, Told, may_be_typed};

/// What the command itself has seen.
#[derive(Default)]
pub struct Seen {
    /// How the program ended.
    pub recorder: Option<proto::Recorder>,
    /// Programs of the run that are not in the recording.
    pub not_followed: Vec<proto::NotFollowed>,
    pub heaps: Vec<proto::Heap>,
    /// The program that it started, where that used much after its last block.
    pub reaped: Vec<proto::Reaped>,
}

/// The command's own blocks of a recording.
pub struct Added {
    blocks: Vec<proto::Block>,
    /// CLOCK_MONOTONIC.
    ended_ns: u64,
    /// In words.
    pub left_out: Vec<String>,
}

impl Added {
    /// Names and sources for `recording`, which ended at `ended_ns` (CLOCK_MONOTONIC), with the program where `seen.recorder` tells how.
    pub fn to(recording: &Recording, seen: Seen, places: Places<'_>, ended_ns: u64) -> Added {
        Added::of(found(recording, places), seen, ended_ns)
    }

    /// The same without names: `genba trace` names its functions by itself.
    pub fn sources_to(recording: &Recording, seen: Seen, places: Places<'_>, ended_ns: u64) -> Added {
        let hits = Hits { modules: BTreeMap::new(), ..hits::hits(recording) };
        Added::of(of_hits(hits, places), seen, ended_ns)
    }

    fn of((found, mut left_out): (Additions, Vec<String>), seen: Seen, ended_ns: u64) -> Added {
        let Seen { recorder, not_followed, heaps, reaped } = seen;
        let Additions { c_names, c_places, sources, packages, .. } = found;
        let block = proto::Block {
            c_names,
            c_places,
            sources,
            packages,
            recorder,
            not_followed,
            heaps,
            reaped,
            ..Default::default()
        };
        let (blocks, too_large) = blocks::of_format(block);
        left_out.extend(too_large);
        Added { blocks, ended_ns, left_out }
    }

    /// How many bytes the recording at `path` has got. Err: they could not be written; it is as it was, or ends in a cut block that readers skip.
    pub fn append(&self, path: &Path) -> Result<u64, Failure> {
        let encoded = encoded(self.blocks.clone(), (self.ended_ns, self.ended_ns))
            .map_err(|error| cannot_append(path, &error.to_string()))?;
        append(path, &encoded).map_err(|error| cannot_append(path, &error.to_string()))?;
        Ok(encoded.len() as u64)
    }

    /// What a reader of the whole file will find after what is in `recording`, but for where the blocks lie and for their key.
    pub fn complete(&self, recording: &mut Recording) {
        let ended_ns = self.ended_ns;
        recording.blocks.extend((0..).zip(&self.blocks).map(|(sequence, block)| ReadBlock {
            header: BlockHeader {
                version: VERSION,
                process_key: ProcessKey::default(),
                sequence,
                start_ns: ended_ns,
                end_ns: ended_ns,
            },
            block: block.clone(),
            samples: None,
            offset: 0,
            stored_bytes: 0,
        }));
    }
}

/// What `genba trace` counted, as the first blocks of a recording: of each process some blocks, in one write.
pub fn append_traced(path: &Path, processes: Vec<Vec<proto::Block>>, times_ns: (u64, u64)) -> Result<(), Failure> {
    for blocks in processes {
        encoded(blocks, times_ns).and_then(|bytes| append(path, &bytes)).map_err(|error| {
            Failure::no(format!("cannot write the counts to {}: {}", path.display(), failure::of_system(&error)))
        })?;
    }
    Ok(())
}

/// Names and sources for a recording whose run did not end in order, as far as the files are still there unchanged.
/// Nothing when the recording has its own.
pub fn found_beside(recording: &Recording) -> Additions {
    let finished = recording.blocks.iter().any(|read| read.block.recorder.is_some());
    let named = recording.blocks.iter().any(|read| !read.block.c_names.is_empty());
    if finished || named {
        return Additions::default();
    }
    found(recording, Places::own(&Told::new(), SourceText::All)).0
}

/// Sources for a recording that was made of another profiler's file: it has the names that there are.
pub fn sources_beside(recording: &Recording) -> Additions {
    let sources = sources::read(&hits::hits(recording).files, Places::own(&Told::new(), SourceText::All)).0;
    Additions { sources, ..Additions::default() }
}

/// Names and sources for a recording that goes on, of files that the program has open now. `told`: as above.
pub fn found_now(recording: &Recording, told: &Told) -> Additions {
    found(recording, Places::own(told, SourceText::Hit)).0
}

/// The same for whoever knows what the samples hit, and may not wait: another thread can look while the recording grows.
pub fn found_of_hits(hits: Hits, root: &Root) -> Additions {
    of_hits(hits, Places { root, told: &Told::new(), typed: None, source: SourceText::Hit }).0
}

/// Names of functions in files that a process has mapped.
pub fn c_names(modules: &BTreeMap<HitModule, HitAddresses>, root: &Root) -> Vec<proto::CName> {
    c_names::find(root, modules).names
}

/// And what was left out, in words.
fn found(recording: &Recording, places: Places<'_>) -> (Additions, Vec<String>) {
    of_hits(hits::hits(recording), places)
}

/// Names and texts side by side, where nobody has to be asked for a text: a reader waits for both at the end of a run.
fn of_hits(Hits { modules, mut files }: Hits, places: Places<'_>) -> (Additions, Vec<String>) {
    let names = || c_names::find(places.root, &modules);
    let mut texts = || {
        let own_files = files.iter().filter(|(_, file)| file.is_users_own);
        let packages: Vec<String> =
            packages::packages_of(places.root, own_files.map(|(path, _)| path.as_str())).into_iter().collect();
        for (path, file) in &mut files {
            file.is_users_own &= !is_in(&packages, path);
        }
        (packages, sources::read(&files, places))
    };
    let (c_names::Found { names: c_names, places: c_places }, (packages, (sources, left_out))) = match places.typed {
        Some(_) => (names(), texts()),
        None => both(names, texts),
    };
    (Additions { c_names, c_places, sources, packages, ..Additions::default() }, left_out)
}

/// With a process key of their own. `times_ns`: when they begin and end.
fn encoded(blocks: Vec<proto::Block>, (start_ns, end_ns): (u64, u64)) -> std::io::Result<Vec<u8>> {
    let process_key = random_key()?;
    let mut bytes = Vec::new();
    for (sequence, block) in (0..).zip(blocks) {
        let header = BlockHeader { version: VERSION, process_key, sequence, start_ns, end_ns };
        encode_block(&header, block, &mut compress, &mut bytes).map_err(std::io::Error::other)?;
    }
    Ok(bytes)
}

/// One write, as every block: children of the program may still be appending theirs.
fn append(path: &Path, block: &[u8]) -> std::io::Result<()> {
    let written = OpenOptions::new().append(true).open(path)?.write(block)?;
    if written < block.len() {
        let (total, found) = (block.len(), written);
        return Err(std::io::Error::other(format!(
            "{found} of {total} bytes written, the disk is full or a limit set"
        )));
    }
    Ok(())
}

fn cannot_append(path: &Path, words: &str) -> Failure {
    Failure::no(format!("cannot add C names and sources to {}: {words}", path.display()))
        .detail("what was recorded is in it, and intact")
        .hint("genba report finds the names while the program's files are still where they were")
}

fn random_key() -> std::io::Result<ProcessKey> {
    let mut key = ProcessKey::default();
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::SourceText;
    use super::{Added, Places, Seen, Told, found_beside};
    use expect_test::expect;
    use genba_format::{BlockHeader, Recording, VERSION, compress, encode_block, laws, proto, read};
    use std::path::{Path, PathBuf};

    /// A stripped extension module; where its functions lie is told in crates/names/tests/search/shop.rs.
    const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../names/tests/shop/shop.so");

    /// A folder of its own for each test, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("genba-finish-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// A recording of one sample: line 2 of `app.py`, which calls into the module at `addresses` (kind, file address).
    fn recording(folder: &Path, build_id: &[u8], addresses: &[(proto::NodeKind, u64)]) -> PathBuf {
        let source = folder.join("app.py");
        std::fs::write(&source, b"# coding: latin-1\nb'x'[0:]  # \xe9\n").unwrap();
        let strings = [SHOP, source.to_str().unwrap(), "<module>", "memmove"];
        let mut nodes = proto::Nodes { parent: vec![0], kind: vec![0], table: vec![0], address: vec![0] };
        for (index, &(kind, address)) in (1..).zip(addresses) {
            nodes.parent.push(index);
            nodes.kind.push(kind as u32);
            nodes.table.push(0);
            nodes.address.push(address);
        }
        let leaf = nodes.parent.len() as u32;
        let module = proto::Module { path: 0, build_id: build_id.to_vec(), ..Default::default() };
        // One entry: line 2 for one code unit, without columns (kind 13, line + 1).
        let linetable = vec![0b1110_1000, 2];
        let code = proto::Code { qualname: 2, filename: 1, first_line: 1, linetable_bytes: 2, linetable };
        let tables = proto::Tables {
            strings: strings.iter().map(|text| text.as_bytes().to_vec()).collect(),
            modules: vec![module],
            codes: vec![code],
            nodes: Some(nodes),
            threads: vec![proto::Thread { tid: 7, name: 2, start_ns: 0 }],
            known_addresses: vec![proto::KnownAddress { module: 0, address: 0x1330, name: 3 }],
            ..Default::default()
        };
        let samples = proto::Samples {
            end_delta_quanta: vec![1],
            thread: vec![0],
            node: vec![leaf],
            state: vec![0],
            ticks: vec![1],
            cpu_quanta: vec![1],
            wall_quanta: vec![1],
            context: Vec::new(),
        };
        let accounting = proto::Accounting {
            ticks: 1,
            sampled: 1,
            cpu_process_ns: 16_000,
            cpu_sampled_ns: 16_000,
            ..Default::default()
        };
        let block = proto::Block {
            start: Some(proto::Start { pid: 7, realtime_ns: u64::MAX / 2, ..Default::default() }),
            tables: Some(tables),
            samples: Some(samples),
            accounting: Some(accounting),
            ..Default::default()
        };
        let header = BlockHeader { version: VERSION, process_key: [7; 16], sequence: 0, start_ns: 0, end_ns: 16_000 };
        let mut bytes = Vec::new();
        encode_block(&header, block, &mut compress, &mut bytes).unwrap();
        let path = folder.join("app.genba");
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn read_back(path: &Path) -> Recording {
        let recording = read(&std::fs::read(path).unwrap()).unwrap();
        assert!(recording.faults.is_empty(), "{:?}", recording.faults);
        assert!(laws::check(&recording).is_empty());
        recording
    }

    fn shown(c_names: &[proto::CName], sources: &[proto::Source]) -> String {
        let mut lines = String::new();
        for row in c_names {
            assert_eq!(row.module, SHOP);
            lines += &format!("{:x}-{:x} {} ({})\n", row.start, row.end, row.name, row.origin);
        }
        for row in sources {
            lines += &format!("{} lines, {:?}\n", row.lines, row.chunks[0].text);
        }
        lines
    }

    #[test]
    fn what_was_hit_is_named_and_nothing_else() {
        let folder = Folder::new("named");
        let addresses = [
            (proto::NodeKind::CInferredCall, 0x1410),
            // The byte before a return address decides: this one is the end of `shop.Basket.__len__`.
            (proto::NodeKind::CReturn, 0x1275),
            (proto::NodeKind::CReturn, 0x1291),
            (proto::NodeKind::CLeaf, 0x1333),
        ];
        let path = recording(&folder.0, b"genba", &addresses);
        let recorder = proto::Recorder { exit_code: 3, ..Default::default() };
        let mut recording = read_back(&path);
        let seen = Seen { recorder: Some(recorder.clone()), ..Seen::default() };
        let added = Added::to(&recording, seen, Places::own(&Told::new(), SourceText::All), 16_000);
        assert_eq!(added.left_out, Vec::<String>::new());
        added.complete(&mut recording);
        added.append(&path).unwrap();
        let contents = |recording: &Recording| -> Vec<(u64, proto::Block)> {
            recording.blocks.iter().map(|read| (read.header.end_ns, read.whole())).collect()
        };
        assert_eq!(contents(&recording), contents(&read_back(&path)), "what a reader of the file finds");
        let added = &recording.blocks[1].block;
        assert_eq!(added.recorder.as_ref(), Some(&recorder));
        expect![[r##"
            1270-1275 shop.Basket.__len__ (method table)
            1290-129b shop.so+0x1290 (no name)
            1330-134b memmove (IFUNC)
            1410-1429 shop.Basket.weigh (method table)
            2 lines, "# coding: latin-1\nb'x'[0:]  # é\n"
        "##]]
        .assert_eq(&shown(&added.c_names, &added.sources));
        assert!(found_beside(&recording).c_names.is_empty(), "it has its own names");
    }

    #[test]
    fn a_run_without_an_end_is_named_when_it_is_read() {
        let folder = Folder::new("unfinished");
        let path = recording(&folder.0, b"genba", &[(proto::NodeKind::CLeaf, 0x13a0)]);
        let found = found_beside(&read_back(&path));
        expect![[r##"
            13a0-13f3 shop.Basket.add (method table)
            2 lines, "# coding: latin-1\nb'x'[0:]  # é\n"
        "##]]
        .assert_eq(&shown(&found.c_names, &found.sources));
    }

    #[test]
    fn a_module_of_another_build_gets_no_names() {
        let folder = Folder::new("other");
        let path = recording(&folder.0, b"other", &[(proto::NodeKind::CLeaf, 0x13a0)]);
        let told = Told::new();
        let places = Places::own(&told, SourceText::None);
        Added::to(&read_back(&path), Seen::default(), places, 16_000).append(&path).unwrap();
        let added = &read_back(&path).blocks[1].block;
        // For the whole module that its file is another one.
        assert_eq!(shown(&added.c_names, &added.sources), "0-ffffffffffffffff  (replaced)\n");
    }

    #[test]
    fn a_recording_that_cannot_grow_is_told() {
        let folder = Folder::new("gone");
        let path = recording(&folder.0, b"genba", &[]);
        let recording = read_back(&path);
        let gone = folder.0.join("gone.genba");
        let told = Told::new();
        let places = Places::own(&told, SourceText::None);
        let failure = Added::to(&recording, Seen::default(), places, 16_000).append(&gone);
        assert!(failure.unwrap_err().to_string().contains("gone.genba: No such file"));
    }
}
