//! Makes a recording in memory of frames, stacks and samples: one process, one block.
//! Owns: the tables' indices, and location tables that tell the lines. Never: sets a clock that it was not given.
//! Keeps: a node's parent stands before it; law 1 holds, as every tick that a file tells is a sample's.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::Refused;
use crate::room::{CALL_BYTES, NAME_COPIES, NAME_COPIES_OF_CALL, PLACE_BYTES, Room, SAMPLE_BYTES};
use genba_format::columns::Samples;
use genba_format::{BlockHeader, ProcessKey, QUANTUM_NS, ReadBlock, Recording, VERSION, proto};

/// Of a C function without a file.
const NO_MODULE: &str = "unknown file";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Frame {
    Python {
        name: Arc<str>,
        file: Arc<str>,
        first_line: u32,
        line: Option<u32>,
    },
    C {
        name: Arc<str>,
        module: Option<Arc<str>>,
    },
    /// Not a function: says what is missing.
    Mark(Arc<str>),
}

/// What one sample stands for. Times that a file does not tell are 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    pub thread: u32,
    /// From `node`; none: no stack.
    pub leaf: Option<u32>,
    pub ticks: u32,
    pub cpu_ns: u64,
    pub wall_ns: u64,
    /// Since the recording began.
    pub at_ns: u64,
}

pub struct Builder {
    room: Room,
    strings: Vec<Vec<u8>>,
    string_of: HashMap<Vec<u8>, u32>,
    codes: Vec<Code>,
    code_of: HashMap<(Arc<str>, Arc<str>, u32), u32>,
    modules: Vec<proto::Module>,
    module_of: HashMap<String, u32>,
    c_names: Vec<proto::CName>,
    /// Kind, table and address of a node.
    place_of: HashMap<Frame, (u32, u32, u64)>,
    nodes: proto::Nodes,
    node_of: HashMap<(u32, u32, u32, u64), u32>,
    threads: Vec<proto::Thread>,
    samples: proto::Samples,
    end_quanta: i64,
    /// Nanoseconds of each thread that are no whole quantum yet: CPU, wall.
    carried_ns: HashMap<u32, (u64, u64)>,
    accounting: proto::Accounting,
    marks: Vec<proto::Mark>,
}

struct Code {
    row: proto::Code,
    unit_of_line: HashMap<u32, u64>,
    /// Of the newest entry of the location table.
    line: u32,
}

impl Builder {
    pub fn within(room: Room) -> Builder {
        Builder {
            room,
            strings: Vec::new(),
            string_of: HashMap::new(),
            codes: Vec::new(),
            code_of: HashMap::new(),
            modules: Vec::new(),
            module_of: HashMap::new(),
            c_names: Vec::new(),
            place_of: HashMap::new(),
            nodes: proto::Nodes::default(),
            node_of: HashMap::new(),
            threads: Vec::new(),
            samples: proto::Samples::default(),
            end_quanta: 0,
            carried_ns: HashMap::new(),
            accounting: proto::Accounting::default(),
            marks: Vec::new(),
        }
    }

    pub const fn room(&self) -> Room {
        self.room
    }

    /// The node of `frame` under `parent`, both as stored: index.
    ///
    /// # Errors
    /// The file has no room for one more.
    pub fn node(&mut self, parent: Option<u32>, frame: &Frame) -> Result<u32, Refused> {
        let (kind, table, address) = match self.place_of.get(frame) {
            Some(place) => *place,
            None => {
                self.room.take(PLACE_BYTES + NAME_COPIES * frame.name_bytes())?;
                let place = self.place(frame);
                self.place_of.insert(frame.clone(), place);
                place
            }
        };
        let parent = parent.map_or(0, |parent| parent + 1);
        let nodes = &mut self.nodes;
        match self.node_of.entry((parent, kind, table, address)) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(new) => {
                self.room.take(CALL_BYTES + NAME_COPIES_OF_CALL * frame.name_bytes())?;
                nodes.parent.push(parent);
                nodes.kind.push(kind);
                nodes.table.push(table);
                nodes.address.push(address);
                Ok(*new.insert(nodes.parent.len() as u32 - 1))
            }
        }
    }

    /// The thread of that number; a name where the number alone says too little.
    ///
    /// # Errors
    /// The file has no room for one more.
    pub fn thread(&mut self, tid: u32, name: &str) -> Result<u32, Refused> {
        self.room.take(PLACE_BYTES)?;
        let name = self.string(name);
        self.threads.push(proto::Thread { tid, name, start_ns: 0 });
        Ok(self.threads.len() as u32 - 1)
    }

    /// # Errors
    /// The file has no room for one more.
    pub fn sample(&mut self, sample: Sample) -> Result<(), Refused> {
        self.room.take(SAMPLE_BYTES)?;
        let carried = self.carried_ns.entry(sample.thread).or_default();
        let quanta = |carried_ns: &mut u64, ns: u64| {
            let whole_ns = carried_ns.saturating_add(ns);
            *carried_ns = whole_ns % QUANTUM_NS;
            whole_ns / QUANTUM_NS
        };
        let (cpu_quanta, wall_quanta) = (quanta(&mut carried.0, sample.cpu_ns), quanta(&mut carried.1, sample.wall_ns));
        let end_quanta = i64::try_from(sample.at_ns / QUANTUM_NS).unwrap_or(i64::MAX);
        let columns = &mut self.samples;
        columns.end_delta_quanta.push(end_quanta.saturating_sub(self.end_quanta));
        self.end_quanta = end_quanta;
        columns.thread.push(sample.thread);
        columns.node.push(sample.leaf.map_or(0, |leaf| leaf + 1));
        columns.state.push(0);
        columns.ticks.push(sample.ticks);
        columns.cpu_quanta.push(cpu_quanta);
        columns.wall_quanta.push(wall_quanta);
        let accounting = &mut self.accounting;
        accounting.sampled = accounting.sampled.saturating_add(u64::from(sample.ticks));
        accounting.ticks = accounting.sampled;
        accounting.cpu_sampled_ns = accounting.cpu_sampled_ns.saturating_add(cpu_quanta.saturating_mul(QUANTUM_NS));
        accounting.cpu_process_ns = accounting.cpu_process_ns.saturating_add(sample.cpu_ns);
        Ok(())
    }

    /// CPU and wall time that the file tells and that is in no sample.
    pub fn not_sampled(&mut self, cpu_ns: u64, wall_ns: u64) {
        let accounting = &mut self.accounting;
        accounting.cpu_process_ns = accounting.cpu_process_ns.saturating_add(cpu_ns);
        accounting.wall_not_sampled_ns = accounting.wall_not_sampled_ns.saturating_add(wall_ns);
    }

    pub fn resident(&mut self, at_ns: u64, bytes: u64) {
        let kind = proto::MarkKind::Rss as u32;
        self.marks.push(proto::Mark { at_ns, kind, value: bytes, ..proto::Mark::default() });
    }

    pub fn samples(&self) -> usize {
        self.samples.ticks.len()
    }

    /// `of`: the bytes that were read, which name the process: a copy of the file has the same name.
    pub fn finish(self, of: &[u8], start: proto::Start, run_ns: u64) -> Recording {
        let mut accounting = self.accounting;
        accounting.cpu_not_sampled_ns = accounting.cpu_process_ns.saturating_sub(accounting.cpu_sampled_ns);
        accounting.cpu_process_ns = accounting.cpu_sampled_ns.saturating_add(accounting.cpu_not_sampled_ns);
        let mut codes: Vec<proto::Code> = Vec::with_capacity(self.codes.len());
        for code in self.codes {
            let linetable_bytes = code.row.linetable.len() as u32;
            codes.push(proto::Code { linetable_bytes, ..code.row });
        }
        let tables = proto::Tables {
            strings: self.strings,
            modules: self.modules,
            codes,
            nodes: Some(self.nodes),
            threads: self.threads,
            ..proto::Tables::default()
        };
        let block = proto::Block {
            start: Some(start),
            tables: Some(tables),
            accounting: Some(accounting),
            marks: self.marks,
            c_names: self.c_names,
            ..proto::Block::default()
        };
        let header = BlockHeader { version: VERSION, process_key: key(of), sequence: 0, start_ns: 0, end_ns: run_ns };
        let stored_bytes = of.len() as u64;
        let samples = Some(Samples::from(&self.samples));
        Recording {
            blocks: vec![ReadBlock { header, block, samples, offset: 0, stored_bytes }],
            ..Recording::default()
        }
    }

    fn place(&mut self, frame: &Frame) -> (u32, u32, u64) {
        match frame {
            Frame::Python { name, file, first_line, line } => {
                let code = self.code(name, file, *first_line);
                let address = line.map_or(0, |line| self.codes[code as usize].unit(line));
                (proto::NodeKind::Python as u32, code, address)
            }
            Frame::C { name, module } => {
                let path = module.as_deref().unwrap_or(NO_MODULE);
                let module = self.module(path);
                // One address a name: what a name's address was is not known.
                let start = self.c_names.len() as u64;
                self.c_names.push(proto::CName {
                    module: path.to_owned(),
                    start,
                    end: start + 1,
                    name: name.to_string(),
                    origin: "the imported file".to_owned(),
                    ..proto::CName::default()
                });
                (proto::NodeKind::CLeaf as u32, module, start)
            }
            Frame::Mark(words) => (proto::NodeKind::Mark as u32, self.string(words), 0),
        }
    }

    fn code(&mut self, name: &Arc<str>, file: &Arc<str>, first_line: u32) -> u32 {
        let key = (Arc::clone(name), Arc::clone(file), first_line);
        if let Some(code) = self.code_of.get(&key) {
            return *code;
        }
        let (qualname, filename) = (self.string(name), self.string(file));
        // The first unit has no line, for stacks that tell none.
        let linetable = vec![entry(15)];
        let row = proto::Code { qualname, filename, first_line, linetable_bytes: 0, linetable };
        self.codes.push(Code { row, unit_of_line: HashMap::new(), line: first_line });
        let code = self.codes.len() as u32 - 1;
        self.code_of.insert(key, code);
        code
    }

    fn module(&mut self, path: &str) -> u32 {
        if let Some(module) = self.module_of.get(path) {
            return *module;
        }
        let row = proto::Module { path: self.string(path), ..proto::Module::default() };
        self.modules.push(row);
        let module = self.modules.len() as u32 - 1;
        self.module_of.insert(path.to_owned(), module);
        module
    }

    fn string(&mut self, text: &str) -> u32 {
        if let Some(string) = self.string_of.get(text.as_bytes()) {
            return *string;
        }
        self.strings.push(text.as_bytes().to_vec());
        let string = self.strings.len() as u32 - 1;
        self.string_of.insert(text.as_bytes().to_vec(), string);
        string
    }
}

impl Frame {
    fn name_bytes(&self) -> u64 {
        let bytes = match self {
            Frame::Python { name, file, .. } => name.len() + file.len(),
            Frame::C { name, module } => name.len() + module.as_ref().map_or(0, |module| module.len()),
            Frame::Mark(words) => words.len(),
        };
        bytes as u64
    }
}

impl Code {
    /// The code unit that is at `line`.
    fn unit(&mut self, line: u32) -> u64 {
        if let Some(unit) = self.unit_of_line.get(&line) {
            return *unit;
        }
        let unit = self.unit_of_line.len() as u64 + 1;
        self.unit_of_line.insert(line, unit);
        let table = &mut self.row.linetable;
        table.push(entry(13));
        let difference = i64::from(line) - i64::from(self.line);
        let zigzag = (difference.unsigned_abs() << 1) | u64::from(difference < 0);
        varint(zigzag, table);
        self.line = line;
        unit
    }
}

/// The first byte of an entry for one code unit: 13 is a line without columns, 15 no line. Source: CPython 3.11 to 3.15,
/// Objects/locations.md.
const fn entry(code: u8) -> u8 {
    0x80 | (code << 3)
}

/// Six bits a byte, the lowest first; bit 6 says that more follow.
fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x40 {
        out.push(0x40 | (value & 0x3f) as u8);
        value >>= 6;
    }
    out.push(value as u8);
}

fn key(bytes: &[u8]) -> ProcessKey {
    let half = |seed: u64| {
        let mut hasher = DefaultHasher::new();
        (seed, bytes).hash(&mut hasher);
        hasher.finish().to_le_bytes()
    };
    let mut key = ProcessKey::default();
    key[..8].copy_from_slice(&half(0));
    key[8..].copy_from_slice(&half(1));
    key
}
