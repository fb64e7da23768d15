//! The samples of a block as they are stored since version 2: columns of numbers that are small and much alike, cut into planes of
//! bytes, because zstd takes bytes apart that differ in how they are spread.
//! Owns: that form, both ways. Never: judges what the numbers mean, takes memory by a number of rows that no bytes back up.

use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, uint32};

use crate::proto;
use crate::state::WAITING_MIN;

/// Tags of `Block.columns`, and of the numbers of rows in it, behind which the columns stand; genba.proto has them.
const COLUMNS_TAG: u32 = 11;
const ROWS_TAG: u32 = 1;
const DISTINCT_TAG: u32 = 9;
/// Threads of higher numbers are as if each of their samples were the first: memory has a limit.
const THREADS_REMEMBERED_MAX: u64 = 1 << 16;

/// Where each thread's last sample ended, in quanta since the block's start.
pub(crate) struct LastEnds(Vec<i64>);

impl LastEnds {
    pub fn new(thread_max: u64) -> Self {
        let threads = if thread_max < THREADS_REMEMBERED_MAX { thread_max + 1 } else { THREADS_REMEMBERED_MAX };
        LastEnds(vec![0; threads as usize])
    }

    /// The time since the thread's sample before, whose place this one takes.
    pub fn since(&mut self, thread: u64, end_quanta: i64) -> u64 {
        let last = usize::try_from(thread).ok().and_then(|thread| self.0.get_mut(thread));
        end_quanta.wrapping_sub(last.map_or(0, |last| std::mem::replace(last, end_quanta))) as u64
    }
}

pub(crate) const fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// None: columns of unequal length, which only `proto::Samples` can tell.
pub(crate) fn columns(samples: &proto::Samples) -> Option<proto::Columns> {
    let proto::Samples { end_delta_quanta, thread, node, state, ticks, cpu_quanta, wall_quanta, context } = samples;
    let rows = end_delta_quanta.len();
    let narrow = [thread, node, state, ticks].iter().all(|column| column.len() == rows);
    let has_contexts = context.len() == rows || context.is_empty();
    if !narrow || !has_contexts || cpu_quanta.len() != rows || wall_quanta.len() != rows {
        return None;
    }
    let mut ends = LastEnds::new(thread.iter().copied().max().unwrap_or(0).into());
    let mut end_quanta = 0_i64;
    let mut wall_lack = Vec::with_capacity(rows);
    let mut cpu_lack = Vec::with_capacity(rows);
    for row in 0..rows {
        end_quanta = end_quanta.wrapping_add(end_delta_quanta[row]);
        let (wall, cpu) = (wall_quanta[row], cpu_quanta[row]);
        wall_lack.push(zigzag(ends.since(thread[row].into(), end_quanta).wrapping_sub(wall) as i64));
        let wall = if u64::from(state[row]) < WAITING_MIN { wall } else { 0 };
        cpu_lack.push(zigzag(wall.wrapping_sub(cpu) as i64));
    }
    let end_delta: Vec<u64> = end_delta_quanta.iter().copied().map(zigzag).collect();
    let mut distinct = node.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let node: Option<Vec<u32>> =
        node.iter().map(|node| u32::try_from(distinct.binary_search(node).ok()?).ok()).collect();
    let distinct_delta: Vec<u64> =
        distinct.iter().scan(0, |last, node| Some(u64::from(node - std::mem::replace(last, *node)))).collect();
    let of = |column: &[u32]| planes(&column.iter().copied().map(u64::from).collect::<Vec<_>>(), 0);
    Some(proto::Columns {
        rows: u32::try_from(rows).ok()?,
        end_delta: planes(&end_delta, 1),
        thread: of(thread),
        node: of(&node?),
        state: of(state),
        ticks: of(ticks),
        wall_lack: planes(&wall_lack, 0),
        cpu_lack: planes(&cpu_lack, 0),
        distinct: u32::try_from(distinct.len()).ok()?,
        distinct_delta: planes(&distinct_delta, 1),
        context: of(context),
    })
}

fn planes(values: &[u64], planes_min: u32) -> Vec<u8> {
    let bits = values.iter().fold(0, |bits, value| bits | value);
    let count = (u64::BITS - bits.leading_zeros()).div_ceil(8).max(planes_min);
    let mut bytes = Vec::with_capacity(values.len() * count as usize);
    for plane in 0..count {
        bytes.extend(values.iter().map(|value| (value >> (8 * plane)) as u8));
    }
    bytes
}

/// Appends the field `Block.columns`, as protobuf would; `ends` gets the place behind each plane.
pub(crate) fn encode(columns: &proto::Columns, out: &mut Vec<u8>, ends: &mut Vec<usize>) {
    let &proto::Columns { rows, distinct, .. } = columns;
    encode_key(COLUMNS_TAG, WireType::LengthDelimited, out);
    encode_varint(columns.encoded_len() as u64, out);
    if rows > 0 {
        uint32::encode(ROWS_TAG, &rows, out);
    }
    let proto::Columns { end_delta, thread, node, state, ticks, wall_lack, cpu_lack, .. } = columns;
    for (tag, column) in (ROWS_TAG + 1..).zip([end_delta, thread, node, state, ticks, wall_lack, cpu_lack]) {
        encode_column(tag, column, rows, out, ends);
    }
    if distinct > 0 {
        uint32::encode(DISTINCT_TAG, &distinct, out);
    }
    encode_column(DISTINCT_TAG + 1, &columns.distinct_delta, distinct, out, ends);
    encode_column(DISTINCT_TAG + 2, &columns.context, rows, out, ends);
}

fn encode_column(tag: u32, column: &[u8], rows: u32, out: &mut Vec<u8>, ends: &mut Vec<usize>) {
    if !column.is_empty() {
        encode_key(tag, WireType::LengthDelimited, out);
        encode_varint(column.len() as u64, out);
    }
    for plane in column.chunks((rows as usize).max(1)) {
        out.extend_from_slice(plane);
        ends.push(out.len());
    }
}
