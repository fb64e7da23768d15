//! Recordings of `genba trace`: in place of samples each process has a `.prof` file, in parts.
//! Owns: putting the parts together, and the words about what was counted. Never: loses one process because another is damaged.

use std::collections::BTreeMap;

use genba_format::{BlockHeader, ProcessKey, ReadBlock, Recording, proto};

use crate::room::{BYTES_MIN, Size};
use crate::{Imported, prof};

/// The counts of a process, as a `.prof` file has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    pub bytes: Vec<u8>,
    /// So much memory may its functions and callers take for its size, beside `COUNTS_BYTES_MIN`.
    pub more_bytes: u64,
}

impl Counts {
    /// Of a file that is not compressed.
    #[must_use]
    pub fn of_file(bytes: Vec<u8>) -> Counts {
        Counts { more_bytes: Size::of(&bytes).more_bytes_of_counts(), bytes }
    }
}

/// Those of a recording, in the order in which its processes were written.
#[must_use]
pub fn profs(mut recording: Recording) -> Vec<Counts> {
    let counts = |process: Process| Counts { more_bytes: process.size().more_bytes_of_counts(), bytes: process.bytes };
    processes(&mut recording).into_iter().map(counts).collect()
}

/// # Errors
/// The recording itself, which has samples.
pub fn traced(recording: Recording) -> Result<Imported, Recording> {
    traced_within(recording, u64::MAX)
}

/// `most_bytes`: of memory, where that is less than a file of its size may take. A process for which it is too little is a fault.
///
/// # Errors
/// As of `traced`.
pub fn traced_within(mut recording: Recording, mut most_bytes: u64) -> Result<Imported, Recording> {
    let processes = processes(&mut recording);
    let Some(call_ps) = processes.iter().map(|process| process.call_ps).max() else { return Err(recording) };
    let mut faults: Vec<String> = recording.faults.iter().map(ToString::to_string).collect();
    let mut blocks = Vec::new();
    // Of all processes together: else a small recording of many may take much.
    let mut min_left_bytes = BYTES_MIN;
    for process in processes {
        let pid = process.start.pid;
        let mut room = Size { most_bytes, ..process.size() }.room_beside(min_left_bytes);
        let room_bytes = room.left();
        let counted = prof::prof_of(&process.bytes, room).and_then(|read| {
            prof::recording(&read, &process.bytes, process.start, &mut room).map(|recording| (read, recording))
        });
        match counted {
            Ok((read, recording)) => {
                min_left_bytes = min_left_bytes.min(room.left());
                most_bytes = most_bytes.saturating_sub(room_bytes - room.left());
                if read.rest_bytes > 0 {
                    faults.push(format!("{} bytes behind the counts of process {pid} are not read", read.rest_bytes));
                }
                blocks.extend(recording.blocks.into_iter().map(|counted| {
                    // One block now, in place of all that the file's parts were in.
                    let header = BlockHeader { sequence: 0, ..process.header };
                    ReadBlock { header, ..counted }
                }))
            }
            Err(damaged) => faults.push(format!("the counts of process {pid} cannot be read: {damaged}")),
        }
    }
    // What the command wrote at the end: sources, and how the program ended.
    blocks.extend(recording.blocks.into_iter().filter(|read| read.block.traced.is_none()));
    Ok(Imported {
        recording: Recording { blocks, lost: recording.lost, ..Recording::default() },
        words: words(call_ps),
        unknown: UNKNOWN.to_owned(),
        faults,
        notes: Vec::new(),
        timeless: Some("genba trace counts, and tells no moments"),
        counts_calls: true,
    })
}

const UNKNOWN: &str = "genba trace counts calls: no clock of the process beside them for law 2, and no ticks for law 1";

struct Process {
    header: BlockHeader,
    start: proto::Start,
    bytes: Vec<u8>,
    /// Compressed, as they stand in the file.
    stored_bytes: u64,
    call_ps: u64,
}

impl Process {
    fn size(&self) -> Size {
        Size { stored_bytes: Some(self.stored_bytes), ..Size::of(&self.bytes) }
    }
}

/// The parts are taken out of their blocks, so that they are not there twice.
fn processes(recording: &mut Recording) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut at_of: BTreeMap<ProcessKey, usize> = BTreeMap::new();
    for read in &mut recording.blocks {
        let Some(traced) = &mut read.block.traced else { continue };
        let at = *at_of.entry(read.header.process_key).or_insert_with(|| {
            let start = read.block.start.clone().unwrap_or_default();
            found.push(Process { header: read.header, start, bytes: Vec::new(), stored_bytes: 0, call_ps: 0 });
            found.len() - 1
        });
        let process = &mut found[at];
        match process.bytes.is_empty() {
            true => process.bytes = std::mem::take(&mut traced.prof),
            false => process.bytes.append(&mut traced.prof),
        }
        process.stored_bytes = process.stored_bytes.saturating_add(read.stored_bytes);
        process.call_ps = process.call_ps.max(traced.call_ps);
    }
    found
}

fn words(call_ps: u64) -> String {
    let each = match call_ps {
        0 => String::new(),
        ps => format!(" (about {} ns a call of a Python function here)", ps.div_ceil(1_000)),
    };
    format!(
        "traced: counts exact, times include the tracer's{each}; one sample is one call; wall is the time in a function itself, below \
         the function that called it; no call tree; genba pstats has cumulative times"
    )
}
