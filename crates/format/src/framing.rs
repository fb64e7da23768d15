//! How a block stands in the file: a header of fixed size, then the zstd frame of its payload.
//! Owns: the header's byte table and its two checksums. Never: compresses, decompresses, looks into a payload.
//! FORMAT.md describes this file and carries its hash: a change here is a change there.

use prost::Message;

use crate::{planes, proto};

/// First bytes of every block. The first is no ASCII, the last two notice a line-end conversion.
pub const MAGIC: [u8; 8] = *b"\x89genba\r\n";
/// Version of framing and payload which this code writes, and the newest it reads.
pub const VERSION: u16 = 3;
/// The first version whose samples are planes.
const COLUMNS_VERSION_MIN: u16 = 2;
pub const HEADER_BYTES: usize = 66;
/// Most bytes of a payload before compression; writers split what is larger, readers refuse it.
pub const PLAIN_BYTES_MAX: u32 = 8 << 20;
/// The same in versions 1 and 2.
pub(crate) const PLAIN_BYTES_MAX_BEFORE: u32 = 64 << 20;
/// The first version with the smaller limit.
const SMALL_VERSION_MIN: u16 = 3;
/// The unit of CPU and wall time in samples.
pub const QUANTUM_NS: u64 = 16_000;
/// The thread id of the row of all threads that ended before a tick met them: it is no single thread's. The
/// kernel gives no such number.
pub const NO_SINGLE_THREAD: u32 = u32::MAX;

/// Random name of one process image; a new one after every fork and exec.
pub type ProcessKey = [u8; 16];

/// What the header says about a block beside its lengths and checksums. Times are CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    pub version: u16,
    pub process_key: ProcessKey,
    /// 0 for the first block of a process key, then one more for each.
    pub sequence: u64,
    pub start_ns: u64,
    pub end_ns: u64,
}

/// A block that cannot be written because its payload exceeds `limit_bytes`; split it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    pub payload_bytes: usize,
    pub limit_bytes: u32,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "a block's payload of {} bytes exceeds the {} a recording may hold; split it",
            self.payload_bytes, self.limit_bytes
        )
    }
}

impl std::error::Error for TooLarge {}

/// Appends one block to `out`, ready for a single `write`. `compress` gives one zstd frame for the pieces it gets, each in zstd
/// blocks of its own: what the pieces have in common is little. They stand in `out` for a moment, so that a reused `out` makes
/// this nearly free of other allocations. Err: TooLarge, and `out` is as it was.
pub fn encode_block(
    header: &BlockHeader,
    mut block: proto::Block,
    compress: &mut dyn FnMut(&[&[u8]]) -> Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(), TooLarge> {
    if header.version >= COLUMNS_VERSION_MIN {
        block.columns = block.samples.as_ref().and_then(planes::columns);
        block.samples = block.samples.filter(|_| block.columns.is_none());
    }
    let (plain_bytes_max, payload_bytes_max) = limits(header.version);
    let plain_bytes = length_within(block.encoded_len(), plain_bytes_max)?;
    let begin = out.len();
    out.reserve(plain_bytes as usize);
    let columns = block.columns.take();
    block.encode_raw(out);
    let mut ends = vec![out.len()];
    if let Some(columns) = columns {
        planes::encode(&columns, out, &mut ends);
        ends.push(out.len());
    }
    let mut pieces = Vec::with_capacity(ends.len());
    let mut from = begin;
    for end in ends {
        pieces.extend(out.get(from..end).filter(|piece| !piece.is_empty()));
        from = end;
    }
    let payload = compress(&pieces);
    out.truncate(begin);
    let payload_bytes = length_within(payload.len(), payload_bytes_max)?;

    let frame = Frame { header: *header, payload_bytes, plain_bytes, payload_crc: crc32c::crc32c(&payload) };
    out.reserve(HEADER_BYTES + payload.len());
    out.extend_from_slice(&encode_header(&frame));
    out.extend_from_slice(&payload);
    Ok(())
}

/// Most bytes of a payload of that version before compression, and as it is stored: zstd adds less than 1 % to what cannot be compressed.
pub(crate) const fn limits(version: u16) -> (u32, u32) {
    let plain_bytes_max = if version >= SMALL_VERSION_MIN { PLAIN_BYTES_MAX } else { PLAIN_BYTES_MAX_BEFORE };
    (plain_bytes_max, plain_bytes_max + (plain_bytes_max >> 6))
}

fn length_within(payload_bytes: usize, limit_bytes: u32) -> Result<u32, TooLarge> {
    u32::try_from(payload_bytes)
        .ok()
        .filter(|bytes| *bytes <= limit_bytes)
        .ok_or(TooLarge { payload_bytes, limit_bytes })
}

/// All that a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub header: BlockHeader,
    pub payload_bytes: u32,
    pub plain_bytes: u32,
    pub payload_crc: u32,
}

/// The byte table: where each field of the header begins. All numbers are little-endian.
const AT_MAGIC: usize = 0;
const AT_VERSION: usize = 8;
const AT_PROCESS_KEY: usize = 10;
const AT_SEQUENCE: usize = 26;
const AT_START_NS: usize = 34;
const AT_END_NS: usize = 42;
const AT_PAYLOAD_BYTES: usize = 50;
const AT_PLAIN_BYTES: usize = 54;
const AT_PAYLOAD_CRC: usize = 58;
const AT_HEADER_CRC: usize = 62;

fn encode_header(frame: &Frame) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    put::<AT_MAGIC, 8>(&mut bytes, MAGIC);
    put::<AT_VERSION, 2>(&mut bytes, frame.header.version.to_le_bytes());
    put::<AT_PROCESS_KEY, 16>(&mut bytes, frame.header.process_key);
    put::<AT_SEQUENCE, 8>(&mut bytes, frame.header.sequence.to_le_bytes());
    put::<AT_START_NS, 8>(&mut bytes, frame.header.start_ns.to_le_bytes());
    put::<AT_END_NS, 8>(&mut bytes, frame.header.end_ns.to_le_bytes());
    put::<AT_PAYLOAD_BYTES, 4>(&mut bytes, frame.payload_bytes.to_le_bytes());
    put::<AT_PLAIN_BYTES, 4>(&mut bytes, frame.plain_bytes.to_le_bytes());
    put::<AT_PAYLOAD_CRC, 4>(&mut bytes, frame.payload_crc.to_le_bytes());
    let header_crc = crc32c::crc32c(&bytes[..AT_HEADER_CRC]);
    put::<AT_HEADER_CRC, 4>(&mut bytes, header_crc.to_le_bytes());
    bytes
}

/// What the header says its checksum is, and what its bytes give.
#[cfg(feature = "read")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongChecksum {
    pub expected: u32,
    pub found: u32,
}

/// Reads a header whose magic the caller has seen. Err: the checksum; no other field is judged here.
#[cfg(feature = "read")]
pub(crate) fn decode_header(bytes: &[u8; HEADER_BYTES]) -> Result<Frame, WrongChecksum> {
    let expected = u32::from_le_bytes(get::<AT_HEADER_CRC, 4>(bytes));
    let found = crc32c::crc32c(&bytes[..AT_HEADER_CRC]);
    if expected != found {
        return Err(WrongChecksum { expected, found });
    }
    Ok(Frame {
        header: BlockHeader {
            version: u16::from_le_bytes(get::<AT_VERSION, 2>(bytes)),
            process_key: get::<AT_PROCESS_KEY, 16>(bytes),
            sequence: u64::from_le_bytes(get::<AT_SEQUENCE, 8>(bytes)),
            start_ns: u64::from_le_bytes(get::<AT_START_NS, 8>(bytes)),
            end_ns: u64::from_le_bytes(get::<AT_END_NS, 8>(bytes)),
        },
        payload_bytes: u32::from_le_bytes(get::<AT_PAYLOAD_BYTES, 4>(bytes)),
        plain_bytes: u32::from_le_bytes(get::<AT_PLAIN_BYTES, 4>(bytes)),
        payload_crc: u32::from_le_bytes(get::<AT_PAYLOAD_CRC, 4>(bytes)),
    })
}

/// Writes a field; that it lies within the header is checked when this is compiled.
fn put<const AT: usize, const BYTES: usize>(header: &mut [u8; HEADER_BYTES], field: [u8; BYTES]) {
    const { assert!(AT + BYTES <= HEADER_BYTES) }
    header[AT..AT + BYTES].copy_from_slice(&field);
}

#[cfg(feature = "read")]
fn get<const AT: usize, const BYTES: usize>(header: &[u8; HEADER_BYTES]) -> [u8; BYTES] {
    const { assert!(AT + BYTES <= HEADER_BYTES) }
    std::array::from_fn(|index| header[AT + index])
}
