//! Whether a block's content holds together: columns of equal length, tables that go on where they stopped, indices
//! in range. Owns: what is known of a process key's tables. Never: keeps rows, counts ticks (that is laws.rs).
//! A lost block makes rows absent: an index that may lie in one is no error.

use std::collections::HashMap;

use crate::framing::QUANTUM_NS;
use crate::proto::{self, NodeKind};
use crate::reading::block::ReadBlock;
use crate::reading::columns::Samples;

/// The tables of one process key as far as they have been read.
#[derive(Default)]
pub(crate) struct Known {
    sizes: Sizes,
    /// Whole length of each known code's location table, to place its parts.
    linetable_bytes: HashMap<u32, u32>,
}

#[derive(Clone, Copy, Default)]
struct Sizes {
    strings: Rows,
    modules: Rows,
    codes: Rows,
    nodes: Rows,
    threads: Rows,
    contexts: Rows,
}

/// What a field is and what it must be.
pub(crate) struct Wrong {
    pub field: String,
    pub expected: String,
    pub found: String,
}

type Verdict = Result<(), Wrong>;

impl Known {
    /// A block of this process key is missing: its rows are absent from now on.
    pub fn lose(&mut self) {
        let Sizes { strings, modules, codes, nodes, threads, contexts } = &mut self.sizes;
        for rows in [strings, modules, codes, nodes, threads, contexts] {
            rows.open = true;
        }
    }

    /// Takes the rows of `block`. Err: the first field that is wrong; the block is not to be used, nothing was taken.
    pub fn extend(&mut self, block: &ReadBlock) -> Verdict {
        let nothing = proto::Tables::default();
        let tables = block.block.tables.as_ref().unwrap_or(&nothing);
        let sizes = self.sizes.grown(tables)?;
        Content { sizes, linetable_bytes: &self.linetable_bytes }.check(block, tables)?;
        self.sizes = sizes;
        let lengths = tables.codes.iter().map(|code| code.linetable_bytes);
        self.linetable_bytes.extend(lengths.zip(tables.codes_first..).map(|(bytes, index)| (index, bytes)));
        Ok(())
    }
}

impl Sizes {
    fn grown(mut self, tables: &proto::Tables) -> Result<Sizes, Wrong> {
        self.strings.grow("tables.strings_first", tables.strings_first, tables.strings.len())?;
        self.modules.grow("tables.modules_first", tables.modules_first, tables.modules.len())?;
        self.codes.grow("tables.codes_first", tables.codes_first, tables.codes.len())?;
        let nodes = tables.nodes.as_ref().map_or(0, |nodes| nodes.parent.len());
        self.nodes.grow("tables.nodes_first", tables.nodes_first, nodes)?;
        self.threads.grow("tables.threads_first", tables.threads_first, tables.threads.len())?;
        self.contexts.grow("tables.contexts_first", tables.contexts_first, tables.contexts.len())?;
        Ok(self)
    }
}

/// One block's content against what is known once its own rows are counted.
struct Content<'a> {
    sizes: Sizes,
    /// Of earlier blocks.
    linetable_bytes: &'a HashMap<u32, u32>,
}

impl Content<'_> {
    fn check(&self, block: &ReadBlock, tables: &proto::Tables) -> Verdict {
        self.tables(tables)?;
        if let Some(nodes) = &tables.nodes {
            self.nodes(nodes, tables.nodes_first)?;
        }
        if let Some(samples) = &block.samples {
            self.samples(samples, block.header.start_ns)?;
        }
        if let Some(accounting) = &block.block.accounting {
            for (row, clock) in accounting.thread_clocks.iter().enumerate() {
                self.sizes.threads.has(clock.thread, || format!("accounting.thread_clocks.thread[{row}]"))?;
                if let Some(name) = clock.name.checked_sub(1) {
                    self.sizes.strings.has(name, || format!("accounting.thread_clocks.name[{row}]"))?;
                }
            }
        }
        for (row, mark) in block.block.marks.iter().enumerate() {
            for (thread, column) in [(mark.thread, "thread"), (mark.other, "other")] {
                if let Some(thread) = thread.checked_sub(1) {
                    self.sizes.threads.has(thread, || format!("marks.{column}[{row}]"))?;
                }
            }
            if let Some(node) = mark.node.checked_sub(1) {
                self.sizes.nodes.has(node, || format!("marks.node[{row}]"))?;
            }
        }
        for (row, collection) in block.block.collections.iter().enumerate() {
            if let Some(thread) = collection.thread.checked_sub(1) {
                self.sizes.threads.has(thread, || format!("collections.thread[{row}]"))?;
            }
            if let Some(node) = collection.node.checked_sub(1) {
                self.sizes.nodes.has(node, || format!("collections.node[{row}]"))?;
            }
        }
        for (row, places) in block.block.c_places.iter().enumerate() {
            c_places(places, row)?;
        }
        for (row, weights) in block.block.weights.iter().enumerate() {
            self.weights(weights, row)?;
        }
        Ok(())
    }

    fn tables(&self, tables: &proto::Tables) -> Verdict {
        for (row, module) in tables.modules.iter().enumerate() {
            self.sizes.strings.has(module.path, || format!("tables.modules.path[{row}]"))?;
        }
        for (row, code) in tables.codes.iter().enumerate() {
            self.sizes.strings.has(code.qualname, || format!("tables.codes.qualname[{row}]"))?;
            self.sizes.strings.has(code.filename, || format!("tables.codes.filename[{row}]"))?;
            let field = || format!("tables.codes.linetable[{row}]");
            within(code.linetable.len() as u64, code.linetable_bytes, field)?;
        }
        for (row, part) in tables.code_parts.iter().enumerate() {
            self.sizes.codes.has(part.code, || format!("tables.code_parts.code[{row}]"))?;
            let end = u64::from(part.offset) + part.linetable.len() as u64;
            let own = part.code.checked_sub(tables.codes_first).and_then(|row| tables.codes.get(row as usize));
            let whole = own.map(|code| code.linetable_bytes).or(self.linetable_bytes.get(&part.code).copied());
            if let Some(whole) = whole {
                within(end, whole, || format!("tables.code_parts.linetable[{row}]"))?;
            }
        }
        for (row, thread) in tables.threads.iter().enumerate() {
            self.sizes.strings.has(thread.name, || format!("tables.threads.name[{row}]"))?;
        }
        for ((row, context), index) in tables.contexts.iter().enumerate().zip(tables.contexts_first..) {
            self.sizes.strings.has(context.name, || format!("tables.contexts.name[{row}]"))?;
            // As for nodes: index + 1.
            if context.parent > index {
                return Err(Wrong {
                    field: format!("tables.contexts.parent[{row}]"),
                    expected: format!("a context before {index}"),
                    found: format!("{}", context.parent - 1),
                });
            }
        }
        for (row, known) in tables.known_addresses.iter().enumerate() {
            self.sizes.modules.has(known.module, || format!("tables.known_addresses.module[{row}]"))?;
            self.sizes.strings.has(known.name, || format!("tables.known_addresses.name[{row}]"))?;
        }
        Ok(())
    }

    fn nodes(&self, nodes: &proto::Nodes, nodes_first: u32) -> Verdict {
        let rows = nodes.parent.len();
        column("tables.nodes.kind", nodes.kind.len(), rows)?;
        column("tables.nodes.table", nodes.table.len(), rows)?;
        column("tables.nodes.address", nodes.address.len(), rows)?;
        let columns = nodes.parent.iter().zip(&nodes.kind).zip(&nodes.table);
        for ((row, ((parent, kind), table)), index) in columns.enumerate().zip(nodes_first..) {
            // Stored as index + 1, so that "smaller than its own index" reads as "at most".
            if *parent > index {
                return Err(Wrong {
                    field: format!("tables.nodes.parent[{row}]"),
                    expected: format!("a node before {index}"),
                    found: format!("{}", parent - 1),
                });
            }
            let field = || format!("tables.nodes.table[{row}]");
            match i32::try_from(*kind).ok().and_then(|kind| NodeKind::try_from(kind).ok()) {
                Some(NodeKind::Python) => self.sizes.codes.has(*table, field)?,
                Some(NodeKind::Mark) => self.sizes.strings.has(*table, field)?,
                Some(NodeKind::CLeaf | NodeKind::CReturn | NodeKind::CInferredCall | NodeKind::CInferredOperands) => {
                    self.sizes.modules.has(*table, field)?
                }
                // A kind of a later genba: nothing is known of its table.
                None => {}
            }
        }
        Ok(())
    }

    fn samples(&self, samples: &Samples, start_ns: u64) -> Verdict {
        let rows = samples.len();
        for (name, length) in samples.lengths() {
            if length != rows {
                column(&format!("samples.{name}"), length, rows)?;
            }
        }
        // The largest index tells for all; only where it is wrong the row is looked for.
        if !self.sizes.threads.holds(samples.thread.max()) {
            for (row, thread) in samples.rows().map(|row| row.thread).enumerate() {
                self.sizes.threads.has(thread, || format!("samples.thread[{row}]"))?;
            }
        }
        if samples.node.max().checked_sub(1).is_some_and(|index| !self.sizes.nodes.holds(index)) {
            for (row, node) in samples.rows().map(|row| row.node).enumerate() {
                if let Some(index) = node.checked_sub(1) {
                    self.sizes.nodes.has(index, || format!("samples.node[{row}]"))?;
                }
            }
        }
        if samples.context.max().checked_sub(1).is_some_and(|index| !self.sizes.contexts.holds(index)) {
            for (row, context) in samples.rows().map(|row| row.context).enumerate() {
                if let Some(index) = context.checked_sub(1) {
                    self.sizes.contexts.has(index, || format!("samples.context[{row}]"))?;
                }
            }
        }
        let mut end_ns = i128::from(start_ns);
        for (row, delta_quanta) in samples.end_deltas_quanta().enumerate() {
            end_ns += i128::from(delta_quanta) * i128::from(QUANTUM_NS);
            if u64::try_from(end_ns).is_err() {
                return Err(Wrong {
                    field: format!("samples.end_delta_quanta[{row}]"),
                    expected: "an end between 0 and 2^64 ns".to_owned(),
                    found: format!("{end_ns}"),
                });
            }
        }
        Ok(())
    }
}

impl Content<'_> {
    fn weights(&self, weights: &proto::Weights, place: usize) -> Verdict {
        let field = |column: &str| format!("weights[{place}].{column}");
        let rows = weights.thread.len();
        column(&field("node"), weights.node.len(), rows)?;
        if !weights.context.is_empty() {
            column(&field("context"), weights.context.len(), rows)?;
        }
        column(&field("count"), weights.count.len(), rows)?;
        column(&field("weight"), weights.weight.len(), rows)?;
        if !weights.variance_kib2.is_empty() {
            column(&field("variance_kib2"), weights.variance_kib2.len(), rows)?;
        }
        let Sizes { threads, nodes, contexts, .. } = self.sizes;
        for (row, thread) in weights.thread.iter().enumerate() {
            threads.has(*thread, || field(&format!("thread[{row}]")))?;
        }
        for (name, indices, table) in [("node", &weights.node, nodes), ("context", &weights.context, contexts)] {
            for (row, index) in indices.iter().enumerate() {
                if let Some(index) = index.checked_sub(1) {
                    table.has(index, || field(&format!("{name}[{row}]")))?;
                }
            }
        }
        Ok(())
    }
}

/// One growing table: how many rows it has, and whether rows may be missing beyond them.
#[derive(Clone, Copy, Default)]
struct Rows {
    end: u64,
    /// A block was lost since `end` was last known for sure.
    open: bool,
}

impl Rows {
    /// Takes `rows` new rows from index `first` on.
    fn grow(&mut self, field: &str, first: u32, rows: usize) -> Verdict {
        let first = u64::from(first);
        if rows == 0 {
            return Ok(());
        }
        if first < self.end || (first > self.end && !self.open) {
            let at_least = if self.open { "at least " } else { "" };
            return Err(Wrong {
                field: field.to_owned(),
                expected: format!("{at_least}{}", self.end),
                found: format!("{first}"),
            });
        }
        let end = first + rows as u64;
        if end > u64::from(u32::MAX) {
            return Err(Wrong {
                field: field.to_owned(),
                expected: format!("at most {} rows", u32::MAX),
                found: format!("{end}"),
            });
        }
        *self = Rows { end, open: false };
        Ok(())
    }

    fn holds(&self, index: u64) -> bool {
        self.open || index < self.end
    }

    fn has(&self, index: u32, field: impl FnOnce() -> String) -> Verdict {
        if self.holds(u64::from(index)) {
            return Ok(());
        }
        Err(Wrong { field: field(), expected: format!("an index below {}", self.end), found: format!("{index}") })
    }
}

/// These columns stand for themselves: their strings are their own.
fn c_places(places: &proto::CPlaces, row: usize) -> Verdict {
    let field = |column: &str| format!("c_places[{row}].{column}");
    column(&field("frames"), places.frames.len(), places.address_delta.len())?;
    let frames = places.frames.iter().map(|&frames| u64::from(frames)).sum::<u64>();
    let frames = usize::try_from(frames).unwrap_or(usize::MAX);
    for (name, texts) in [("name", &places.name), ("full_name", &places.full_name), ("file", &places.file)] {
        column(&field(name), texts.len(), frames)?;
        if let Some(beyond) = texts.iter().find(|&&text| text as usize > places.strings.len()) {
            let expected = format!("an index below {}", places.strings.len());
            return Err(Wrong { field: field(name), expected, found: format!("{}", beyond - 1) });
        }
    }
    column(&field("line"), places.line.len(), frames)
}

fn column(field: &str, length: usize, rows: usize) -> Verdict {
    if length == rows {
        return Ok(());
    }
    Err(Wrong { field: field.to_owned(), expected: format!("{rows} rows"), found: format!("{length}") })
}

fn within(end: u64, whole: u32, field: impl FnOnce() -> String) -> Verdict {
    if end <= u64::from(whole) {
        return Ok(());
    }
    Err(Wrong { field: field(), expected: format!("at most {whole} bytes"), found: format!("{end}") })
}
