//! How much CPU all processes of a recording used in each second of it, from the blocks as they come.
//! Owns: the division of a block's CPU among the seconds that it spans. Never: reads samples: clocks are exact and cost nothing to add.

use foldhash::HashMap;

use genba_format::{ProcessKey, ReadBlock};

pub const SECOND_NS: u64 = 1_000_000_000;
/// A damaged recording may name any time: CPU behind so many seconds is not told apart.
const SECONDS_MAX: usize = 1 << 20;

#[derive(Default)]
pub struct CpuOverTime {
    begin_ns: Option<u64>,
    end_ns: u64,
    /// The process's clock at the end of its newest block.
    clocks_ns: HashMap<ProcessKey, u64>,
    seconds_ns: Vec<u64>,
}

impl CpuOverTime {
    pub fn add(&mut self, read: &ReadBlock) {
        let Some(accounting) = &read.block.accounting else { return };
        let start = read.block.start.as_ref();
        let before_ns = start.map_or(accounting.cpu_process_ns, |start| start.cpu_before_ns);
        let clock_ns = self.clocks_ns.insert(read.header.process_key, accounting.cpu_process_ns).unwrap_or(before_ns);
        let used_ns = accounting.cpu_process_ns.saturating_sub(clock_ns);
        let (start_ns, end_ns) = (read.header.start_ns, read.header.end_ns);
        let begin_ns = *self.begin_ns.get_or_insert(start_ns);
        self.end_ns = self.end_ns.max(end_ns);
        let span_ns = end_ns.saturating_sub(start_ns).max(1);
        let mut at_ns = start_ns.max(begin_ns);
        let mut left_ns = used_ns;
        while at_ns < end_ns && left_ns > 0 {
            let second = (at_ns - begin_ns) / SECOND_NS;
            let until_ns = begin_ns.saturating_add((second + 1).saturating_mul(SECOND_NS)).min(end_ns);
            let part = u128::from(used_ns) * u128::from(until_ns - at_ns) / u128::from(span_ns);
            let part_ns = if until_ns == end_ns { left_ns } else { left_ns.min(part as u64) };
            let Some(sum_ns) = self.second(second) else { return };
            *sum_ns = sum_ns.saturating_add(part_ns);
            left_ns -= part_ns;
            at_ns = until_ns;
        }
    }

    fn second(&mut self, second: u64) -> Option<&mut u64> {
        let position = usize::try_from(second).ok().filter(|position| *position < SECONDS_MAX)?;
        if position >= self.seconds_ns.len() {
            self.seconds_ns.resize(position + 1, 0);
        }
        self.seconds_ns.get_mut(position)
    }

    /// CPU of each second that is over, the oldest first: `SECOND_NS` is one core. Blocks of some process may still be missing from the last one.
    #[must_use]
    pub fn whole_seconds_ns(&self) -> Vec<u64> {
        let span_ns = self.end_ns.saturating_sub(self.begin_ns.unwrap_or(self.end_ns));
        let count = usize::try_from(span_ns / SECOND_NS).unwrap_or(SECONDS_MAX).min(SECONDS_MAX);
        let mut seconds_ns = self.seconds_ns.clone();
        seconds_ns.resize(count, 0);
        seconds_ns
    }
}

#[cfg(test)]
mod tests {
    use super::{CpuOverTime, SECOND_NS};
    use genba_format::{BlockHeader, ReadBlock, proto};

    /// A block's times in tenths of a second, and the process's CPU clock at its end.
    fn block(key: u8, start: u64, end: u64, cpu: u64) -> ReadBlock {
        let tenth = SECOND_NS / 10;
        let header = BlockHeader {
            version: 3,
            process_key: [key; 16],
            sequence: 0,
            start_ns: 7 * SECOND_NS + start * tenth,
            end_ns: 7 * SECOND_NS + end * tenth,
        };
        let accounting = proto::Accounting { cpu_process_ns: cpu * tenth, ..Default::default() };
        let start = (start == 0).then(proto::Start::default);
        let block = proto::Block { start, accounting: Some(accounting), ..Default::default() };
        ReadBlock { header, block, samples: None, offset: 0, stored_bytes: 0 }
    }

    #[test]
    fn a_block_counts_in_each_second_that_it_spans() {
        let mut over_time = CpuOverTime::default();
        over_time.add(&block(1, 0, 5, 5));
        over_time.add(&block(1, 5, 25, 25));
        assert_eq!(over_time.whole_seconds_ns(), [SECOND_NS, SECOND_NS], "the third second is not over");
        over_time.add(&block(2, 0, 10, 10));
        over_time.add(&block(1, 25, 30, 25));
        assert_eq!(over_time.whole_seconds_ns(), [2 * SECOND_NS, SECOND_NS, SECOND_NS / 2]);
    }

    #[test]
    fn cpu_before_a_block_that_was_lost_is_in_no_second() {
        let mut over_time = CpuOverTime::default();
        over_time.add(&block(1, 20, 30, 900));
        over_time.add(&block(1, 30, 40, 905));
        assert_eq!(over_time.whole_seconds_ns(), [0, SECOND_NS / 2]);
    }
}
