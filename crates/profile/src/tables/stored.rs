//! The tables of one process as they are stored: pieces in many blocks, found by stored index.
//! Owns: look-ups across blocks. Never: copies rows; trusts an index (a lost block leaves a gap, and a gap is `None`).

use foldhash::HashMap;

use genba_format::{ProcessKey, ReadBlock, Recording, proto};

/// The blocks of one process key, in order, and their tables.
#[derive(Default)]
pub struct Stored<'a> {
    pub blocks: Vec<&'a ReadBlock>,
    pub strings: Pieces<'a, Vec<u8>>,
    pub modules: Pieces<'a, proto::Module>,
    pub codes: Pieces<'a, proto::Code>,
    pub threads: Pieces<'a, proto::Thread>,
    pub contexts: Pieces<'a, proto::Context>,
    nodes: Vec<(u32, &'a proto::Nodes)>,
    code_parts: HashMap<u32, Vec<&'a proto::CodePart>>,
    known_addresses: Vec<&'a proto::KnownAddress>,
}

/// A row of `Nodes`.
#[derive(Clone, Copy)]
pub struct StoredNode {
    pub parent: Option<u32>,
    pub kind: u32,
    pub table: u32,
    pub address: u64,
}

impl StoredNode {
    /// What it stands for, under any parent: its kind, its table's row and its address.
    pub fn content(&self) -> (u32, u32, u64) {
        (self.kind, self.table, self.address)
    }
}

/// Every process key with a start block or samples, in the order in which they appear in the file.
pub fn processes(recording: &Recording) -> Vec<(ProcessKey, Stored<'_>)> {
    let mut found: Vec<(ProcessKey, Stored)> = Vec::new();
    let mut position_of: HashMap<ProcessKey, usize> = HashMap::default();
    for read in &recording.blocks {
        let key = read.header.process_key;
        let position = *position_of.entry(key).or_insert_with(|| {
            found.push((key, Stored::default()));
            found.len() - 1
        });
        found[position].1.add(read);
    }
    // The command's own blocks (names, sources, how it ended) are no process that is recorded.
    found.retain(|(_, stored)| {
        stored.blocks.iter().any(|read| {
            let block = &read.block;
            block.start.is_some() || read.samples.is_some() || block.accounting.is_some()
        })
    });
    found
}

impl<'a> Stored<'a> {
    fn add(&mut self, read: &'a ReadBlock) {
        self.blocks.push(read);
        let Some(tables) = &read.block.tables else {
            return;
        };
        self.strings.add(tables.strings_first, &tables.strings);
        self.modules.add(tables.modules_first, &tables.modules);
        self.codes.add(tables.codes_first, &tables.codes);
        self.threads.add(tables.threads_first, &tables.threads);
        self.contexts.add(tables.contexts_first, &tables.contexts);
        if let Some(nodes) = &tables.nodes {
            self.nodes.push((tables.nodes_first, nodes));
        }
        for part in &tables.code_parts {
            self.code_parts.entry(part.code).or_default().push(part);
        }
        self.known_addresses.extend(&tables.known_addresses);
    }

    pub fn start(&self) -> Option<&'a proto::Start> {
        self.blocks.iter().find_map(|read| read.block.start.as_ref())
    }

    pub fn string(&self, index: u32) -> Option<String> {
        let bytes = self.strings.get(index)?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    pub fn node(&self, index: u32) -> Option<StoredNode> {
        let position = self.nodes.partition_point(|(first, _)| *first <= index);
        let (first, columns) = self.nodes.get(position.checked_sub(1)?)?;
        let row = (index - first) as usize;
        Some(StoredNode {
            parent: columns.parent.get(row)?.checked_sub(1),
            kind: *columns.kind.get(row)?,
            table: *columns.table.get(row)?,
            address: *columns.address.get(row)?,
        })
    }

    pub fn known_addresses(&self) -> impl Iterator<Item = &'a proto::KnownAddress> {
        self.known_addresses.iter().copied()
    }

    /// The location table of a code object as far as it is known without a gap.
    pub fn linetable(&self, index: u32, code: &proto::Code) -> Vec<u8> {
        let mut linetable = code.linetable.clone();
        let mut parts = self.code_parts.get(&index).cloned().unwrap_or_default();
        parts.sort_by_key(|part| part.offset);
        for part in parts {
            let offset = part.offset as usize;
            if offset > linetable.len() {
                break;
            }
            let known = (linetable.len() - offset).min(part.linetable.len());
            linetable.extend_from_slice(&part.linetable[known..]);
        }
        linetable
    }
}

/// Rows of one kind: each block brings those from `first` on.
pub struct Pieces<'a, T> {
    pieces: Vec<(u32, &'a [T])>,
}

impl<T> Default for Pieces<'_, T> {
    fn default() -> Self {
        Self { pieces: Vec::new() }
    }
}

impl<'a, T> Pieces<'a, T> {
    /// Blocks come in order, so `first` only grows.
    fn add(&mut self, first: u32, rows: &'a [T]) {
        if !rows.is_empty() {
            self.pieces.push((first, rows));
        }
    }

    pub fn get(&self, index: u32) -> Option<&'a T> {
        let position = self.pieces.partition_point(|(first, _)| *first <= index);
        let (first, rows) = self.pieces.get(position.checked_sub(1)?)?;
        rows.get((index - first) as usize)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &'a T)> {
        self.pieces.iter().flat_map(|(first, rows)| (*first..).zip(rows.iter()))
    }
}

/// Makes a file name of a code object absolute; names such as `<string>` stay.
pub fn absolute(filename: &str, cwd: Option<&str>) -> String {
    match cwd {
        Some(cwd) if !filename.starts_with(['/', '<']) && !cwd.is_empty() => {
            let filename = filename.strip_prefix("./").unwrap_or(filename);
            format!("{}/{filename}", cwd.trim_end_matches('/'))
        }
        _ => filename.to_string(),
    }
}
