//! Finds the intact blocks of a file by magic, checksums and lengths, piece by piece as its bytes come, and resynchronises where
//! something is wrong. Owns: the walk over the bytes and decompression. Never: looks into tables, allocates by a length it only read.
//! One damaged stretch is one fault; a damaged block whose header is intact is one of its own, with its name.
//! Keeps: what is found does not depend on the pieces.

use std::io::{Error, ErrorKind, Result as IoResult};

use zstd::stream::raw::{DParameter, Decoder, Operation};

use crate::framing::{Frame, HEADER_BYTES, MAGIC, PLAIN_BYTES_MAX_BEFORE, VERSION, decode_header, limits};
use crate::proto;
use crate::reading::block::ReadBlock;
use crate::reading::budget::{BLOCK_BYTES_MAX, Budget, Decoded};
use crate::reading::columns::{self, Malformed, Samples};
use crate::reading::fault::{BlockName, Fault, FaultKind};

/// Powers of two of the largest window a payload may ask for: as large as the largest payload.
const WINDOW_LOG_MAX: u32 = PLAIN_BYTES_MAX_BEFORE.ilog2();
/// Decompressed at a time.
const PIECE_BYTES: usize = 128 << 10;

/// What comes next in the bytes so far.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Intact; whether its content agrees with the blocks before it, `Order` says.
    Block(Box<ReadBlock>),
    Fault(Fault),
    /// The rest is no whole block: not yet written, while more bytes may come; after `end` there is nothing left.
    NeedMore,
}

/// Reads a recording as its bytes come, e.g. of a file that still grows. Holds no more of them than one block.
pub struct Reader {
    /// From `offset` of the file on.
    bytes: Vec<u8>,
    offset: u64,
    /// In `bytes`: what stands before is done with.
    at: usize,
    /// No more bytes come.
    ended: bool,
    /// Behind something wrong: the next magic is looked for.
    searches: bool,
    /// Inside a damaged stretch that has its fault already.
    stretch: bool,
    /// Intact ones so far.
    blocks: u64,
    /// For what is still to be read.
    budget: Budget,
    decompressor: Decompressor,
    finder: memchr::memmem::Finder<'static>,
}

impl Default for Reader {
    fn default() -> Self {
        Reader {
            bytes: Vec::new(),
            offset: 0,
            at: 0,
            ended: false,
            searches: false,
            stretch: false,
            blocks: 0,
            budget: Budget::default(),
            decompressor: Decompressor::default(),
            finder: memchr::memmem::Finder::new(&MAGIC),
        }
    }
}

impl Reader {
    /// The bytes that follow those so far, any number of them. Ask for the events until `NeedMore` before the next piece.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.offset += self.at as u64;
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// No more bytes come: a block that is not whole by now is cut.
    pub const fn end(&mut self) {
        self.ended = true;
    }

    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.ended
    }

    /// What the next bytes are.
    pub fn event(&mut self) -> Event {
        loop {
            if self.searches && !self.found_magic() {
                return Event::NeedMore;
            }
            if self.at == self.bytes.len() {
                return Event::NeedMore;
            }
            let place = Place { bytes: &self.bytes, at: self.at, offset: self.offset, ended: self.ended };
            match place.block(&mut self.budget, &mut self.decompressor) {
                Ok(block) => {
                    self.stretch = false;
                    self.at += block.stored_bytes as usize;
                    self.blocks += 1;
                    return Event::Block(Box::new(block));
                }
                Err(wrong) if wrong.kind == FaultKind::Cut && !self.ended => return Event::NeedMore,
                Err(wrong) => {
                    self.searches = true;
                    let behind = wrong.behind;
                    let fault = self.fault(*wrong);
                    self.at = behind.unwrap_or(self.at + 1);
                    if let Some(fault) = fault {
                        return Event::Fault(fault);
                    }
                }
            }
        }
    }

    /// Goes to the next magic, else to where one may have begun.
    fn found_magic(&mut self) -> bool {
        let found = self.finder.find(&self.bytes[self.at..]);
        self.at = match found {
            Some(distance) => self.at + distance,
            None if self.ended => self.bytes.len(),
            None => self.bytes.len().saturating_sub(MAGIC.len() - 1).max(self.at),
        };
        self.searches = found.is_none();
        found.is_some()
    }

    /// None: the stretch has its fault already.
    fn fault(&mut self, wrong: Wrong) -> Option<Fault> {
        // Without a name nothing can be told about what follows in the same stretch; with one, a block is known lost.
        if self.stretch && wrong.owner.is_none() {
            return None;
        }
        self.stretch = true;
        Some(Fault {
            kind: wrong.kind,
            byte: self.offset + wrong.byte as u64,
            block: self.blocks,
            owner: wrong.owner,
            field: wrong.field,
            expected: wrong.expected,
            found: wrong.found,
        })
    }
}

/// A place in a block that is not as it must be.
struct Wrong {
    kind: FaultKind,
    /// In the bytes at hand, as `behind`.
    byte: usize,
    owner: Option<BlockName>,
    field: String,
    expected: String,
    found: String,
    /// Where the block ends, if its checksums say that it is as it was written: no other block begins within.
    behind: Option<usize>,
}

/// Where a block begins, or nothing that makes sense.
#[derive(Clone, Copy)]
struct Place<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Of `bytes` in the file.
    offset: u64,
    ended: bool,
}

impl Place<'_> {
    /// The block that begins here. Err with `FaultKind::Cut`: the bytes end within it.
    fn block(&self, budget: &mut Budget, decompressor: &mut Decompressor) -> Result<ReadBlock, Box<Wrong>> {
        let rest = &self.bytes[self.at..];
        let wrong = |kind, byte, field: &str, expected: String, found: String| {
            Box::new(Wrong { kind, byte, owner: None, field: field.to_owned(), expected, found, behind: None })
        };
        if !rest.starts_with(&MAGIC) {
            let begins = &rest[..rest.len().min(MAGIC.len())];
            let found = format!("\"{}\"", begins.escape_ascii());
            let expected = format!("\"{}\"", MAGIC.escape_ascii());
            let may_be_one = MAGIC.starts_with(begins) || (begins.len() < MAGIC.len() && !self.ended);
            return Err(if may_be_one {
                wrong(FaultKind::Cut, self.bytes.len(), "magic", expected, found)
            } else {
                wrong(FaultKind::Damaged, self.at, "magic", expected, found)
            });
        }
        let Some(header) = rest.first_chunk::<HEADER_BYTES>() else {
            let (expected, found) = (format!("{HEADER_BYTES} bytes"), format!("{}", rest.len()));
            return Err(wrong(FaultKind::Cut, self.bytes.len(), "header", expected, found));
        };
        let frame = decode_header(header).map_err(|sums| {
            let (expected, found) = (format!("{:#010x}", sums.expected), format!("{:#010x}", sums.found));
            wrong(FaultKind::Damaged, self.at, "header checksum", expected, found)
        })?;
        self.named_block(&frame, &rest[HEADER_BYTES..], budget, decompressor).map_err(|mut wrong| {
            wrong.owner = Some(BlockName { process_key: frame.header.process_key, sequence: frame.header.sequence });
            wrong
        })
    }

    /// The block behind a header whose checksum is right; `rest` begins with the payload.
    fn named_block(
        &self,
        frame: &Frame,
        rest: &[u8],
        budget: &mut Budget,
        decompressor: &mut Decompressor,
    ) -> Result<ReadBlock, Box<Wrong>> {
        let wrong = |kind, byte, field: &str, expected, found| {
            Err(Box::new(Wrong { kind, byte, owner: None, field: field.to_owned(), expected, found, behind: None }))
        };
        let damaged = |field, expected, found| wrong(FaultKind::Damaged, self.at, field, expected, found);
        if frame.header.version > VERSION || frame.header.version == 0 {
            let kind = match frame.header.version {
                0 => FaultKind::Damaged,
                _ => FaultKind::TooNew,
            };
            let (expected, found) = (format!("1 to {VERSION}"), format!("{}", frame.header.version));
            return wrong(kind, self.at, "version", expected, found);
        }
        if frame.header.end_ns < frame.header.start_ns {
            let expected = format!("at least start_ns {}", frame.header.start_ns);
            return damaged("end_ns", expected, format!("{}", frame.header.end_ns));
        }
        let (plain_bytes_max, payload_bytes_max) = limits(frame.header.version);
        for (field, bytes, bytes_max) in [
            ("payload_bytes", frame.payload_bytes, payload_bytes_max),
            ("plain_bytes", frame.plain_bytes, plain_bytes_max),
        ] {
            if bytes > bytes_max {
                return damaged(field, format!("at most {bytes_max}"), format!("{bytes}"));
            }
        }
        let payload_at = self.at + HEADER_BYTES;
        let expected_bytes = || format!("{} bytes", frame.payload_bytes);
        // The kernel ends a write at a page where its process is killed; another process's block follows.
        let unfinished = |written: usize| {
            wrong(FaultKind::Unfinished, payload_at + written, "payload", expected_bytes(), format!("{written}"))
        };
        let Some(payload) = rest.get(..frame.payload_bytes as usize) else {
            return match self.ended.then(|| memchr::memmem::find(rest, &MAGIC)).flatten() {
                Some(written) => unfinished(written),
                None => wrong(FaultKind::Cut, self.bytes.len(), "payload", expected_bytes(), format!("{}", rest.len())),
            };
        };
        let in_payload = |field: &str, expected, found| Wrong {
            kind: FaultKind::Damaged,
            byte: payload_at,
            owner: None,
            field: field.to_owned(),
            expected,
            found,
            behind: None,
        };
        let found = crc32c::crc32c(payload);
        if found != frame.payload_crc {
            if let Some(written) = memchr::memmem::find(payload, &MAGIC) {
                return unfinished(written);
            }
            let (expected, found) = (format!("{:#010x}", frame.payload_crc), format!("{found:#010x}"));
            return Err(Box::new(in_payload("payload checksum", expected, found)));
        }
        // From here on the block is as it was written, and its length true.
        let behind = Some(payload_at + payload.len());
        budget.reach(self.offset + (payload_at + payload.len()) as u64);
        let (block, samples) =
            decode(frame, payload, budget, decompressor).map_err(|Malformed { field, expected, found }| {
                Box::new(Wrong { behind, ..in_payload(&field, expected, found) })
            })?;
        Ok(ReadBlock {
            header: frame.header,
            block,
            samples,
            offset: self.offset + self.at as u64,
            stored_bytes: HEADER_BYTES as u64 + u64::from(frame.payload_bytes),
        })
    }
}

/// The content of a payload, as far as the budget goes.
fn decode(
    frame: &Frame,
    payload: &[u8],
    budget: &mut Budget,
    decompressor: &mut Decompressor,
) -> Result<(proto::Block, Option<Samples>), Malformed> {
    let beyond = |expected: u64, found: u64| {
        Err(Malformed {
            field: "decoded bytes".to_owned(),
            expected: format!("at most {expected}"),
            found: format!("{found}"),
        })
    };
    let plain_bytes = u64::from(frame.plain_bytes);
    // Also of a block that turns out to be damaged: it was work.
    if !budget.take(plain_bytes) {
        return beyond(budget.left_bytes, plain_bytes);
    }
    let plain = decompressor.decompress(payload, frame.plain_bytes).map_err(|error| Malformed {
        field: "payload".to_owned(),
        expected: "a zstd frame".to_owned(),
        found: error.to_string(),
    })?;
    if plain.len() != frame.plain_bytes as usize {
        let found = match plain.len() {
            longer if longer > frame.plain_bytes as usize => "more".to_owned(),
            bytes => format!("{bytes}"),
        };
        return Err(Malformed { field: "plain_bytes".to_owned(), expected: format!("{plain_bytes}"), found });
    }
    let decoded = Decoded::of(&plain);
    if decoded.while_decoded_bytes > BLOCK_BYTES_MAX {
        return beyond(BLOCK_BYTES_MAX, decoded.while_decoded_bytes);
    }
    if !budget.take(decoded.elements_bytes) {
        return beyond(budget.left_bytes, decoded.elements_bytes);
    }
    let (block, samples) = columns::decode(&plain)?;
    let samples_bytes = samples.as_ref().map_or(0, Samples::memory_bytes);
    if !budget.take(samples_bytes) {
        return beyond(budget.left_bytes, samples_bytes);
    }
    Ok((block, samples))
}

/// One context for all blocks: making one costs as much as a small block.
#[derive(Default)]
struct Decompressor {
    made: Option<Decoder<'static>>,
    piece: Vec<u8>,
}

impl Decompressor {
    /// One frame; stops once there is more than `plain_bytes`, which tells a payload that is too long. Grows as bytes come.
    fn decompress(&mut self, payload: &[u8], plain_bytes: u32) -> IoResult<Vec<u8>> {
        self.piece.resize(PIECE_BYTES, 0);
        let decoder = match &mut self.made {
            Some(decoder) => decoder,
            none => {
                let mut decoder = Decoder::new()?;
                decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))?;
                none.insert(decoder)
            }
        };
        decoder.reinit()?;
        let mut plain = Vec::new();
        let mut rest = payload;
        loop {
            let status = decoder.run_on_buffers(rest, &mut self.piece)?;
            rest = rest.get(status.bytes_read..).unwrap_or_default();
            plain.extend_from_slice(self.piece.get(..status.bytes_written).unwrap_or_default());
            if status.remaining == 0 || plain.len() > plain_bytes as usize {
                return Ok(plain);
            }
            if rest.is_empty() && status.bytes_written < PIECE_BYTES {
                return Err(Error::new(ErrorKind::UnexpectedEof, "incomplete frame"));
            }
        }
    }
}
