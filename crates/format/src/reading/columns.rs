//! The samples of a block in memory: a column of numbers each, in as few bytes as its largest number needs.
//! Owns: that form, and the way into it from the stored bytes. Never: judges what the numbers mean.
//! Ten million samples are some 70 MB like this; as the vectors that protobuf gives they are 600.

use prost::Message;

use crate::planes::{LastEnds, zigzag};
use crate::proto;
use crate::state::WAITING_MIN;

const COLUMNS: usize = 8;

/// Numbers; one that never changes takes no room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    Same { value: u64, rows: usize },
    Bytes(Box<[u8]>),
    Words(Box<[u16]>),
    Longs(Box<[u32]>),
    Wide(Box<[u64]>),
}

/// As `proto::Samples`; columns may be of unequal length until the block was validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    /// Zigzag: (n << 1) ^ (n >> 63).
    pub end_delta_zigzag: Column,
    pub thread: Column,
    pub node: Column,
    pub state: Column,
    pub ticks: Column,
    pub cpu_quanta: Column,
    pub wall_quanta: Column,
    pub context: Column,
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub thread: u32,
    /// Leaf node index + 1; 0: no stack.
    pub node: u32,
    pub state: u32,
    pub ticks: u32,
    pub cpu_quanta: u64,
    pub wall_quanta: u64,
    /// Innermost context index + 1; 0: none.
    pub context: u32,
}

impl Column {
    fn of(values: &[u64]) -> Self {
        let Some(&first) = values.first() else {
            return Column::Same { value: 0, rows: 0 };
        };
        if values.iter().all(|value| *value == first) {
            return Column::Same { value: first, rows: values.len() };
        }
        let max = values.iter().copied().max().unwrap_or(0);
        // The casts keep every bit: `max` was looked at.
        match max {
            ..=0xff => Column::Bytes(values.iter().map(|value| *value as u8).collect()),
            0x100..=0xffff => Column::Words(values.iter().map(|value| *value as u16).collect()),
            0x1_0000..=0xffff_ffff => Column::Longs(values.iter().map(|value| *value as u32).collect()),
            _ => Column::Wide(values.into()),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Column::Same { rows, .. } => *rows,
            Column::Bytes(values) => values.len(),
            Column::Words(values) => values.len(),
            Column::Longs(values) => values.len(),
            Column::Wide(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// 0 for a row that is not there.
    pub fn at(&self, row: usize) -> u64 {
        match self {
            Column::Same { value, rows } if row < *rows => Some(*value),
            Column::Same { .. } => None,
            Column::Bytes(values) => values.get(row).copied().map(u64::from),
            Column::Words(values) => values.get(row).copied().map(u64::from),
            Column::Longs(values) => values.get(row).copied().map(u64::from),
            Column::Wide(values) => values.get(row).copied(),
        }
        .unwrap_or(0)
    }

    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).map(|row| self.at(row))
    }

    /// 0 for a column without rows.
    pub fn max(&self) -> u64 {
        match self {
            Column::Same { value, .. } => *value,
            Column::Bytes(values) => u64::from(values.iter().copied().max().unwrap_or(0)),
            Column::Words(values) => u64::from(values.iter().copied().max().unwrap_or(0)),
            Column::Longs(values) => u64::from(values.iter().copied().max().unwrap_or(0)),
            Column::Wide(values) => values.iter().copied().max().unwrap_or(0),
        }
    }

    pub fn sum(&self) -> u128 {
        match self {
            Column::Same { value, rows } => u128::from(*value) * *rows as u128,
            Column::Bytes(values) => u128::from(values.iter().copied().map(u64::from).sum::<u64>()),
            _ => self.iter().map(u128::from).sum(),
        }
    }

    /// What its numbers take.
    fn memory_bytes(&self) -> usize {
        match self {
            Column::Same { .. } => 0,
            Column::Bytes(values) => values.len(),
            Column::Words(values) => size_of_val(values.as_ref()),
            Column::Longs(values) => size_of_val(values.as_ref()),
            Column::Wide(values) => size_of_val(values.as_ref()),
        }
    }

    fn narrow(&self) -> Vec<u32> {
        self.iter().map(|value| value as u32).collect()
    }
}

impl Samples {
    pub fn len(&self) -> usize {
        self.end_delta_zigzag.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Name, as in genba.proto, and rows of each column.
    pub fn lengths(&self) -> [(&'static str, usize); COLUMNS] {
        [
            ("end_delta_quanta", self.end_delta_zigzag.len()),
            ("thread", self.thread.len()),
            ("node", self.node.len()),
            ("state", self.state.len()),
            ("ticks", self.ticks.len()),
            ("cpu_quanta", self.cpu_quanta.len()),
            ("wall_quanta", self.wall_quanta.len()),
            ("context", self.context.len()),
        ]
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        let Samples { end_delta_zigzag, thread, node, state, ticks, cpu_quanta, wall_quanta, context } = self;
        let columns = [end_delta_zigzag, thread, node, state, ticks, cpu_quanta, wall_quanta, context];
        columns.into_iter().map(|column| column.memory_bytes() as u64).sum()
    }

    /// Each sample's end as the difference to the one before.
    pub fn end_deltas_quanta(&self) -> impl Iterator<Item = i64> + '_ {
        self.end_delta_zigzag.iter().map(unzigzag)
    }

    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        (0..self.len()).map(|row| Row {
            // All but times are 32 bits wide in genba.proto.
            thread: self.thread.at(row) as u32,
            node: self.node.at(row) as u32,
            state: self.state.at(row) as u32,
            ticks: self.ticks.at(row) as u32,
            cpu_quanta: self.cpu_quanta.at(row),
            wall_quanta: self.wall_quanta.at(row),
            context: self.context.at(row) as u32,
        })
    }

    /// As it is stored.
    pub fn to_proto(&self) -> proto::Samples {
        proto::Samples {
            end_delta_quanta: self.end_deltas_quanta().collect(),
            thread: self.thread.narrow(),
            node: self.node.narrow(),
            state: self.state.narrow(),
            ticks: self.ticks.narrow(),
            cpu_quanta: self.cpu_quanta.iter().collect(),
            wall_quanta: self.wall_quanta.iter().collect(),
            context: if self.context.max() == 0 { Vec::new() } else { self.context.narrow() },
        }
    }
}

impl From<&proto::Samples> for Samples {
    fn from(samples: &proto::Samples) -> Self {
        let wide = |values: &[u32]| Column::of(&values.iter().copied().map(u64::from).collect::<Vec<_>>());
        let zigzag: Vec<u64> = samples.end_delta_quanta.iter().copied().map(zigzag).collect();
        Samples {
            end_delta_zigzag: Column::of(&zigzag),
            thread: wide(&samples.thread),
            node: wide(&samples.node),
            state: wide(&samples.state),
            ticks: wide(&samples.ticks),
            cpu_quanta: Column::of(&samples.cpu_quanta),
            wall_quanta: Column::of(&samples.wall_quanta),
            context: if samples.context.is_empty() {
                Column::Same { value: 0, rows: zigzag.len() }
            } else {
                wide(&samples.context)
            },
        }
    }
}

/// A field that no column can be made of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub field: String,
    pub expected: String,
    pub found: String,
}

/// A block and its samples apart.
pub(crate) fn decode(plain: &[u8]) -> Result<(proto::Block, Option<Samples>), Malformed> {
    let mut block = proto::Block::decode(plain).map_err(|error| Malformed {
        field: "payload".to_owned(),
        expected: "a message Block".to_owned(),
        found: error.to_string(),
    })?;
    let samples = match (block.samples.take(), block.columns.take()) {
        (samples, None) => samples.as_ref().map(Samples::from),
        (None, Some(columns)) => Some(of_planes(&columns)?),
        (Some(_), Some(_)) => {
            return Err(malformed("", "columns or samples".to_owned(), "both".to_owned()));
        }
    };
    Ok((block, samples))
}

fn of_planes(columns: &proto::Columns) -> Result<Samples, Malformed> {
    let rows = columns.rows as usize;
    // So that each row has a byte, and memory is taken for what is there.
    if columns.end_delta.len() < rows {
        let expected = format!("at least {rows} bytes");
        return Err(malformed(".end_delta", expected, format!("{}", columns.end_delta.len())));
    }
    let end_delta_zigzag = column(".end_delta", &columns.end_delta, rows, 8)?;
    let thread = column(".thread", &columns.thread, rows, 4)?;
    let state = column(".state", &columns.state, rows, 4)?;
    let wall_lack = column(".wall_lack", &columns.wall_lack, rows, 8)?;
    let cpu_lack = column(".cpu_lack", &columns.cpu_lack, rows, 8)?;
    let mut ends = LastEnds::new(thread.max());
    let mut end_quanta = 0_i64;
    let mut wall = Vec::with_capacity(rows);
    let mut cpu = Vec::with_capacity(rows);
    for row in 0..rows {
        end_quanta = end_quanta.wrapping_add(unzigzag(end_delta_zigzag.at(row)));
        let since = ends.since(thread.at(row), end_quanta);
        let wall_quanta = since.wrapping_sub(unzigzag(wall_lack.at(row)) as u64);
        let ran = if state.at(row) < WAITING_MIN { wall_quanta } else { 0 };
        wall.push(wall_quanta);
        cpu.push(ran.wrapping_sub(unzigzag(cpu_lack.at(row)) as u64));
    }
    Ok(Samples {
        node: nodes(columns, rows)?,
        ticks: column(".ticks", &columns.ticks, rows, 4)?,
        context: column(".context", &columns.context, rows, 4)?,
        cpu_quanta: Column::of(&cpu),
        wall_quanta: Column::of(&wall),
        end_delta_zigzag,
        thread,
        state,
    })
}

fn nodes(columns: &proto::Columns, rows: usize) -> Result<Column, Malformed> {
    let distinct = columns.distinct as usize;
    if columns.distinct_delta.len() < distinct {
        let found = format!("{}", columns.distinct_delta.len());
        return Err(malformed(".distinct_delta", format!("at least {distinct} bytes"), found));
    }
    let deltas = column(".distinct_delta", &columns.distinct_delta, distinct, 4)?;
    let mut nodes = Vec::with_capacity(distinct);
    let mut node = 0;
    for delta in deltas.iter() {
        node += delta;
        nodes.push(node);
    }
    if node > u64::from(u32::MAX) {
        return Err(malformed(".distinct_delta", "a sum below 2^32".to_owned(), format!("{node}")));
    }
    let indices = column(".node", &columns.node, rows, 4)?;
    if rows > 0 && indices.max() >= distinct as u64 {
        return Err(malformed(".node", format!("an index below {distinct}"), format!("{}", indices.max())));
    }
    let node = |index: u64| nodes.get(index as usize).copied().unwrap_or(0);
    Ok(match indices {
        Column::Same { value, rows } => Column::Same { value: node(value), rows },
        _ => Column::of(&indices.iter().map(node).collect::<Vec<_>>()),
    })
}

/// The planes of `rows` numbers put together again, in the form that `Column::of` gives them.
fn column(name: &str, planes: &[u8], rows: usize, planes_max: usize) -> Result<Column, Malformed> {
    let count = planes.len().checked_div(rows).unwrap_or(0);
    if count * rows != planes.len() || count > planes_max {
        let expected = format!("0 to {planes_max} bytes a row of {rows}");
        return Err(malformed(name, expected, format!("{} bytes", planes.len())));
    }
    let highest = planes.get(planes.len() - rows.min(planes.len())..).unwrap_or_default();
    if count > 1 && highest.iter().all(|byte| *byte == 0) {
        return Err(malformed(name, "a highest plane that is not all 0".to_owned(), format!("{count} planes")));
    }
    let number =
        |row: usize| planes.iter().skip(row).step_by(rows).rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
    let same = || planes.chunks(rows.max(1)).all(|plane| plane.iter().all(|byte| Some(byte) == plane.first()));
    Ok(match count {
        _ if same() => Column::Same { value: if rows > 0 { number(0) } else { 0 }, rows },
        1 => Column::Bytes(planes.into()),
        2 => {
            let (low, high) = planes.split_at(rows);
            Column::Words(low.iter().zip(high).map(|(low, high)| u16::from_le_bytes([*low, *high])).collect())
        }
        3..=4 => Column::Longs((0..rows).map(|row| number(row) as u32).collect()),
        _ => Column::Wide((0..rows).map(number).collect()),
    })
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

fn malformed(column: &str, expected: String, found: String) -> Malformed {
    Malformed { field: format!("columns{column}"), expected, found }
}

#[cfg(test)]
mod tests {
    use super::{Column, Malformed, Samples, decode};
    use crate::{planes, proto};
    use prost::Message;

    fn samples(values: &[u64]) -> proto::Samples {
        let narrow: Vec<u32> = values.iter().map(|value| *value as u32).collect();
        proto::Samples {
            end_delta_quanta: values.iter().map(|value| *value as i64 - 3).collect(),
            thread: vec![0; values.len()],
            node: narrow.clone(),
            state: vec![300; values.len()],
            ticks: narrow,
            cpu_quanta: values.to_vec(),
            wall_quanta: values.iter().rev().copied().collect(),
            context: Vec::new(),
        }
    }

    /// What was planes is what protobuf's vectors give, and the way back agrees.
    #[track_caller]
    fn check(stored: &proto::Samples) {
        let long = Samples::from(stored);
        assert_eq!(&long.to_proto(), stored);
        let accounting = Some(proto::Accounting { ticks: 7, ..Default::default() });
        let others = proto::Block { accounting, ..Default::default() };
        let first = proto::Block { samples: Some(stored.clone()), ..others.clone() };
        assert_eq!(decode(&first.encode_to_vec()), Ok((others.clone(), Some(long.clone()))));
        let columns = planes::columns(stored).expect("columns of one length");
        let second = proto::Block { columns: Some(columns.clone()), ..others.clone() };
        assert_eq!(decode(&second.encode_to_vec()), Ok((others.clone(), Some(long))));
        let (mut plain, mut ends) = (others.encode_to_vec(), Vec::new());
        planes::encode(&columns, &mut plain, &mut ends);
        assert_eq!(plain, second.encode_to_vec());
        assert_eq!(ends.last(), (columns.rows > 0).then_some(&plain.len()));
    }

    #[test]
    fn every_width_comes_back() {
        for values in [vec![], vec![5], vec![5; 9], vec![0, 127], vec![1, 128, 255], vec![1, 65_535], vec![2, 65_536]] {
            check(&samples(&values));
        }
        check(&proto::Samples { cpu_quanta: vec![1, u64::MAX], ..samples(&[1, 2]) });
        check(&proto::Samples { context: vec![0, 70_000, 3], ..samples(&[1, 2, 3]) });
        check(&proto::Samples { end_delta_quanta: vec![i64::MIN, i64::MAX, -1, 0], ..samples(&[0, 1, 2, 3]) });
    }

    #[test]
    fn sums_and_maxima_are_those_of_the_numbers() {
        for values in [vec![], vec![4; 3], vec![1, 200], vec![1, 2_000], vec![1, 200_000], vec![1, u64::MAX]] {
            let column = Column::of(&values);
            assert_eq!(column.iter().collect::<Vec<_>>(), values);
            assert_eq!(column.max(), values.iter().copied().max().unwrap_or(0));
            assert_eq!(column.sum(), values.iter().copied().map(u128::from).sum());
            assert_eq!(column.at(values.len()), 0);
        }
    }

    #[test]
    fn threads_are_apart_and_those_who_wait_have_no_cpu() {
        let stored = proto::Samples {
            end_delta_quanta: vec![62, 0, 63, -1, 62, 5],
            thread: vec![0, 1, 0, 1, u32::MAX, 65_536],
            node: vec![1; 6],
            state: vec![0, 2, 1, 16, 0, 0],
            ticks: vec![1; 6],
            cpu_quanta: vec![62, 0, 60, 0, 1, 0],
            wall_quanta: vec![62, 62, 63, 62, 186, 191],
            context: Vec::new(),
        };
        check(&stored);
        let columns = planes::columns(&stored).expect("columns of one length");
        // Each sample's time is the time since the thread's one before; the last two threads have none that is remembered.
        assert_eq!(columns.wall_lack, []);
        assert_eq!(columns.cpu_lack, [0, 0, 3 * 2, 0, 0x72, 0x7e, 0, 0, 0, 0, 1, 1]);
    }

    #[test]
    fn what_is_cut_is_an_error() {
        let columns = planes::columns(&samples(&[1, 2, 300]));
        let whole = proto::Block { columns, ..Default::default() }.encode_to_vec();
        for length in 1..whole.len() {
            assert!(decode(&whole[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn planes_that_do_not_fit_are_named() {
        let good = planes::columns(&samples(&[1, 2, 300])).expect("columns of one length");
        let found = |break_it: fn(&mut proto::Columns)| {
            let mut columns = good.clone();
            break_it(&mut columns);
            let wrong = decode(&proto::Block { columns: Some(columns), ..Default::default() }.encode_to_vec());
            let Malformed { field, expected, found } = wrong.expect_err("it is broken");
            format!("{field}: expected {expected}, found {found}")
        };
        assert_eq!(found(|it| it.rows = u32::MAX), "columns.end_delta: expected at least 4294967295 bytes, found 6");
        assert_eq!(found(|it| it.rows = 0), "columns.end_delta: expected 0 to 8 bytes a row of 0, found 6 bytes");
        assert_eq!(found(|it| it.node.push(1)), "columns.node: expected 0 to 4 bytes a row of 3, found 4 bytes");
        assert_eq!(
            found(|it| it.state = vec![1; 15]),
            "columns.state: expected 0 to 4 bytes a row of 3, found 15 bytes"
        );
        assert_eq!(
            found(|it| it.ticks = vec![1, 1, 1, 0, 0, 0]),
            "columns.ticks: expected a highest plane that is not all 0, found 2 planes"
        );
        assert_eq!(found(|it| it.distinct = 9), "columns.distinct_delta: expected at least 9 bytes, found 6");
        assert_eq!(found(|it| it.node[0] = 3), "columns.node: expected an index below 3, found 3");
        assert_eq!(
            found(|it| (it.distinct, it.distinct_delta) = (2, vec![255; 8])),
            "columns.distinct_delta: expected a sum below 2^32, found 8589934590"
        );
        let samples = Some(proto::Samples::default());
        let both = proto::Block { columns: Some(good), samples, ..Default::default() };
        let wrong = decode(&both.encode_to_vec()).expect_err("one of them is too much");
        assert_eq!((wrong.field.as_str(), wrong.found.as_str()), ("columns", "both"));
    }
}
