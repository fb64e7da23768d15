//! The recording's tables on the writing side: rows not yet written, and how to find a row again.
//! Owns: strings, modules, codes, stack nodes, threads of one process key. Never: gives an index out twice, grows without a bound.

use genba_format::proto;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// A stack node as it is told apart from others: under `parent` (index + 1, 0 = root).
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub parent: u32,
    pub kind: proto::NodeKind,
    pub table: u32,
    pub address: u64,
}

impl Node {
    /// The same in as few bytes: a table holds a hundred thousand. The first four bits of an address are all the same, as x86-64
    /// demands, so of the kinds, fewer than eight, none becomes another's.
    const fn key(self) -> [u32; 4] {
        let address = self.address.rotate_left(4) ^ self.kind as u64;
        [self.parent, self.table, (address >> 32) as u32, address as u32]
    }
}

/// Texts by which their rows are found again, in two pieces of memory: a forked child gives thousands of them back without touching each,
/// which would copy every page that it shares with its parent.
#[derive(Default)]
struct Strings {
    bytes: Vec<u8>,
    by_hash: FxHashMap<u64, Text>,
}

/// Where a text stands in `Strings::bytes`, and its row.
struct Text {
    begin: usize,
    end: usize,
    index: u32,
}

impl Strings {
    fn find(&self, text: &[u8]) -> Option<u32> {
        let found = self.by_hash.get(&FxBuildHasher.hash_one(text))?;
        (self.bytes.get(found.begin..found.end) == Some(text)).then_some(found.index)
    }

    /// Of two texts with the same hash the last one is found; the other one gets another row next time.
    fn remember(&mut self, text: &[u8], index: u32) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(text);
        self.by_hash.insert(FxBuildHasher.hash_one(text), Text { begin, end: self.bytes.len(), index });
    }
}

/// More than the numbers of a row take, with its tag.
const ROW_BYTES: usize = 48;

#[derive(Default)]
pub struct Tables {
    strings: Strings,
    nodes: FxHashMap<[u32; 4], u32>,
    /// The last stack from its root on: keys of nodes, and their indices + 1. Most of the next one is the same, and found here sooner than
    /// in the large table, little of which is in the CPU's caches.
    last_stack: Vec<([u32; 4], u32)>,
    /// So many of these are the present stack's, too.
    same: usize,
    strings_len: u32,
    nodes_len: u32,
    modules_len: u32,
    codes_len: u32,
    threads_len: u32,
    new: proto::Tables,
    new_nodes: proto::Nodes,
    /// What the new rows take in a block, at most.
    new_bytes: usize,
}

impl Tables {
    /// Rows by which a row is found again. When there are more, all are forgotten and written anew under new indices: a
    /// program that runs for weeks must not fill its memory with stacks it no longer has. As many as the hash table holds
    /// before it grows again: 2.8 MB of nodes, 1 MB of strings and what these are themselves.
    const NODES_REMEMBERED_MAX: usize = (1 << 17) / 8 * 7;
    const STRINGS_REMEMBERED_MAX: usize = (1 << 15) / 8 * 7;
    const STRING_BYTES_REMEMBERED_MAX: usize = 1 << 22;

    /// So many of any kind, those included that were forgotten and written anew.
    #[must_use]
    pub fn has_rows(&self, rows: u32) -> bool {
        let lengths = [self.strings_len, self.nodes_len, self.modules_len, self.codes_len, self.threads_len];
        lengths.iter().any(|&length| length >= rows)
    }

    pub fn string(&mut self, text: &[u8]) -> u32 {
        if let Some(index) = self.strings.find(text) {
            return index;
        }
        let full = self.strings.by_hash.len() >= Self::STRINGS_REMEMBERED_MAX;
        if full || self.strings.bytes.len() >= Self::STRING_BYTES_REMEMBERED_MAX {
            self.strings = Strings::default();
        }
        let index = self.strings_len;
        self.strings_len += 1;
        self.strings.remember(text, index);
        self.new_bytes += ROW_BYTES + text.len();
        self.new.strings.push(text.to_vec());
        index
    }

    pub fn module(&mut self, path: &str, build_id: &[u8], kind: u32, tick: u64) -> u32 {
        let path = self.string(path.as_bytes());
        self.new_bytes += ROW_BYTES + build_id.len();
        self.new.modules.push(proto::Module { path, build_id: build_id.to_vec(), kind, tick_first: tick });
        self.modules_len += 1;
        self.modules_len - 1
    }

    pub fn code(&mut self, code: proto::Code) -> u32 {
        self.new_bytes += ROW_BYTES + code.linetable.len();
        self.new.codes.push(code);
        self.codes_len += 1;
        self.codes_len - 1
    }

    pub fn code_part(&mut self, part: proto::CodePart) {
        self.new_bytes += ROW_BYTES + part.linetable.len();
        self.new.code_parts.push(part);
    }

    pub fn thread(&mut self, tid: u32, name: &[u8], start_ns: u64) -> u32 {
        let name = self.string(name);
        self.new_bytes += ROW_BYTES;
        self.new.threads.push(proto::Thread { tid, name, start_ns });
        self.threads_len += 1;
        self.threads_len - 1
    }

    /// Names a thread whose row no block has told yet. What a block has told stays.
    pub fn name_thread(&mut self, row: u32, name: &[u8]) {
        let told = self.threads_len - self.new.threads.len() as u32;
        if row < told || row >= self.threads_len {
            return;
        }
        let name = self.string(name);
        self.new.threads[(row - told) as usize].name = name;
    }

    pub fn known_address(&mut self, module: u32, address: u64, name: &str) {
        let name = self.string(name.as_bytes());
        self.new_bytes += ROW_BYTES;
        self.new.known_addresses.push(proto::KnownAddress { module, address, name });
    }

    /// Index + 1 of a node, as children and samples refer to it.
    pub fn node(&mut self, node: Node) -> u32 {
        let key = node.key();
        if node.parent == 0 {
            self.same = 0;
        }
        let before = self.last_stack[..self.same].last().map_or(0, |&(_, index)| index);
        let goes_on = before == node.parent;
        if goes_on {
            if let Some(&(known, index)) = self.last_stack.get(self.same)
                && known == key
            {
                self.same += 1;
                return index;
            }
            self.last_stack.truncate(self.same);
        }
        let index = self.node_in_table(node, key) + 1;
        if goes_on {
            self.last_stack.push((key, index));
            self.same += 1;
        }
        index
    }

    /// The stack with this leaf, from its root on: whole if it is the one that was last looked for, else the leaf alone.
    pub fn stack_of(&self, leaf: u32) -> impl Iterator<Item = u32> {
        let last = &self.last_stack[..self.same];
        let last = if last.last().is_some_and(|&(_, index)| index == leaf) { last } else { &[] };
        let alone = last.is_empty().then_some(leaf);
        last.iter().map(|&(_, index)| index).chain(alone)
    }

    /// Its index.
    fn node_in_table(&mut self, node: Node, key: [u32; 4]) -> u32 {
        if self.nodes.len() >= Self::NODES_REMEMBERED_MAX {
            self.nodes.clear();
        }
        let next = self.nodes_len;
        let index = *self.nodes.entry(key).or_insert(next);
        if index == next {
            self.nodes_len += 1;
            self.new_bytes += ROW_BYTES;
            self.new_nodes.parent.push(node.parent);
            self.new_nodes.kind.push(node.kind as u32);
            self.new_nodes.table.push(node.table);
            self.new_nodes.address.push(node.address);
        }
        index
    }

    /// What the rows since `take` add to a block, at most.
    #[must_use]
    pub const fn new_bytes(&self) -> usize {
        self.new_bytes
    }

    /// The rows since the last call.
    pub fn take(&mut self) -> proto::Tables {
        self.new_bytes = 0;
        let mut new = std::mem::take(&mut self.new);
        let nodes = std::mem::take(&mut self.new_nodes);
        new.strings_first = self.strings_len - new.strings.len() as u32;
        new.modules_first = self.modules_len - new.modules.len() as u32;
        new.codes_first = self.codes_len - new.codes.len() as u32;
        new.threads_first = self.threads_len - new.threads.len() as u32;
        new.nodes_first = self.nodes_len - nodes.parent.len() as u32;
        new.nodes = Some(nodes);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::{Node, Strings, Tables};
    use genba_format::proto::{self, NodeKind};
    use genba_format::{BlockHeader, VERSION, encode_block};

    #[test]
    fn a_text_is_found_by_all_of_its_bytes() {
        let mut strings = Strings::default();
        for (index, text) in [&b"main"[..], b"", b"mai", b"nmain"].into_iter().enumerate() {
            assert_eq!(strings.find(text), None);
            strings.remember(text, index as u32);
        }
        assert_eq!(
            [&b"main"[..], b"", b"mai", b"nmain"].map(|text| strings.find(text)),
            [Some(0), Some(1), Some(2), Some(3)]
        );
        // As if both had the same hash.
        let begin = strings.by_hash.values().find(|text| text.index == 0).unwrap().begin;
        strings.bytes[begin] = b'M';
        assert_eq!(strings.find(b"main"), None);
    }

    #[test]
    fn a_thread_is_named_until_a_block_has_told_its_row() {
        let mut tables = Tables::default();
        let name = |tables: &proto::Tables, at: usize| tables.strings[tables.threads[at].name as usize].clone();
        let (first, second) = (tables.thread(7, b"", 1), tables.thread(8, b"python3", 2));
        tables.name_thread(first, b"worker");
        let told = tables.take();
        assert_eq!([0, 1].map(|at| name(&told, at)), [&b"worker"[..], b"python3"]);
        tables.name_thread(second, b"too late");
        tables.name_thread(2, b"nobody");
        let third = tables.thread(9, b"", 3);
        tables.name_thread(third, b"python3");
        let told = tables.take();
        assert_eq!((told.threads_first, told.threads[0].name), (2, 1), "the text is there already");
        assert!(told.strings.is_empty());
    }

    #[test]
    fn nodes_are_told_apart_by_each_of_their_parts() {
        let mut tables = Tables::default();
        let vsyscall = 0xffff_ffff_ff60_0000;
        let nodes = [
            Node { parent: 0, kind: NodeKind::CReturn, table: 0, address: 0 },
            Node { parent: 1, kind: NodeKind::CReturn, table: 0, address: 0 },
            Node { parent: 0, kind: NodeKind::CLeaf, table: 0, address: 0 },
            Node { parent: 0, kind: NodeKind::CReturn, table: 1, address: 0 },
            Node { parent: 0, kind: NodeKind::CReturn, table: 0, address: 1 },
            Node { parent: 0, kind: NodeKind::CReturn, table: 0, address: vsyscall },
            Node { parent: 0, kind: NodeKind::CReturn, table: 0, address: 0x7fff_ffff_ffff },
            Node { parent: 0, kind: NodeKind::CReturn, table: 0, address: 0xffff_ffff },
        ];
        let rows: Vec<u32> = nodes.iter().map(|&node| tables.node(node)).collect();
        assert_eq!(rows, (1..=nodes.len() as u32).collect::<Vec<_>>());
        assert_eq!(nodes.map(|node| tables.node(node)).to_vec(), rows);
    }

    #[test]
    fn stacks_share_the_rows_of_what_they_have_in_common() {
        let mut tables = Tables::default();
        let mut stack = |addresses: &[u64]| {
            let (mut rows, mut parent) = (Vec::new(), 0);
            for &address in addresses {
                parent = tables.node(Node { parent, kind: NodeKind::CReturn, table: 0, address });
                rows.push(parent);
            }
            rows
        };
        for _ in 0..2 {
            assert_eq!(stack(&[5, 6, 7]), [1, 2, 3]);
            assert_eq!(stack(&[5, 6, 8, 7]), [1, 2, 4, 5]);
            assert_eq!(stack(&[5, 6, 7]), [1, 2, 3]);
            assert_eq!(stack(&[6, 6, 7]), [6, 7, 8]);
            assert_eq!(stack(&[5, 6]), [1, 2]);
            assert_eq!(stack(&[5, 6, 8, 7]), [1, 2, 4, 5]);
            assert_eq!(stack(&[5, 5, 6]), [1, 9, 10]);
        }
        let leaf = Node { parent: 3, kind: NodeKind::CLeaf, table: 0, address: 9 };
        assert_eq!((tables.node(leaf), tables.node(leaf)), (11, 11), "not below the last stack");
        assert_eq!(tables.take().nodes.unwrap().parent, [0, 1, 2, 2, 4, 0, 6, 7, 1, 9, 3]);
    }

    #[test]
    fn the_last_stack_is_told_from_its_root_on() {
        let mut tables = Tables::default();
        let mut stack = |addresses: &[u64]| {
            let node = |parent, &address| tables.node(Node { parent, kind: NodeKind::CReturn, table: 0, address });
            let leaf = addresses.iter().fold(0, node);
            tables.stack_of(leaf).collect::<Vec<_>>()
        };
        assert_eq!(stack(&[5, 6, 7]), [1, 2, 3]);
        assert_eq!(stack(&[5, 6, 8, 7]), [1, 2, 4, 5]);
        assert_eq!(stack(&[5, 6]), [1, 2]);
        assert_eq!(tables.stack_of(3).collect::<Vec<_>>(), [3], "another stack");
    }

    #[test]
    fn rows_take_no_more_than_is_reckoned() {
        let mut tables = Tables::default();
        let module = tables.module("/usr/lib/libpython3.13.so", &[7; 20], 0, u64::MAX);
        for number in 0..1_000 {
            tables.string(format!("name {number}").as_bytes());
            tables.node(Node {
                parent: number,
                kind: NodeKind::CReturn,
                table: module,
                address: u64::MAX - u64::from(number),
            });
            tables.thread(u32::MAX - number, format!("thread {number}").as_bytes(), u64::MAX);
            tables.known_address(module, u64::MAX, "memmove");
            let linetable = vec![9; number as usize];
            let (qualname, filename, first_line) = (u32::MAX, u32::MAX, u32::MAX);
            tables.code_part(proto::CodePart { code: number, offset: u32::MAX, linetable: linetable.clone() });
            tables.code(proto::Code { qualname, filename, first_line, linetable_bytes: u32::MAX, linetable });
        }
        let reckoned = tables.new_bytes();
        let block = proto::Block { tables: Some(tables.take()), ..proto::Block::default() };
        let header = BlockHeader { version: VERSION, process_key: [0; 16], sequence: 0, start_ns: 0, end_ns: 0 };
        let mut out = Vec::new();
        encode_block(&header, block, &mut |pieces| pieces.concat(), &mut out).unwrap();
        let written = out.len();
        assert!(written <= reckoned && reckoned < 4 * written, "{written} bytes, {reckoned} reckoned");
        assert_eq!(tables.new_bytes(), 0);
    }

    #[test]
    fn rows_of_each_kind_are_counted() {
        let node = Node { parent: 0, kind: NodeKind::CLeaf, table: 0, address: 0 };
        let mut tables = Tables { nodes_len: 6, ..Tables::default() };
        assert!(!tables.has_rows(7));
        assert_eq!(tables.node(node), 7);
        assert!(tables.has_rows(7));
        let mut tables = Tables { strings_len: 6, ..Tables::default() };
        tables.string(b"main");
        assert!(tables.has_rows(7));
    }

    #[test]
    fn indices_go_on_when_rows_are_forgotten() {
        let mut tables = Tables::default();
        let node = |address: u64| Node { parent: 0, kind: NodeKind::CLeaf, table: 0, address };
        let last = Tables::NODES_REMEMBERED_MAX as u64;
        for address in 0..=last {
            assert_eq!(u64::from(tables.node(node(address))), address + 1);
        }
        assert_eq!(u64::from(tables.node(node(last))), last + 1, "the newest ones are known");
        assert!(tables.nodes.capacity() < 1 << 17, "the table did not grow beyond what it is meant to take");
        assert_eq!(u64::from(tables.node(node(0))), last + 2, "the old ones are written anew");
        let rows = tables.take();
        assert_eq!((rows.nodes_first, rows.nodes.unwrap().parent.len() as u64), (0, last + 2));
        assert_eq!(tables.string(b"a"), 0);
        assert_eq!(tables.take().strings_first, 0);
        assert_eq!(tables.string(b"b"), 1);
        assert_eq!(tables.take().strings_first, 1);
        for number in 0..2 * Tables::STRINGS_REMEMBERED_MAX {
            tables.string(format!("thread {number}").as_bytes());
        }
        assert!(tables.strings.by_hash.capacity() < 1 << 15);
        assert!(tables.strings.by_hash.len() <= Tables::STRINGS_REMEMBERED_MAX);
    }
}
