//! Makes inputs for the reader: golden recordings with wrong bytes, wrong headers, wrong payloads under right checksums,
//! and random bytes. Owns: a writer of headers of its own, after FORMAT.md. Never: judges the answer.

use genba_format::{BlockHeader, HEADER_BYTES, MAGIC, ReadBlock, VERSION, compress, encode_block, proto, read};
use prost::Message;

use crate::random::Random;

/// What inputs are made from.
pub struct Seeds {
    recordings: Vec<Vec<u8>>,
    /// Of other profilers.
    foreign: Vec<Vec<u8>>,
    blocks: Vec<SeedBlock>,
}

/// A block taken apart.
#[derive(Clone)]
struct SeedBlock {
    version: u16,
    process_key: [u8; 16],
    sequence: u64,
    start_ns: u64,
    end_ns: u64,
    plain: Vec<u8>,
}

/// The recording that `genba trace` writes of these counts, in two parts, and its blocks.
fn traced(prof: &[u8]) -> (Vec<u8>, Vec<SeedBlock>) {
    let (mut recording, mut blocks) = (Vec::new(), Vec::new());
    let (first, rest) = prof.split_at(prof.len() / 2);
    for (sequence, part) in [(0, first), (1, rest)] {
        let traced = proto::Traced { prof: part.to_vec(), call_ps: 50_000 };
        let start = (sequence == 0).then(|| proto::Start { pid: 7, ..proto::Start::default() });
        let block = proto::Block { start, traced: Some(traced), ..proto::Block::default() };
        let header = BlockHeader { version: VERSION, process_key: [9; 16], sequence, start_ns: 1, end_ns: 2 };
        encode_block(&header, block.clone(), &mut compress, &mut recording).expect("a small block");
        let plain = block.encode_to_vec();
        blocks.push(SeedBlock { version: VERSION, process_key: [9; 16], sequence, start_ns: 1, end_ns: 2, plain });
    }
    (recording, blocks)
}

/// The payload before it is compressed, samples and all.
fn plain(read: &ReadBlock) -> Vec<u8> {
    let (mut plain, mut out) = (Vec::new(), Vec::new());
    let mut keep = |pieces: &[&[u8]]| {
        plain = pieces.concat();
        Vec::new()
    };
    encode_block(&read.header, read.whole(), &mut keep, &mut out).expect("a golden block");
    plain
}

impl Seeds {
    pub fn from_files(recordings: &[&[u8]], foreign: &[&[u8]]) -> Seeds {
        let read_blocks = recordings.iter().flat_map(|bytes| match read(bytes) {
            Ok(recording) => recording.blocks,
            Err(error) => panic!("a golden recording cannot be read: {error}"),
        });
        let blocks = read_blocks.map(|read| SeedBlock {
            version: read.header.version,
            process_key: read.header.process_key,
            sequence: read.header.sequence,
            start_ns: read.header.start_ns,
            end_ns: read.header.end_ns,
            plain: plain(&read),
        });
        let owned = |files: &[&[u8]]| -> Vec<Vec<u8>> { files.iter().map(|bytes| bytes.to_vec()).collect() };
        let mut seeds = Seeds { blocks: blocks.collect(), recordings: owned(recordings), foreign: owned(foreign) };
        if let Some(prof) = foreign.iter().find(|bytes| genba_pstats::is_prof(bytes)) {
            let (recording, blocks) = traced(prof);
            seeds.recordings.push(recording);
            seeds.blocks.extend(blocks);
        }
        seeds
    }

    /// One input, made of nothing but these seeds and `random`.
    pub fn input(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes = match random.below(9) {
            0 => return random_bytes(random),
            8 => self.foreign[random.below(self.foreign.len())].clone(),
            1..=2 => self.recordings[random.below(self.recordings.len())].clone(),
            _ => self.rewritten(random),
        };
        if random.below(2) == 0 {
            for _ in 0..=random.below(4) {
                damage(&mut bytes, random);
            }
        }
        bytes
    }

    /// The golden blocks with changed content and right checksums, so that the change gets past them.
    fn rewritten(&self, random: &mut Random) -> Vec<u8> {
        let mut blocks = self.blocks.clone();
        for _ in 0..=random.below(3) {
            let other = blocks[random.below(blocks.len())].clone();
            let place = random.below(blocks.len());
            let block = &mut blocks[place];
            match random.below(13) {
                0 => block.process_key = other.process_key,
                1 => block.sequence = other.sequence,
                2 => block.sequence = random.edge(),
                3 => (block.start_ns, block.end_ns) = (random.edge(), random.edge()),
                4 => block.version = random.edge() as u16,
                5 => blocks.push(other),
                6 => drop(blocks.swap_remove(place)),
                7 => block.plain.extend(other.plain),
                8 if random.below(16) == 0 => block.plain.extend(empty_elements(random)),
                _ => damage(&mut block.plain, random),
            }
            if blocks.is_empty() {
                blocks.push(self.blocks[0].clone());
            }
        }
        blocks.iter().flat_map(|block| block.encode(random)).collect()
    }
}

impl SeedBlock {
    /// The block as bytes; one header in 16 lies about a length.
    fn encode(&self, random: &mut Random) -> Vec<u8> {
        let payload = compress(&[&self.plain]);
        let mut lengths = [payload.len() as u32, self.plain.len() as u32];
        if random.below(16) == 0 {
            lengths[random.below(2)] = random.edge() as u32;
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.process_key);
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(self.start_ns.to_le_bytes());
        bytes.extend(self.end_ns.to_le_bytes());
        bytes.extend(lengths[0].to_le_bytes());
        bytes.extend(lengths[1].to_le_bytes());
        bytes.extend(crc32c::crc32c(&payload).to_le_bytes());
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        assert_eq!(bytes.len(), HEADER_BYTES);
        bytes.extend(payload);
        bytes
    }
}

/// 4 MiB that are a few hundred bytes in the file and could be 272 MiB in memory: the same field of `Block`, empty, over and over.
fn empty_elements(random: &mut Random) -> Vec<u8> {
    let field = 1 + random.below(11) as u8;
    [field << 3 | 2, 0].repeat(2 << 20)
}

/// Changes a few bytes somewhere.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    let length = random.below(40).min(bytes.len() - at);
    match random.below(9) {
        0..=2 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        3..=4 if at < bytes.len() => bytes[at] = random.edge() as u8,
        5 => bytes.truncate(at),
        6 => drop(bytes.drain(at..at + length)),
        7 => {
            let again = bytes[at..at + length].to_vec();
            bytes.splice(at..at, again);
        }
        _ => {
            let count = random.below(20);
            bytes.splice(at..at, random.bytes(count));
        }
    }
}

/// Random bytes, often with the magic between them.
fn random_bytes(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..random.below(4) {
        if random.below(2) == 0 {
            bytes.extend(MAGIC);
        }
        let count = random.below(200);
        bytes.extend(random.bytes(count));
    }
    bytes
}
