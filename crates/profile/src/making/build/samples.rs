//! Adds up the samples of a process: one group for each (stack, thread, state, context), or two where a window cuts it.
//! Owns: quanta into nanoseconds. Never: allocates per sample (most only find their
//! group and add to it); overflows on numbers that no program can have spent.

use foldhash::HashMap;

use genba_format::columns::{Row, Samples};
use genba_format::{QUANTUM_NS, ReadBlock};

use crate::making::build::contexts::Contexts;
use crate::making::build::overlaps::{Span, Spans};
use crate::making::build::paths::Paths;
use crate::making::build::stacks::Stacks;
use crate::tables::profile::{FrameKind, NodeIndex, ProcessIndex, Profile, SampleGroup, Thread, ThreadIndex};
use crate::tables::stored::Stored;
use crate::tables::window::Window;
use genba_format::state::State;

/// Stored numbers; the node is index + 1, 0 for none.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    node: u32,
    thread: u32,
    state: u32,
    /// Index + 1.
    context: u32,
    in_window: bool,
}

impl Key {
    pub(super) const fn of(row: &Row, in_window: bool) -> Key {
        Key { node: row.node, thread: row.thread, state: row.state, context: row.context, in_window }
    }

    /// The same, within the window or without.
    fn is_beside(&self, other: &Key) -> bool {
        *self == Key { in_window: self.in_window, ..*other }
    }
}

#[derive(Clone, Copy, Default)]
struct Sum {
    samples: u64,
    ticks: u64,
    cpu_quanta: u64,
    cpu_us2: u64,
    wall_quanta: u64,
    waits: u64,
}

/// The groups of one process key; `sums` has all its samples. Gives the position of the group of each row of `sums`.
/// CPU of genba's own work within collections moves from the samples to genba's: the program waits for it as for any other work of genba's.
pub fn add(
    stored: &Stored,
    sums: &mut Sums,
    process: ProcessIndex,
    threads: &HashMap<u32, ThreadIndex>,
    contexts: &Contexts,
    stacks: &mut Stacks,
    profile: &mut Profile,
) -> Vec<usize> {
    let mut nameless: HashMap<u32, ThreadIndex> = HashMap::default();
    // Two stored stacks may be one here (other instructions of the same expression): add those up too.
    let mut group_of = HashMap::default();
    let mut group_of_row: Vec<usize> = Vec::with_capacity(sums.rows.len());
    let nodes = nodes(sums, stacks, profile);
    sums.are_genbas = are_genbas(stored, sums, stacks);
    let mut genbas_ns = 0_u64;
    for ((&(key, mut sum), node), &is_genbas) in sums.rows.iter().zip(nodes).zip(&sums.are_genbas) {
        if is_genbas {
            genbas_ns = genbas_ns.saturating_add(sum.cpu_quanta.saturating_mul(QUANTUM_NS));
            (sum.cpu_quanta, sum.cpu_us2) = (0, 0);
        }
        let thread = threads.get(&key.thread).copied().unwrap_or_else(|| {
            *nameless.entry(key.thread).or_insert_with(|| {
                profile.threads.push(Thread {
                    process,
                    tid: None,
                    name: None,
                    kernel_name: None,
                    former_names: Vec::new(),
                    start_ns: None,
                    cpu_ns: None,
                    cpu_not_sampled_ns: None,
                    turns: None,
                    cpu_queue_ns: None,
                    ended: false,
                })
            })
        });
        let state = State::from_stored(key.state);
        let context = contexts.get(key.context);
        let group = *group_of.entry((node, thread, state, context, key.in_window)).or_insert_with(|| {
            profile.samples.push(SampleGroup::of(node, thread, state, context, key.in_window));
            profile.samples.len() - 1
        });
        group_of_row.push(group);
        let group = &mut profile.samples[group];
        group.samples = group.samples.saturating_add(sum.samples);
        group.ticks = group.ticks.saturating_add(sum.ticks);
        group.cpu_ns = group.cpu_ns.saturating_add(sum.cpu_quanta.saturating_mul(QUANTUM_NS));
        group.cpu_us2 = group.cpu_us2.saturating_add(sum.cpu_us2);
        group.waits = group.waits.saturating_add(sum.waits);
        group.wall_ns = group.wall_ns.saturating_add(sum.wall_quanta.saturating_mul(QUANTUM_NS));
    }
    let clocks = &mut profile.processes[process].clocks;
    let moved_ns = genbas_ns.min(clocks.cpu_sampled_ns);
    clocks.cpu_sampled_ns -= moved_ns;
    clocks.cpu_genba_ns = clocks.cpu_genba_ns.saturating_add(moved_ns);
    add_overlaps(stored, sums, &group_of_row, profile);
    group_of_row
}

/// For each row of `sums`, whether it is work that genba does within a collection: in the functions that the collector calls, walks of the heap
/// among them. Those functions are there only where collections are recorded.
fn are_genbas(stored: &Stored, sums: &Sums, stacks: &Stacks) -> Vec<bool> {
    let are_recorded = stored.blocks.iter().any(|read| read.block.collector.is_some());
    let is_genbas = |key: &Key| {
        let leaf = key.node.checked_sub(1).filter(|_| State::from_stored(key.state) == State::InGc);
        leaf.is_some_and(|leaf| stacks.is_within_own_library(leaf))
    };
    sums.rows.iter().map(|(key, _)| are_recorded && is_genbas(key)).collect()
}

/// Of each row of `sums`.
fn nodes(sums: &Sums, stacks: &mut Stacks, profile: &mut Profile) -> Vec<Option<NodeIndex>> {
    let mut of_python_alone = Vec::new();
    let mut nodes: Vec<_> = Vec::with_capacity(sums.rows.len());
    for (position, (key, _)) in sums.rows.iter().enumerate() {
        let leaf = key.node.checked_sub(1);
        let waits_for_cpu = State::from_stored(key.state) == State::WaitingForCpu;
        let frames = leaf.filter(|_| waits_for_cpu).and_then(|leaf| stacks.of_python_alone(leaf, profile));
        of_python_alone.extend(frames.map(|frames| (position, frames)));
        let is_last_known = of_python_alone.last().is_some_and(|(last, _)| *last == position);
        nodes.push(leaf.filter(|_| !is_last_known).map(|leaf| stacks.node(leaf, profile)));
    }
    if !of_python_alone.is_empty() {
        let mut paths = Paths::default();
        let with_c = nodes.iter().flatten().filter(|node| begins_in_c(**node, profile));
        with_c.for_each(|node| paths.add(*node, profile));
        for (position, frames) in of_python_alone {
            nodes[position] = paths.joined(&frames, stacks, profile);
        }
    }
    nodes
}

/// Of a stack that was cut somewhere, nobody knows where its outermost frames belong.
fn begins_in_c(leaf: NodeIndex, profile: &Profile) -> bool {
    let kinds: Vec<FrameKind> = profile.stack(Some(leaf)).map(|frame| profile.frames[frame].kind).collect();
    kinds.last() == Some(&FrameKind::C) && !kinds.contains(&FrameKind::Mark)
}

/// Fills `beside_native_ns`, where there is a thread without Python: a second pass over the samples.
fn add_overlaps(stored: &Stored, sums: &mut Sums, group_of_row: &[usize], profile: &mut Profile) {
    let mut runs: HashMap<u32, (u64, bool)> = HashMap::default();
    for ((key, sum), &group) in sums.rows.iter().zip(group_of_row) {
        let is_python = |frame| profile.frames[frame].kind == FrameKind::Python;
        let (cpu_quanta, python) = runs.entry(key.thread).or_default();
        *cpu_quanta = cpu_quanta.saturating_add(sum.cpu_quanta);
        *python = *python || profile.stack(profile.samples[group].node).any(is_python);
    }
    let is_native = |thread: u32| runs.get(&thread).is_some_and(|(cpu_quanta, python)| *cpu_quanta > 0 && !python);
    if !runs.keys().any(|&thread| is_native(thread)) {
        return;
    }
    let samples = || stored.blocks.iter().filter_map(|read| Some((read.header.start_ns, read.samples.as_ref()?)));
    let span = |end_ns: u64, row: &Row| Span {
        start_ns: end_ns.saturating_sub(row.wall_quanta.saturating_mul(QUANTUM_NS)),
        end_ns,
    };
    let mut native = Spans::default();
    for (start_ns, samples) in samples() {
        for (row, end_ns) in samples.rows().zip(ends_ns(start_ns, samples)) {
            // On a busy machine most of the time of its work is a wait for a CPU. A row of a sleep may hold CPU, too: of the work before it.
            if State::from_stored(row.state).wants_cpu() && is_native(row.thread) {
                native.add(span(end_ns, &row));
            }
        }
    }
    native.settle();
    for (start_ns, samples) in samples() {
        for Piece { row, end_ns, in_window, .. } in pieces(samples, start_ns, sums.window) {
            if is_native(row.thread) {
                continue;
            }
            let position = sums.position(Key::of(&row, in_window));
            if let Some(&group) = group_of_row.get(position) {
                let beside_ns = &mut profile.samples[group].beside_native_ns;
                *beside_ns = beside_ns.saturating_add(native.within_ns(span(end_ns, &row)));
            }
        }
    }
}

/// When each sample was taken, which is the end of the time that it stands for.
pub(super) fn ends_ns(block_start_ns: u64, samples: &Samples) -> impl Iterator<Item = u64> {
    let mut end_quanta = 0_i64;
    samples.end_deltas_quanta().map(move |delta| {
        end_quanta = end_quanta.saturating_add(delta);
        let since_ns = end_quanta.unsigned_abs().saturating_mul(QUANTUM_NS);
        if end_quanta < 0 { block_start_ns.saturating_sub(since_ns) } else { block_start_ns.saturating_add(since_ns) }
    })
}

/// A sample, or what of a waiting one lies on one side of a border of the window.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub row: Row,
    /// In CLOCK_MONOTONIC.
    pub end_ns: u64,
    pub in_window: bool,
    /// The sample itself belongs to the moment in which it ends.
    pub is_last: bool,
}

impl Piece {
    /// Where nobody asks when it was.
    fn whole(row: Row) -> Piece {
        Piece { row, end_ns: 0, in_window: true, is_last: true }
    }
}

/// Of one block. A wait is written as one sample, of up to a block's length: what of it lies within the window is found by the clock.
pub(super) fn pieces(samples: &Samples, start_ns: u64, window: Option<Window>) -> impl Iterator<Item = Piece> {
    samples.rows().zip(ends_ns(start_ns, samples)).flat_map(move |(row, end_ns)| pieces_of(row, end_ns, window))
}

fn pieces_of(row: Row, end_ns: u64, window: Option<Window>) -> impl Iterator<Item = Piece> {
    let is_waiting = State::from_stored(row.state).is_waiting();
    let begin_ns = end_ns.saturating_sub(row.wall_quanta.saturating_mul(QUANTUM_NS));
    let holds = move |at_ns: u64| window.is_none_or(|window| window.holds(at_ns));
    let borders = window.filter(|_| is_waiting).map_or([end_ns; 2], |window| {
        [window.start_ns, window.end_ns.unwrap_or(end_ns)].map(|border_ns| border_ns.clamp(begin_ns, end_ns))
    });
    let (mut left, mut from_ns) = (row, begin_ns);
    let before = borders.map(|border_ns| {
        let wall_quanta = border_ns.saturating_sub(from_ns) / QUANTUM_NS;
        let end_ns = from_ns + wall_quanta * QUANTUM_NS;
        // A border may lie within a quantum.
        let in_window = holds(from_ns + (end_ns - from_ns) / 2);
        if wall_quanta == 0 || wall_quanta >= left.wall_quanta {
            return None;
        }
        let ticks = u128::from(row.ticks) * u128::from(wall_quanta) / u128::from(row.wall_quanta);
        let piece = Row { ticks: u32::try_from(ticks).unwrap_or(left.ticks).min(left.ticks), wall_quanta, ..row };
        (left.wall_quanta, left.ticks, from_ns) = (left.wall_quanta - wall_quanta, left.ticks - piece.ticks, end_ns);
        Some(Piece { row: piece, end_ns, in_window, is_last: false })
    });
    // A wait that ends where the window begins is none of it, and one that ends with the window is.
    let is_cut = is_waiting && from_ns < end_ns;
    let in_window = holds(if is_cut { from_ns + (end_ns - from_ns) / 2 } else { end_ns });
    before.into_iter().flatten().chain([Piece { row: left, end_ns, in_window, is_last: true }])
}

/// The samples of one process key so far: one row for each stored stack, thread, state and context, in the order in which they were met.
#[derive(Default)]
pub struct Sums {
    rows: Vec<(Key, Sum)>,
    /// For each row, whether its CPU is genba's; known once the stacks are.
    are_genbas: Vec<bool>,
    /// Cuts the samples in two; in CLOCK_MONOTONIC.
    window: Option<Window>,
    /// A row stands for as many samples as it has ticks: collapsed stacks are counts.
    counts_ticks: bool,
    samples: usize,
    position_of: HashMap<Key, usize>,
    /// Position in `rows` of the newest key of each slot: most keys are found here, without a hash. It only ever suggests.
    newest: Vec<u32>,
    /// Position in `rows` of each thread's newest sample.
    newest_of_thread: Vec<Option<usize>>,
}

impl Sums {
    const SLOTS_MIN: usize = 1 << 8;
    const SLOTS_MAX: usize = 1 << 19;
    /// A damaged recording may name any thread: the waits of those beyond are not counted.
    const THREADS_MAX: usize = 1 << 16;

    pub fn of(blocks: &[&ReadBlock], window: Option<Window>, counts_ticks: bool) -> Sums {
        let mut sums = Sums { window, counts_ticks, ..Sums::default() };
        sums.make_room(blocks.iter().filter_map(|read| read.samples.as_ref()).map(Samples::len).sum());
        for read in blocks {
            sums.add_block(read);
        }
        sums
    }

    /// The next block of the process key.
    pub fn add_block(&mut self, read: &ReadBlock) {
        let Some(samples) = &read.samples else { return };
        self.samples = self.samples.saturating_add(samples.len());
        self.make_room(self.samples);
        match self.window {
            None => self.add(samples.rows().map(Piece::whole)),
            Some(_) => self.add(pieces(samples, read.header.start_ns, self.window)),
        }
    }

    fn make_room(&mut self, samples: usize) {
        let slots = samples.next_power_of_two().clamp(Self::SLOTS_MIN, Self::SLOTS_MAX);
        if slots > self.newest.len() {
            self.newest = vec![0; slots];
        }
    }

    fn add(&mut self, pieces: impl Iterator<Item = Piece>) {
        let counts_ticks = self.counts_ticks;
        // The same stack often comes many times in a row.
        let mut last: Option<usize> = None;
        for Piece { row, in_window, is_last, .. } in pieces {
            let key = Key::of(&row, in_window);
            let position = match last {
                Some(position) if self.rows[position].0 == key => position,
                _ => self.position(key),
            };
            last = Some(position);
            // A wait that goes on beyond the window's border began once.
            let newest = self.newest_of_thread(row.thread).map(|newest| newest.replace(position));
            let begins = newest.is_some_and(|newest| newest.is_none_or(|newest| !self.rows[newest].0.is_beside(&key)));
            let sum = &mut self.rows[position].1;
            let samples = if counts_ticks { u64::from(row.ticks) } else { u64::from(is_last) };
            sum.samples = sum.samples.saturating_add(samples);
            sum.waits += u64::from(begins && State::from_stored(row.state).is_waiting());
            sum.ticks += u64::from(row.ticks);
            sum.cpu_quanta = sum.cpu_quanta.saturating_add(row.cpu_quanta);
            let cpu_us = row.cpu_quanta.saturating_mul(QUANTUM_NS / 1000);
            sum.cpu_us2 = sum.cpu_us2.saturating_add(cpu_us.saturating_mul(cpu_us));
            sum.wall_quanta = sum.wall_quanta.saturating_add(row.wall_quanta);
        }
    }

    fn newest_of_thread(&mut self, thread: u32) -> Option<&mut Option<usize>> {
        let thread = thread as usize;
        if thread >= self.newest_of_thread.len() && thread < Self::THREADS_MAX {
            self.newest_of_thread.resize(thread + 1, None);
        }
        self.newest_of_thread.get_mut(thread)
    }

    pub(super) fn is_genbas(&self, position: usize) -> bool {
        self.are_genbas.get(position).is_some_and(|is_genbas| *is_genbas)
    }

    /// None: not cut in two.
    pub(super) const fn window(&self) -> Option<Window> {
        self.window
    }

    pub(super) fn position(&mut self, key: Key) -> usize {
        // Neighbouring nodes of one thread in one state never meet; odd factors spread the others.
        let spread = key.thread.wrapping_mul(0x9e37_79b1)
            ^ key.state.wrapping_mul(0x85eb_ca77)
            ^ key.context.wrapping_mul(0xc2b2_ae3d);
        let slot = key.node.wrapping_add(spread) as usize & (self.newest.len() - 1);
        let suggested = self.newest[slot] as usize;
        if self.rows.get(suggested).is_some_and(|(found, _)| *found == key) {
            return suggested;
        }
        let position = *self.position_of.entry(key).or_insert_with(|| {
            self.rows.push((key, Sum::default()));
            self.rows.len() - 1
        });
        self.newest[slot] = u32::try_from(position).unwrap_or(0);
        position
    }
}
