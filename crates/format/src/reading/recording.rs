//! From bytes to a recording: blocks that are intact and true to their tables, and faults for everything else.
//! Owns: order, duplicates and losses of blocks. Never: panics on any bytes, keeps a block that contradicts itself.
//! Keeps: the blocks of one process key stand in the order of their sequence numbers, each once.

use std::collections::{BTreeMap, HashMap};

use crate::framing::{HEADER_BYTES, MAGIC, ProcessKey};
use crate::proto;
use crate::reading::block::ReadBlock;
use crate::reading::columns::Samples;
use crate::reading::fault::{BlockName, Fault, FaultKind, NotARecording};
use crate::reading::reader::{Event, Reader};
use crate::reading::validate::Known;

/// Given to the reader at a time.
const PIECE_BYTES: usize = 1 << 20;

/// What a file holds. Every index in `blocks` names a row of the same process key, or one that a lost block took away.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    pub blocks: Vec<ReadBlock>,
    /// In the order of the file.
    pub faults: Vec<Fault>,
    /// Sequence numbers that are missing. What would have followed the last block anyone knows of is not among them.
    pub lost: Vec<LostBlocks>,
}

/// A run of missing blocks; `count` is at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostBlocks {
    pub process_key: ProcessKey,
    pub sequence_first: u64,
    pub count: u64,
}

impl Recording {
    /// At least so many blocks are not here, or could not be read.
    #[must_use]
    pub fn blocks_lost(&self) -> u64 {
        let known = self.lost.iter().fold(0, |sum: u64, lost| sum.saturating_add(lost.count));
        // A gap is noticed at the block behind it, and so the fault of the gap is none of its own.
        let places = self.faults.iter().filter(|fault| !fault.is_warning() && fault.kind != FaultKind::Lost);
        known.max(places.count() as u64)
    }

    /// Leaves one process's blocks, and of all samples a single one that ends at `node` (index + 1).
    pub fn keep_stack(&mut self, process_key: ProcessKey, node: u32) {
        self.blocks.retain(|block| block.header.process_key == process_key);
        for block in &mut self.blocks {
            block.samples = None;
        }
        if let Some(last) = self.blocks.last_mut() {
            let sample = proto::Samples {
                end_delta_quanta: vec![0],
                thread: vec![0],
                node: vec![node],
                state: vec![0],
                ticks: vec![1],
                cpu_quanta: vec![0],
                wall_quanta: vec![0],
                context: Vec::new(),
            };
            last.samples = Some(Samples::from(&sample));
        }
    }
}

/// Reads what is intact. Err: no byte at all, or the magic stands nowhere; a first block that is cut within its magic
/// is a recording with a fault.
pub fn read(bytes: &[u8]) -> Result<Recording, NotARecording> {
    if bytes.is_empty() {
        return Err(NotARecording::Empty);
    }
    if !MAGIC.starts_with(bytes) && memchr::memmem::find(bytes, &MAGIC).is_none() {
        let begins = bytes.iter().take(MAGIC.len()).copied().collect();
        return Err(NotARecording::NoMagic { begins });
    }
    let (found, mut faults) = events(bytes);
    let mut recording = Recording::default();
    let mut order = Order::default();
    for block in in_order(found) {
        match order.accept(&block) {
            Ok(lost) => {
                if let Some((lost, fault)) = lost {
                    faults.push(fault);
                    recording.lost.push(lost);
                }
                recording.blocks.push(block);
            }
            Err(fault) => faults.push(*fault),
        }
    }
    recording.lost.extend(order.lost_at_the_end(&faults));
    order.settle(&mut faults);
    faults.sort_by_key(|fault| fault.byte);
    recording.faults = faults;
    Ok(recording)
}

/// All of a file's, each kind in the order of the file.
fn events(bytes: &[u8]) -> (Vec<ReadBlock>, Vec<Fault>) {
    let mut reader = Reader::default();
    let (mut blocks, mut faults) = (Vec::new(), Vec::new());
    let mut pieces = bytes.chunks(PIECE_BYTES);
    loop {
        match reader.event() {
            Event::Block(block) => blocks.push(*block),
            Event::Fault(fault) => faults.push(fault),
            Event::NeedMore => match pieces.next() {
                Some(piece) => reader.feed(piece),
                None if reader.has_ended() => return (blocks, faults),
                None => reader.end(),
            },
        }
    }
}

/// Puts the blocks of each process key in the order of their sequence numbers, in the places they hold together.
fn in_order(mut blocks: Vec<ReadBlock>) -> Vec<ReadBlock> {
    let mut places: HashMap<ProcessKey, Vec<usize>> = HashMap::new();
    for (place, block) in blocks.iter().enumerate() {
        places.entry(block.header.process_key).or_default().push(place);
    }
    let mut target: Vec<usize> = (0..blocks.len()).collect();
    for places in places.values() {
        let mut sorted = places.clone();
        sorted.sort_by_key(|place| blocks[*place].header.sequence);
        for (to, from) in places.iter().zip(sorted) {
            target[from] = *to;
        }
    }
    let mut tagged: Vec<(usize, ReadBlock)> = target.into_iter().zip(blocks.drain(..)).collect();
    tagged.sort_by_key(|(place, _)| *place);
    tagged.into_iter().map(|(_, block)| block).collect()
}

/// Whether each block agrees with those of its process key before it. Takes them one by one, each key's in the order of its sequence numbers.
#[derive(Default)]
pub struct Order {
    processes: HashMap<ProcessKey, Process>,
    /// Asked about so far.
    blocks: u64,
}

impl Order {
    /// Ok: to be used; with the run of blocks lost before it, and the fault that says so. Err: why it is left out.
    pub fn accept(&mut self, block: &ReadBlock) -> Result<Option<(LostBlocks, Fault)>, Box<Fault>> {
        let number = self.blocks;
        self.blocks += 1;
        let process = self.processes.entry(block.header.process_key).or_default();
        let lost = process.accept(block, number)?;
        Ok(lost.map(|lost| (lost, missing(block, number, lost))))
    }

    /// A process that wrote on was not ended in the middle of a block: the file lost bytes since, and is damaged.
    pub fn settle(&self, faults: &mut [Fault]) {
        let mut last: HashMap<ProcessKey, u64> = HashMap::new();
        for name in faults.iter().filter_map(|fault| fault.owner) {
            let sequence = last.entry(name.process_key).or_default();
            *sequence = name.sequence.max(*sequence);
        }
        for fault in faults.iter_mut().filter(|fault| fault.kind == FaultKind::Unfinished) {
            let Some(name) = fault.owner else { continue };
            let accepted = self.processes.get(&name.process_key).map_or(0, |process| process.expected);
            if accepted > name.sequence || last.get(&name.process_key).is_some_and(|last| *last > name.sequence) {
                fault.kind = FaultKind::Damaged;
            }
        }
    }

    /// Blocks behind the last one accepted of a process key which only a fault knows of.
    pub fn lost_at_the_end(&self, faults: &[Fault]) -> Vec<LostBlocks> {
        let mut last: BTreeMap<ProcessKey, u64> = BTreeMap::new();
        for name in faults.iter().filter_map(|fault| fault.owner) {
            let sequence = last.entry(name.process_key).or_default();
            *sequence = name.sequence.max(*sequence);
        }
        let runs = last.into_iter().map(|(process_key, sequence)| {
            let sequence_first = self.processes.get(&process_key).map_or(0, |process| process.expected);
            let count = sequence.saturating_add(1).saturating_sub(sequence_first);
            LostBlocks { process_key, sequence_first, count }
        });
        runs.filter(|run| run.count > 0).collect()
    }
}

/// What has been read of one process key so far.
#[derive(Default)]
struct Process {
    /// Sequence number that comes next when nothing is lost.
    expected: u64,
    known: Known,
}

impl Process {
    /// Takes the next block of this process key. Ok: the run of blocks lost before it. Err: why it is left out.
    fn accept(&mut self, block: &ReadBlock, number: u64) -> Result<Option<LostBlocks>, Box<Fault>> {
        let BlockName { process_key, sequence } = block.name();
        let fault = |kind, byte, field: String, expected, found| {
            Box::new(Fault { kind, byte, block: number, owner: Some(block.name()), field, expected, found })
        };
        if sequence < self.expected {
            let (expected, found) = ("each block once".to_owned(), format!("{sequence} again"));
            return Err(fault(FaultKind::Duplicate, block.offset, "sequence".to_owned(), expected, found));
        }
        let count = sequence - self.expected;
        if count > 0 {
            self.known.lose();
        }
        if let Err(wrong) = self.known.extend(block) {
            // `expected` stays: the next block tells that this one is missing, and with it its rows.
            let byte = block.offset + HEADER_BYTES as u64;
            return Err(fault(FaultKind::Damaged, byte, wrong.field, wrong.expected, wrong.found));
        }
        let lost = LostBlocks { process_key, sequence_first: self.expected, count };
        self.expected = sequence.saturating_add(1);
        Ok((count > 0).then_some(lost))
    }
}

/// The fault of a gap, noticed at the block behind it.
fn missing(block: &ReadBlock, number: u64, lost: LostBlocks) -> Fault {
    Fault {
        kind: FaultKind::Lost,
        byte: block.offset,
        block: number,
        owner: Some(block.name()),
        field: "sequence".to_owned(),
        expected: format!("{}", lost.sequence_first),
        found: format!("{} ({} lost)", block.header.sequence, lost.count),
    }
}
