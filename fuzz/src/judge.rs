//! Whether the reader's answer to some bytes is one it may give. Owns: what every answer must satisfy, found out anew from
//! the answer itself. Never: asks the reader's own checks.

use std::collections::HashMap;
use std::fmt;
use std::panic::catch_unwind;

use genba_format::{
    Event, Fault, FaultKind, MAGIC, NotARecording, ReadBlock, Reader, Recording, compress, encode_block, laws, read,
};
use genba_import::Imported;
use genba_profile::build::Import;
use genba_pstats::{Order, Restriction, Stats, difference, is_prof};

use crate::shown::shown;

#[derive(Debug, PartialEq, Eq)]
pub enum Wrong {
    Panic(String),
    Answer(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::Panic(text) => write!(f, "panic: {text}"),
            Wrong::Answer(text) => write!(f, "an answer that may not be: {text}"),
        }
    }
}

/// Reads `bytes`. Ok: how many faults and violations were found, each well-formed.
pub fn judge(bytes: &[u8]) -> Result<u64, Wrong> {
    let answer = catch_unwind(|| {
        let answer = read(bytes);
        let violations = answer.as_ref().map_or(Vec::new(), laws::check);
        (answer, violations)
    });
    let (answer, violations) = answer.map_err(|cause| Wrong::Panic(panic_text(&*cause)))?;
    for violation in &violations {
        words([&violation.field, &violation.expected, &violation.found])?;
    }
    match answer {
        Err(error) => refusal(bytes, &error).and_then(|()| imported(bytes)),
        Ok(recording) => {
            for fault in &recording.faults {
                well_formed(fault, bytes.len())?;
            }
            kept(bytes, &recording)?;
            again(&recording)?;
            fed(bytes, &recording)?;
            page(&recording, None)?;
            let faults = (recording.faults.len() + violations.len()) as u64;
            match catch_unwind(|| genba_import::traced(recording)) {
                Ok(Ok(traced)) => holds(&traced)?,
                Ok(Err(_)) => {}
                Err(cause) => return Err(Wrong::Panic(panic_text(&*cause))),
            }
            Ok(faults)
        }
    }
}

/// What no recording is may be another profiler's file.
fn imported(bytes: &[u8]) -> Result<u64, Wrong> {
    let listed = catch_unwind(|| listed(bytes));
    listed.map_err(|cause| Wrong::Panic(panic_text(&*cause)))??;
    let answer = catch_unwind(|| genba_import::read(bytes));
    match answer.map_err(|cause| Wrong::Panic(panic_text(&*cause)))? {
        Err(refused) => hold(refused.to_string().len() > 20, "a refusal without words").map(|()| 1),
        Ok(imported) => {
            let violations = laws::check(&imported.recording);
            hold(violations.is_empty(), "an imported file that breaks a law")?;
            holds(&imported)?;
            Ok(imported.faults.len() as u64)
        }
    }
}

/// What is imported is written and read as any recording, where a block has room for it.
fn holds(imported: &Imported) -> Result<(), Wrong> {
    // A recording of counts has blocks of the command's own behind it, as they were.
    if let Some(read_block) = imported.recording.blocks.first().filter(|read| read.header.sequence == 0) {
        let mut written = Vec::new();
        if encode_block(&read_block.header, read_block.whole(), &mut compress, &mut written).is_ok() {
            let second = read(&written).map_err(|error| Wrong::Answer(error.to_string()))?;
            let faults: Vec<String> = second.faults.iter().map(ToString::to_string).collect();
            hold(faults.is_empty(), &format!("an imported file that is a damaged recording: {faults:?}"))?;
        }
    }
    let import =
        Import { words: imported.words.clone(), faults: imported.faults.clone(), counts_calls: imported.counts_calls };
    page(&imported.recording, Some(import))
}

/// What can be read as a `.prof` file can be added up, ordered and listed, with as many rows as it has functions.
fn listed(bytes: &[u8]) -> Result<(), Wrong> {
    if !is_prof(bytes) {
        return Ok(());
    }
    let prof = match genba_pstats::read(bytes) {
        Ok(prof) => prof,
        Err(damaged) => {
            let place = damaged.byte <= bytes.len() as u64;
            return hold(place && !damaged.found.is_empty(), "damage without a place or words");
        }
    };
    let rows = prof.rows.len();
    let mut stats = Stats::new(prof, "fuzz.prof".to_owned());
    hold(stats.sort(&["time", "nfl", "calls"]).is_ok(), "an order that is refused")?;
    let mut page = String::new();
    hold(stats.listing(&[], &mut page).is_ok(), "a listing that is not written")?;
    // The file, two empty lines, sums, another one, order, another one, headings; two behind the rows.
    hold(rows == 0 || page.lines().count() >= rows + 9, "a listing that does not have each function once")?;
    stats.add(stats.clone());
    hold(stats.rows().len() == rows, "functions that are others when they are added up")?;
    stats.strip_folders();
    hold(stats.rows().len() <= rows, "functions out of nothing")?;
    let half = stats.callers_listing(&[Restriction::Share(0.5)], &mut page);
    let nine = stats.callees_listing(&[Restriction::Rows(9)], &mut page);
    hold(half.and(nine).is_ok(), "callers or callees that are not written")?;
    difference(&stats, &stats, Order::Time, Some(9)).json().map(drop).map_err(|error| Wrong::Answer(error.to_string()))
}

/// Whatever was read can be shown.
fn page(recording: &Recording, import: Option<Import>) -> Result<(), Wrong> {
    let shown = catch_unwind(|| shown(recording, import));
    shown.map_err(|cause| Wrong::Panic(panic_text(&*cause)))?.map_err(Wrong::Answer)
}

fn panic_text(cause: &(dyn std::any::Any + Send)) -> String {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("without words").to_owned()
}

fn refusal(bytes: &[u8], error: &NotARecording) -> Result<(), Wrong> {
    let has_magic = bytes.windows(MAGIC.len()).any(|window| window == MAGIC);
    match error {
        NotARecording::Empty => hold(bytes.is_empty(), "empty, though there are bytes"),
        NotARecording::NoMagic { begins } => {
            hold(!has_magic, "no magic, though it is there")?;
            hold(bytes.starts_with(begins), "first bytes that are not the first")
        }
    }
}

fn well_formed(fault: &Fault, length: usize) -> Result<(), Wrong> {
    words([&fault.field, &fault.expected, &fault.found])?;
    hold(fault.byte <= length as u64, "a fault behind the last byte")
}

fn words(texts: [&String; 3]) -> Result<(), Wrong> {
    hold(texts.iter().all(|text| !text.is_empty()), "a field, expectation or finding without words")
}

/// Fed in pieces of uneven sizes, the same blocks are found, and no fault is known of that the whole has not.
fn fed(bytes: &[u8], recording: &Recording) -> Result<(), Wrong> {
    let events = catch_unwind(|| {
        let mut reader = Reader::default();
        let mut events = Vec::new();
        let mut rest = bytes;
        let mut size = 1 + bytes.len() % 97;
        loop {
            match reader.event() {
                Event::NeedMore if rest.is_empty() && reader.has_ended() => return events,
                Event::NeedMore if rest.is_empty() => reader.end(),
                Event::NeedMore => {
                    let (piece, behind) = rest.split_at(size.min(rest.len()));
                    reader.feed(piece);
                    rest = behind;
                    size = 1 + (size * 31 + 17) % (1 + bytes.len() / 3);
                }
                event => events.push(event),
            }
        }
    });
    for event in events.map_err(|cause| Wrong::Panic(panic_text(&*cause)))? {
        match event {
            Event::Fault(fault) => {
                // Of an unfinished block the whole knows whether its process wrote on.
                let settled = Fault { kind: FaultKind::Damaged, ..fault.clone() };
                let is_settled = fault.kind == FaultKind::Unfinished && recording.faults.contains(&settled);
                hold(is_settled || recording.faults.contains(&fault), "a fault in pieces that the whole has not")?;
            }
            Event::Block(block) if recording.blocks.contains(&block) => {}
            Event::Block(block) => {
                let is_named = recording
                    .faults
                    .iter()
                    .any(|fault| fault.owner.is_some_and(|owner| owner.sequence == block.header.sequence));
                hold(is_named, "a block in pieces that the whole neither has nor names")?;
            }
            Event::NeedMore => {}
        }
    }
    Ok(())
}

/// Kept blocks lie in the file, apart, in order for each process, and hold together.
fn kept(bytes: &[u8], recording: &Recording) -> Result<(), Wrong> {
    hold(!recording.blocks.is_empty() || !recording.faults.is_empty(), "neither block nor fault")?;
    let mut places: Vec<(u64, u64)> =
        recording.blocks.iter().map(|block| (block.offset, block.offset + block.stored_bytes)).collect();
    places.sort_unstable();
    hold(places.windows(2).all(|pair| pair[0].1 <= pair[1].0), "blocks that overlap")?;
    hold(places.iter().all(|place| place.1 <= bytes.len() as u64), "a block behind the last byte")?;
    let mut next: HashMap<[u8; 16], u64> = HashMap::new();
    for read in &recording.blocks {
        let least = next.insert(read.header.process_key, read.header.sequence.saturating_add(1));
        hold(least.is_none_or(|least| read.header.sequence >= least), "sequence numbers out of order")?;
        holds_together(read)?;
    }
    Ok(())
}

fn holds_together(read: &ReadBlock) -> Result<(), Wrong> {
    let tables = read.block.tables.as_ref();
    if let Some((tables, nodes)) = tables.and_then(|tables| Some((tables, tables.nodes.as_ref()?))) {
        let rows = nodes.parent.len();
        let others = [nodes.kind.len(), nodes.table.len(), nodes.address.len()];
        hold(others == [rows; 3], "node columns of unequal length")?;
        let mut above = nodes.parent.iter().zip(u64::from(tables.nodes_first)..);
        let rooted = above.all(|(parent, index)| u64::from(*parent) <= index);
        hold(rooted, "a node before its parent")?;
    }
    let Some(samples) = &read.samples else {
        return Ok(());
    };
    let equal = samples.lengths().iter().all(|(_, rows)| *rows == samples.len());
    hold(equal, "sample columns of unequal length")
}

/// What was kept, written anew, is kept anew.
fn again(recording: &Recording) -> Result<(), Wrong> {
    let mut bytes = Vec::new();
    for read in &recording.blocks {
        let written = encode_block(&read.header, read.whole(), &mut compress, &mut bytes);
        hold(written.is_ok(), "a kept block that cannot be written")?;
    }
    if bytes.is_empty() {
        return Ok(());
    }
    let Ok(second) = read(&bytes) else {
        return hold(false, "kept blocks that are no recording");
    };
    let kept = |recording: &Recording| -> Vec<_> {
        recording.blocks.iter().map(|read| (read.header, read.block.clone(), read.samples.clone())).collect()
    };
    hold(kept(recording) == kept(&second), "kept blocks that change")?;
    hold(second.faults.iter().all(|fault| fault.kind == FaultKind::Lost), "kept blocks with faults")
}

fn hold(condition: bool, otherwise: &str) -> Result<(), Wrong> {
    if condition { Ok(()) } else { Err(Wrong::Answer(otherwise.to_owned())) }
}

#[cfg(test)]
mod tests {
    use genba_format::BlockName;

    use super::*;

    #[test]
    fn an_answer_that_may_not_be_is_noticed() {
        let fault = Fault {
            kind: FaultKind::Damaged,
            byte: 9,
            block: 0,
            owner: Some(BlockName { process_key: [0; 16], sequence: 0 }),
            field: "magic".to_owned(),
            expected: "a".to_owned(),
            found: "b".to_owned(),
        };
        assert_eq!(well_formed(&fault, 9), Ok(()));
        let behind = Wrong::Answer("a fault behind the last byte".to_owned());
        assert_eq!(well_formed(&fault, 8), Err(behind));
        let silent = Fault { found: String::new(), ..fault };
        assert!(well_formed(&silent, 9).is_err());
        assert!(kept(b"", &Recording::default()).is_err());
        assert!(refusal(b"x", &NotARecording::Empty).is_err());
        assert!(refusal(&MAGIC, &NotARecording::NoMagic { begins: Vec::new() }).is_err());
    }

    #[test]
    fn blocks_out_of_order_are_noticed() {
        let bytes = include_bytes!("../../testdata/golden/v1.genba");
        let mut recording = read(bytes).expect("the golden recording");
        assert_eq!(kept(bytes, &recording), Ok(()));
        recording.blocks.swap(0, 1);
        assert!(kept(bytes, &recording).is_err());
    }
}
