//! Blocks: samples, their accounting and the tables' new rows, appended to the recording by one write each.
//! Owns: the counts of law 1 and law 2 (I-01, I-02), the file. Never: writes a block in two pieces, counts a tick twice.

pub mod depths;
mod marks;

use crate::process::last_words::{self, LastWords};
use crate::system::descriptor::Descriptor;
use crate::system::proc::{clock_ns, monotonic_ns};
use crate::writing::compressor::Compressor;
use crate::writing::outcomes::{Dropped, Refused};
use crate::writing::reaped;
use crate::writing::recorder::depths::Depths;
use crate::writing::tables::Tables;
use crate::writing::time_stamps::Calibration;
use genba_format::measure::{self, Measure, Totals};
use genba_format::state::State;
use genba_format::{BlockHeader, PLAIN_BYTES_MAX, ProcessKey, QUANTUM_NS, VERSION, encode_block, proto};
use std::collections::BTreeMap;

/// More than a sample takes in a block.
const SAMPLE_BYTES: usize = 48;

/// A sample as it is written.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub end_ns: u64,
    pub thread: u32,
    pub node: u32,
    pub state: State,
    pub ticks: u32,
    pub cpu_quanta: u64,
    pub wall_quanta: u64,
}

/// What a sample turns out to stand for besides, once the next look has come.
#[derive(Clone, Copy, Debug)]
pub struct More {
    /// `None`: it ends where it ended.
    pub end_ns: Option<u64>,
    /// Looks that found no more than this: that the thread had ended.
    pub ticks: u32,
    pub cpu_quanta: u64,
    pub wall_quanta: u64,
}

/// Which thread waited where for a lock that which other one held, by their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockWait {
    pub thread: u32,
    pub node: u32,
    pub holder: u32,
}

pub struct Recorder {
    key: ProcessKey,
    sequence: u64,
    file: Option<Descriptor>,
    compressor: Compressor,
    buffer: Vec<u8>,
    start: Option<proto::Start>,
    block_start_ns: u64,
    samples: Vec<Sample>,
    marks: Vec<proto::Mark>,
    pub collections: Vec<proto::Collection>,
    pub collector: Option<proto::Collector>,
    dropped: BTreeMap<Dropped, u64>,
    refused: BTreeMap<Refused, u64>,
    /// Wall time of this block.
    lock_waits: BTreeMap<LockWait, u64>,
    pub depths: Depths,
    /// Looks begun since the start, and those that earlier blocks have accounted for.
    looks: u64,
    looks_accounted: u64,
    cpu_sampled_ns: u64,
    /// Added to this thread's clock, modulo 2^64: of threads before it, less what is another segment's.
    cpu_genba_before_ns: u64,
    /// The process's clock and genba's share as the last block told them.
    clocks_told: (u64, u64),
    clocks_missed: bool,
    wall_not_sampled_ns: u64,
    rss_bytes: u64,
    weights: Vec<proto::Weights>,
    measures: BTreeMap<Measure, Totals>,
    thread_clocks: Vec<proto::ThreadClock>,
    pub handler_tsc: u64,
    pub handler_runs: u64,
    tsc: Calibration,
    /// A thread of the program writes: its CPU is not genba's.
    pub by_program: bool,
    /// A write failed: nothing more is written, not even why. Readers see a recording that stops without an end.
    pub has_stopped: bool,
}

impl Recorder {
    /// When the time stamp counter stood there, not long ago. `None`: it cannot be read.
    #[must_use]
    pub fn moment_ns(&self, tsc: u64) -> Option<u64> {
        self.tsc.moment_ns(tsc)
    }

    #[must_use]
    pub fn new(key: ProcessKey, start: proto::Start) -> Recorder {
        Recorder::with(key, start, Compressor::new())
    }

    /// The next recording, or a forked child's, in the memory of this one. Its file is closed.
    #[must_use]
    pub fn into_next(self, key: ProcessKey, start: proto::Start) -> Recorder {
        let Recorder { compressor, mut buffer, mut samples, mut marks, mut thread_clocks, .. } = self;
        buffer.clear();
        samples.clear();
        marks.clear();
        thread_clocks.clear();
        Recorder { buffer, samples, marks, thread_clocks, ..Recorder::with(key, start, compressor) }
    }

    /// The process's clock as the last block has it.
    #[must_use]
    pub const fn cpu_told_ns(&self) -> u64 {
        self.clocks_told.0
    }

    /// Goes on in the same file under another key, from the present clocks on.
    pub fn begin_segment(&mut self, key: ProcessKey, start: proto::Start) {
        let file = self.take_file();
        let own_ns = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0);
        let next = Recorder::with(key, start, std::mem::take(&mut self.compressor));
        let before = std::mem::replace(self, next);
        self.buffer = before.buffer;
        self.tsc = before.tsc;
        self.has_stopped = before.has_stopped;
        // Less what this thread used before: with its clock added, that is what it used since.
        self.cpu_genba_before_ns = 0_u64.wrapping_sub(own_ns);
        self.set_file(file);
    }

    fn with(key: ProcessKey, start: proto::Start, compressor: Compressor) -> Recorder {
        Recorder {
            key,
            sequence: 0,
            file: None,
            compressor,
            buffer: Vec::new(),
            start: Some(start),
            block_start_ns: monotonic_ns(),
            samples: Vec::new(),
            marks: Vec::new(),
            collections: Vec::new(),
            collector: None,
            dropped: BTreeMap::new(),
            refused: BTreeMap::new(),
            lock_waits: BTreeMap::new(),
            depths: Depths::default(),
            looks: 0,
            looks_accounted: 0,
            cpu_sampled_ns: 0,
            cpu_genba_before_ns: 0,
            clocks_told: (0, 0),
            clocks_missed: false,
            wall_not_sampled_ns: 0,
            rss_bytes: 0,
            weights: Vec::new(),
            measures: BTreeMap::new(),
            thread_clocks: Vec::new(),
            handler_tsc: 0,
            handler_runs: 0,
            tsc: Calibration::now(),
            by_program: false,
            has_stopped: false,
        }
    }

    #[must_use]
    pub const fn key(&self) -> ProcessKey {
        self.key
    }

    pub fn set_file(&mut self, file: Option<Descriptor>) {
        if self.sequence == 0 {
            last_words::set_last_words(None);
        }
        last_words::set_last_file(file.as_ref().map(Descriptor::number));
        self.file = file;
    }

    /// Whether a command holds its lock on the recording. Without a file nobody can tell: then another reason ends it.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.file.as_ref().is_none_or(Descriptor::is_locked_by_another)
    }

    /// Nothing more is written until there is another file.
    pub fn take_file(&mut self) -> Option<Descriptor> {
        last_words::set_last_file(None);
        self.file.take()
    }

    /// A look begins: it will end as part of a sample, dropped or refused.
    pub const fn look(&mut self, ticks: u64) {
        self.looks += ticks;
    }

    /// Any look has begun.
    #[must_use]
    pub const fn has_looked(&self) -> bool {
        self.looks > 0
    }

    /// Its position among those of the next block.
    pub fn sample(&mut self, sample: Sample) -> usize {
        self.cpu_sampled_ns += sample.cpu_quanta * QUANTUM_NS;
        self.samples.push(sample);
        self.samples.len() - 1
    }

    /// The sample at that position stands for so much more.
    pub fn extend(&mut self, position: usize, more: More) {
        let Some(sample) = self.samples.get_mut(position) else { return };
        self.cpu_sampled_ns += more.cpu_quanta * QUANTUM_NS;
        sample.ticks += more.ticks;
        sample.cpu_quanta += more.cpu_quanta;
        sample.wall_quanta += more.wall_quanta;
        sample.end_ns = more.end_ns.unwrap_or(sample.end_ns);
    }

    pub fn dropped(&mut self, why: Dropped, ticks: u64) {
        *self.dropped.entry(why).or_default() += ticks;
    }

    pub fn refused(&mut self, why: Refused, ticks: u64) {
        *self.refused.entry(why).or_default() += ticks;
    }

    pub const fn wall_not_sampled(&mut self, wall_ns: u64) {
        self.wall_not_sampled_ns += wall_ns;
    }

    /// What a measure gave, for the next block: at most one message of a kind.
    pub fn weigh(&mut self, weights: proto::Weights) {
        self.weights.push(weights);
    }

    /// The totals of a measure, as of now.
    pub fn measure(&mut self, measure: Measure, totals: Totals) {
        self.measures.insert(measure, totals);
    }

    pub fn thread_clock(&mut self, clock: proto::ThreadClock) {
        self.thread_clocks.push(clock);
    }

    /// What handlers measured of themselves, in all.
    #[must_use]
    pub fn handler_ns(&self) -> u64 {
        self.tsc.to_ns(self.handler_tsc)
    }

    /// The sampler's thread ends: its CPU goes on counting as genba's.
    pub fn thread_ends(&mut self) -> u64 {
        let own_ns = clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0);
        self.cpu_genba_before_ns = self.cpu_genba_before_ns.wrapping_add(own_ns);
        own_ns
    }

    /// It does not end after all: `own_ns` is what `thread_ends` said.
    pub const fn thread_goes_on(&mut self, own_ns: u64) {
        self.cpu_genba_before_ns = self.cpu_genba_before_ns.wrapping_sub(own_ns);
    }

    /// The first block is written.
    #[must_use]
    pub const fn is_started(&self) -> bool {
        self.start.is_none()
    }

    /// There is something that a block would tell.
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.samples.is_empty()
            || !self.weights.is_empty()
            || !self.marks.is_empty()
            || !self.collections.is_empty()
            || self.collector.is_some()
            || !self.dropped.is_empty()
            || !self.refused.is_empty()
            || reaped::any()
    }

    /// The next block is as large as one may well be: readers refuse one of more than `PLAIN_BYTES_MAX`. What a single look adds, and what
    /// is told of threads at its end, is far less than the other half.
    #[must_use]
    pub const fn is_block_full(&self, tables: &Tables) -> bool {
        let bytes = tables.new_bytes()
            + self.samples.len() * SAMPLE_BYTES
            + (self.marks.len() + 2 * self.collections.len()) * SAMPLE_BYTES;
        bytes > PLAIN_BYTES_MAX as usize / 2
    }

    /// Writes one block. `looks_open`: looks whose end is still to come.
    pub fn flush(&mut self, tables: &mut Tables, looks_open: u64, end: Option<&str>) {
        self.mark_lock_waits();
        self.marks.extend(self.depths.take_marks());
        let end_ns = monotonic_ns();
        let ticks = self.looks - looks_open - self.looks_accounted;
        self.looks_accounted += ticks;
        // The order matters: the process clock last, so that it is not behind its parts.
        let (cpu_process_ns, cpu_genba_ns) = self.clocks();
        let accounting = proto::Accounting {
            ticks,
            sampled: self.samples.iter().map(|sample| u64::from(sample.ticks)).sum(),
            dropped: counts(std::mem::take(&mut self.dropped).into_iter().map(|(why, n)| (why.word(), n))),
            refused: counts(std::mem::take(&mut self.refused).into_iter().map(|(why, n)| (why.word(), n))),
            cpu_process_ns,
            cpu_genba_ns,
            cpu_sampled_ns: self.cpu_sampled_ns,
            cpu_not_sampled_ns: cpu_process_ns.saturating_sub(cpu_genba_ns + self.cpu_sampled_ns),
            wall_not_sampled_ns: self.wall_not_sampled_ns,
            thread_clocks: std::mem::take(&mut self.thread_clocks),
            rss_bytes: self.rss_bytes,
            handler_ns: self.handler_ns(),
            handler_runs: self.handler_runs,
            cpu_reaped_ns: reaped::cpu_ns(),
            measures: self.measures.iter().map(|(measure, totals)| measure::told(*measure, *totals)).collect(),
        };
        let block = proto::Block {
            start: self.start.take(),
            tables: Some(tables.take()),
            samples: Some(self.columns()),
            weights: std::mem::take(&mut self.weights),
            accounting: Some(accounting),
            marks: std::mem::take(&mut self.marks),
            collections: std::mem::take(&mut self.collections),
            collector: self.collector.take(),
            reaped: reaped::take(),
            end: end.map(|why| proto::End { why: why.to_owned() }),
            ..proto::Block::default()
        };
        self.samples.clear();
        self.write(block, end_ns);
        self.block_start_ns = end_ns;
    }

    /// This process will not be sampled.
    pub fn refuse(&mut self, why: &str) {
        if let Some(start) = &mut self.start {
            why.clone_into(&mut start.refused);
        }
    }

    /// The process's clock and genba's share of it. A seccomp filter may forbid them: then what was told, and what is in samples.
    fn clocks(&mut self) -> (u64, u64) {
        let own_ns = if self.by_program { Some(0) } else { clock_ns(libc::CLOCK_THREAD_CPUTIME_ID) };
        let own_ns = own_ns.map(|own_ns| self.cpu_genba_before_ns.wrapping_add(own_ns));
        let process_ns = clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID);
        if let (Some(process_ns), Some(own_ns)) = (process_ns, own_ns) {
            self.clocks_told = (process_ns, own_ns);
            return self.clocks_told;
        }
        if !self.clocks_missed {
            self.clocks_missed = true;
            let text = "the kernel does not tell CPU time any more (a seccomp filter): later CPU times are those of the samples";
            self.mark(proto::MarkKind::Note, text, 0);
        }
        let (process_ns, own_ns) = self.clocks_told;
        (process_ns.max(own_ns + self.cpu_sampled_ns), own_ns)
    }

    /// Writes the one block of a process that is not sampled.
    pub fn announce(&mut self) {
        let end_ns = monotonic_ns();
        let block = proto::Block {
            start: self.start.take(),
            end: Some(proto::End { why: "refused".to_owned() }),
            ..proto::Block::default()
        };
        self.write(block, end_ns);
    }

    fn columns(&self) -> proto::Samples {
        let mut columns = proto::Samples::default();
        let mut before = self.block_start_ns / QUANTUM_NS;
        for sample in &self.samples {
            let end = sample.end_ns / QUANTUM_NS;
            columns.end_delta_quanta.push(end as i64 - before as i64);
            before = end;
            columns.thread.push(sample.thread);
            columns.node.push(sample.node);
            columns.state.push(sample.state.stored());
            columns.ticks.push(sample.ticks);
            columns.cpu_quanta.push(sample.cpu_quanta);
            columns.wall_quanta.push(sample.wall_quanta);
        }
        columns
    }

    /// Appends `block` to `out` as number `sequence`. False: it is too large.
    fn encode(&mut self, block: proto::Block, sequence: u64, end_ns: u64, out: &mut Vec<u8>) -> bool {
        let header = BlockHeader {
            version: VERSION,
            process_key: self.key,
            sequence,
            start_ns: self.block_start_ns.min(end_ns),
            end_ns,
        };
        let compressor = &mut self.compressor;
        let mut failed = false;
        let mut compress = |pieces: &[&[u8]]| {
            compressor.compress(pieces).unwrap_or_else(|| {
                failed = true;
                Vec::new()
            })
        };
        let encoded = encode_block(&header, block, &mut compress, out);
        encoded.is_ok() && !failed
    }

    fn write(&mut self, block: proto::Block, end_ns: u64) {
        if self.has_stopped {
            return;
        }
        let is_last = block.end.is_some();
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        if self.encode(block, self.sequence, end_ns, &mut buffer) {
            // Made while those before still hold: there may be no memory for them.
            let words = if is_last { None } else { self.last_words(end_ns) };
            self.append(&buffer, words);
        } else {
            self.has_stopped = true;
        }
        self.buffer = buffer;
    }

    fn append(&mut self, block: &[u8], words: Option<Box<LastWords>>) {
        let Some(file) = &self.file else {
            self.has_stopped = true;
            return;
        };
        if file.write(block).is_ok() {
            self.sequence += 1;
            last_words::set_last_words(words);
        } else {
            self.has_stopped = true;
        }
    }

    /// What is written behind the next block instead of another one, if there is no memory to make that.
    fn last_words(&mut self, at_ns: u64) -> Option<Box<LastWords>> {
        let text = "no memory was left (a limit such as RLIMIT_AS)".to_owned();
        let mark = proto::Mark { at_ns, kind: proto::MarkKind::Stopped as i32 as u32, text, ..proto::Mark::default() };
        let end = Some(proto::End { why: "no memory".to_owned() });
        let block = proto::Block { marks: vec![mark], end, ..proto::Block::default() };
        let mut words = Box::<LastWords>::default();
        self.encode(block, self.sequence + 1, at_ns, &mut words.0).then_some(words)
    }
}

fn counts(counts: impl Iterator<Item = (&'static str, u64)>) -> Vec<proto::Count> {
    counts.map(|(reason, ticks)| proto::Count { reason: reason.to_owned(), ticks }).collect()
}
