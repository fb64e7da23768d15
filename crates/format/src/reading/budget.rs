//! How much memory a recording may take when it is read: a few kB of a crafted file must not become gigabytes.
//! Owns: the limits, and the length of a decoded block, counted from the tags of its message before anything is decoded.
//! Never: takes memory itself; judges what a message means. FORMAT.md gives the limits.

use prost::encoding::{WireType, decode_key, decode_varint};

use crate::proto;

/// Most bytes that one block may take while it is decoded, samples as they are computed included.
pub(crate) const BLOCK_BYTES_MAX: u64 = 256 << 20;
/// What all blocks of a file may take together: so much, and so much for each byte of the file.
/// Measured: of 60 recordings of 0.5 kB to 4 MB each takes 4 to 13 bytes for each of its own, the most where 300 threads sleep.
const FILE_BYTES_MIN: u64 = 64 << 20;
const FILE_BYTES_EACH: u64 = 128;
/// For each row of `Columns`: nodes, CPU and wall time as computed, and once more as they are packed.
const ROW_BYTES: u64 = 48;

/// What is left for the blocks of one file, as far as it has been read.
pub(crate) struct Budget {
    pub left_bytes: u64,
    /// Bytes of the file that it has grown by.
    reached_bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { left_bytes: FILE_BYTES_MIN, reached_bytes: 0 }
    }
}

impl Budget {
    /// The file is `bytes` long at least.
    pub fn reach(&mut self, bytes: u64) {
        let more_bytes = bytes.saturating_sub(self.reached_bytes);
        self.left_bytes = self.left_bytes.saturating_add(more_bytes.saturating_mul(FILE_BYTES_EACH));
        self.reached_bytes += more_bytes;
    }

    /// False: that is more than is left.
    pub fn take(&mut self, bytes: u64) -> bool {
        let left = self.left_bytes.checked_sub(bytes);
        self.left_bytes = left.unwrap_or(self.left_bytes);
        left.is_some()
    }
}

/// What a block takes beside its plain bytes: `elements_bytes` as long as the recording is, without samples stored as `Columns`;
/// `while_decoded_bytes`, all in all, at most at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub elements_bytes: u64,
    pub while_decoded_bytes: u64,
}

impl Decoded {
    /// Of a message `Block`. What prost would refuse is counted as far as it can be read.
    pub fn of(plain: &[u8]) -> Decoded {
        let mut count = Count::default();
        let _ = count.message(plain, &BLOCK);
        let rows_bytes = count.rows.saturating_mul(ROW_BYTES);
        let while_decoded_bytes = count.elements_bytes.saturating_add(rows_bytes).saturating_add(plain.len() as u64);
        Decoded { elements_bytes: count.elements_bytes, while_decoded_bytes }
    }
}

/// The fields of a message that take more memory than their bytes: an element of two bytes may take 136.
type Shape = [(u32, Field)];

enum Field {
    /// A message of so many bytes; not in a list.
    One(usize, &'static Shape),
    /// A message of so many bytes in a list.
    Message(usize, &'static Shape),
    /// A string or bytes in a list.
    Text,
    /// Numbers of so many bytes in a list.
    Numbers(usize),
    /// Of `Columns`: a byte of `end_delta` stands for at most one row.
    Rows,
}

const TEXT_BYTES: usize = size_of::<String>();
const U32: Field = Field::Numbers(4);
const U64: Field = Field::Numbers(8);

const fn one<Message>(shape: &'static Shape) -> Field {
    Field::One(size_of::<Message>(), shape)
}

const fn message<Message>(shape: &'static Shape) -> Field {
    Field::Message(size_of::<Message>(), shape)
}

const BLOCK: [(u32, Field); 17] = [
    (1, one::<proto::Start>(&[(5, Field::Text), (12, Field::Text)])),
    (2, one::<proto::Tables>(&TABLES)),
    (3, one::<proto::Samples>(&[(1, U64), (2, U32), (3, U32), (4, U32), (5, U32), (6, U64), (7, U64), (8, U32)])),
    (
        4,
        one::<proto::Accounting>(&[
            (3, message::<proto::Count>(&[])),
            (4, message::<proto::Count>(&[])),
            (10, message::<proto::ThreadClock>(&[])),
            (15, message::<proto::Measure>(&[])),
        ]),
    ),
    (5, message::<proto::Mark>(&[])),
    (7, message::<proto::CName>(&[])),
    (8, message::<proto::Source>(&[(4, message::<proto::SourceChunk>(&[]))])),
    (9, one::<proto::Recorder>(&[(2, Field::Text)])),
    (10, message::<proto::CPlaces>(&[(3, Field::Text), (4, U64), (5, U32), (6, U32), (7, U32), (8, U32), (9, U32)])),
    (11, one::<proto::Columns>(&[(2, Field::Rows)])),
    (12, message::<proto::Reaped>(&[])),
    (13, Field::Text),
    (14, message::<proto::Weights>(&[(2, U32), (3, U32), (4, U32), (5, U64), (6, U64), (7, U64)])),
    (16, message::<proto::Collection>(&[])),
    (17, one::<proto::Collector>(&[(1, U64)])),
    (18, message::<proto::NotFollowed>(&[])),
    (19, message::<proto::Heap>(&[(9, Field::Text), (10, U64), (11, U64)])),
];
const TABLES: [(u32, Field); 8] = [
    (2, Field::Text),
    (4, message::<proto::Module>(&[])),
    (6, message::<proto::Code>(&[])),
    (8, one::<proto::Nodes>(&[(1, U32), (2, U32), (3, U32), (4, U64)])),
    (10, message::<proto::Thread>(&[])),
    (11, message::<proto::CodePart>(&[])),
    (12, message::<proto::KnownAddress>(&[])),
    (14, message::<proto::Context>(&[])),
];

#[derive(Default)]
struct Count {
    elements_bytes: u64,
    rows: u64,
}

impl Count {
    /// None: it ends in the middle of something, and prost says so.
    fn message(&mut self, mut bytes: &[u8], shape: &Shape) -> Option<()> {
        while !bytes.is_empty() {
            let (tag, wire) = decode_key(&mut bytes).ok()?;
            let field = shape.iter().find(|(known, _)| *known == tag).map(|(_, field)| field);
            match wire {
                WireType::Varint => {
                    decode_varint(&mut bytes).ok()?;
                    self.element(field, &[0]);
                }
                WireType::SixtyFourBit => bytes = bytes.get(8..)?,
                WireType::ThirtyTwoBit => bytes = bytes.get(4..)?,
                WireType::LengthDelimited => {
                    let length = usize::try_from(decode_varint(&mut bytes).ok()?).ok()?;
                    let content = bytes.get(..length)?;
                    bytes = bytes.get(length..)?;
                    self.element(field, content);
                }
                // Nothing in it is kept; counted as if it were.
                WireType::StartGroup | WireType::EndGroup => {}
            }
        }
        Some(())
    }

    fn element(&mut self, field: Option<&Field>, content: &[u8]) {
        let bytes = match field {
            None => 0,
            Some(Field::Text) => TEXT_BYTES,
            Some(Field::Numbers(number_bytes)) => {
                content.iter().filter(|byte| **byte < 0x80).count().saturating_mul(*number_bytes)
            }
            Some(Field::Rows) => {
                self.rows = self.rows.saturating_add(content.len() as u64);
                0
            }
            Some(Field::One(message_bytes, shape) | Field::Message(message_bytes, shape)) => {
                let _ = self.message(content, shape);
                *message_bytes
            }
        };
        self.elements_bytes = self.elements_bytes.saturating_add(bytes as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::{Decoded, Field};
    use crate::proto;
    use prost::Message;

    fn elements_bytes(block: &proto::Block) -> u64 {
        Decoded::of(&block.encode_to_vec()).elements_bytes
    }

    #[test]
    fn every_list_of_the_schema_is_counted() {
        let source = include_str!("../../genba.proto");
        let repeated = source.lines().filter(|line| line.trim_start().starts_with("repeated ")).count();
        assert_eq!(counted_lists(&super::BLOCK), repeated, "genba.proto has lists that are not counted here");
    }

    fn counted_lists(shape: &super::Shape) -> usize {
        let lists = shape.iter().map(|(_, field)| match field {
            Field::Text | Field::Numbers(_) => 1,
            Field::Rows => 0,
            Field::One(_, inner) => counted_lists(inner),
            Field::Message(_, inner) => 1 + counted_lists(inner),
        });
        lists.sum()
    }

    #[test]
    fn empty_elements_count_as_large_as_they_are() {
        let names = proto::Block { c_names: vec![proto::CName::default(); 1000], ..Default::default() };
        assert_eq!(elements_bytes(&names), 1000 * size_of::<proto::CName>() as u64);
        let strings = proto::Tables { strings: vec![vec![]; 1000], ..Default::default() };
        let tables = proto::Block { tables: Some(strings), ..Default::default() };
        assert_eq!(elements_bytes(&tables), 1000 * 24 + size_of::<proto::Tables>() as u64);
        let numbers = proto::Samples { cpu_quanta: vec![0, 1, 300], node: vec![7], ..Default::default() };
        let samples = proto::Block { samples: Some(numbers), ..Default::default() };
        assert_eq!(elements_bytes(&samples), 3 * 8 + 4 + size_of::<proto::Samples>() as u64);
    }

    #[test]
    fn numbers_that_are_not_packed_and_groups_are_counted() {
        // Tables.nodes.parent, twice, each with a key of its own.
        let nodes = [0x08, 1, 0x08, 2];
        let tables = [&[0x42, nodes.len() as u8][..], &nodes].concat();
        let block = [&[0x12, tables.len() as u8][..], &tables].concat();
        let structs = (size_of::<proto::Tables>() + size_of::<proto::Nodes>()) as u64;
        assert_eq!(Decoded::of(&block).elements_bytes, structs + 8);
        // A group of field 15 hides nothing that stands behind it.
        let behind = [&[0x7b, 0x7c][..], &block].concat();
        assert_eq!(Decoded::of(&behind).elements_bytes, structs + 8);
    }

    #[test]
    fn rows_are_counted_while_decoded() {
        let columns = proto::Columns { rows: 100, end_delta: vec![1; 100], ..Default::default() };
        let plain = proto::Block { columns: Some(columns), ..Default::default() }.encode_to_vec();
        let decoded = Decoded::of(&plain);
        assert_eq!(decoded.while_decoded_bytes - decoded.elements_bytes, 4800 + plain.len() as u64);
    }
}
