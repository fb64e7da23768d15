//! Who calls and jumps to whom, read from the instructions.
//! Owns: edges between extents and addresses of functions that are used other than by a call. Never: follows indirect
//! calls; a function whose address is taken may have callers that are not seen, and says so.
//! Keeps: code outside all extents counts as an unknown caller. Of a function that BOLT moved, the old place is no code any more but a
//! jump to the new one: what leads there leads on.

use crate::file::cells::Cells;
use crate::file::elf::Image;
use crate::file::extents::{ExtentIndex, Extents};
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};
use std::collections::HashMap;
use std::iter;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EdgeKind {
    Call,
    Jump,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    pub to: u64,
    /// `None`: from code that no extent describes.
    pub from: Option<ExtentIndex>,
    pub kind: EdgeKind,
}

#[derive(Default)]
pub(crate) struct Flow {
    /// By target; an edge that stays within one extent is left out.
    edges: Vec<Edge>,
    /// How many edges lead to what is before an extent, one entry an extent.
    edges_before: Vec<usize>,
    /// First addresses of extents that something points to. Sorted.
    taken: Vec<u64>,
}

/// A file with more code than this is not disassembled: it would take longer than the rest of a run's end.
const CODE_BYTES_MAX: u64 = 64 << 20;
/// To read less is done sooner than to begin a thread for it.
const PART_BYTES_MIN: u64 = 512 << 10;

impl Flow {
    /// `None`: the file has too much code to be read in the time there is.
    pub fn read(image: &Image<'_>, extents: &Extents<'_>, cells: &Cells<'_>) -> Option<Self> {
        let code_bytes: u64 = image.code_sections().map(|section| section.bytes.len() as u64).sum();
        if code_bytes > CODE_BYTES_MAX {
            return None;
        }
        let moved = moved_functions(image, extents);
        let is_alive = |stretch: &Stretch<'_>| !moved.contains_key(&stretch.address);
        let stretches: Vec<Stretch<'_>> = stretches_of(image, extents).filter(is_alive).collect();
        let mut flow = Flow::default();
        for part in side_by_side(&stretches, code_bytes, &|part| Flow::of(part, image, extents)) {
            flow.edges.extend(part.edges);
            flow.taken.extend(part.taken);
        }
        flow.taken.extend(
            cells
                .addresses()
                .into_iter()
                .map(|(_, address)| address)
                .filter(|&address| extents.starting_at(address).is_some()),
        );
        let now_at = |address: &mut u64| *address = moved.get(address).copied().unwrap_or(*address);
        flow.edges.iter_mut().for_each(|edge| now_at(&mut edge.to));
        flow.taken.iter_mut().for_each(now_at);
        flow.taken.sort_unstable();
        flow.taken.dedup();
        flow.edges.sort_unstable_by_key(|edge| edge.to);
        let mut before = 0;
        let edges_before = extents.all().iter().map(|extent| {
            before += flow.edges[before..].iter().take_while(|edge| edge.to < extent.start).count();
            before
        });
        flow.edges_before = edges_before.collect();
        Some(flow)
    }

    /// Calls and jumps from elsewhere to any place of an extent.
    pub fn edges_to(&self, extents: &Extents<'_>, index: ExtentIndex) -> &[Edge] {
        let end = extents.get(index).end;
        let from_here = &self.edges[self.edges_before[index.position()]..];
        &from_here[..from_here.iter().take_while(|edge| edge.to < end).count()]
    }

    pub fn is_address_taken(&self, start: u64) -> bool {
        self.taken.binary_search(&start).is_ok()
    }

    fn of(stretches: &[Stretch<'_>], image: &Image<'_>, extents: &Extents<'_>) -> Self {
        let mut flow = Flow::default();
        for stretch in stretches {
            flow.read_stretch(image, extents, stretch);
        }
        flow
    }

    fn read_stretch(&mut self, image: &Image<'_>, extents: &Extents<'_>, stretch: &Stretch<'_>) {
        let &Stretch { from, address, bytes } = stretch;
        let end = address + bytes.len() as u64;
        let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            if instruction.is_invalid() {
                continue;
            }
            if instruction.op0_kind() == OpKind::NearBranch64 {
                let to = instruction.near_branch64();
                if !(address..end).contains(&to) {
                    let kind = if instruction.mnemonic() == Mnemonic::Call { EdgeKind::Call } else { EdgeKind::Jump };
                    self.edges.push(Edge { to, from, kind });
                }
                continue;
            }
            let used = if instruction.is_ip_rel_memory_operand() {
                Some(instruction.ip_rel_memory_address())
            } else if image.position_independent {
                None
            } else {
                immediate_of(&instruction)
            };
            if let Some(used) = used.filter(|&used| extents.starting_at(used).is_some()) {
                self.taken.push(used);
            }
        }
    }
}

/// Code of one extent, or of the gap up to the next one.
#[derive(Clone, Copy)]
struct Stretch<'a> {
    from: Option<ExtentIndex>,
    address: u64,
    bytes: &'a [u8],
}

fn stretches_of<'a>(image: &'a Image<'_>, extents: &'a Extents<'_>) -> impl Iterator<Item = Stretch<'a>> {
    let sections = image.code_sections().filter(|section| !section.name.starts_with(b".plt"));
    sections.flat_map(move |section| {
        let mut rest = section.bytes;
        let mut address = section.start;
        iter::from_fn(move || {
            let section_end = address + rest.len() as u64;
            let (from, end) = stretch_at(extents, address, section_end);
            let (bytes, after) =
                rest.split_at_checked(usize::try_from(end - address).ok()?).filter(|_| !rest.is_empty())?;
            let stretch = Stretch { from, address, bytes };
            (address, rest) = (end, after);
            Some(stretch)
        })
    })
}

/// Functions that BOLT moved: the old first address, where it left a jump, and the new one.
fn moved_functions(image: &Image<'_>, extents: &Extents<'_>) -> HashMap<u64, u64> {
    const JUMP: u8 = 0xe9;
    let Some((start, bytes)) = image.section(".bolt.org.text") else { return HashMap::new() };
    let original = start..start + bytes.len() as u64;
    let moved_to = |old: u64| {
        let code = bytes.get(usize::try_from(old - start).ok()?..)?.first_chunk::<5>()?;
        let [JUMP, a, b, c, d] = *code else { return None };
        let new = (old + 5).wrapping_add_signed(i64::from(i32::from_le_bytes([a, b, c, d])));
        (!original.contains(&new) && extents.starting_at(new).is_some()).then_some((old, new))
    };
    let first = extents.all().partition_point(|extent| extent.start < original.start);
    let inside = extents.all()[first..].iter().take_while(|extent| extent.start < original.end);
    inside.filter_map(|extent| moved_to(extent.start)).collect()
}

/// The extent at `at` and its end, or the gap up to the next extent.
fn stretch_at(extents: &Extents<'_>, at: u64, section_end: u64) -> (Option<ExtentIndex>, u64) {
    let all = extents.all();
    let next = all.partition_point(|extent| extent.start <= at);
    let next_start = all.get(next).map_or(section_end, |extent| extent.start);
    match extents.containing(at) {
        Some(index) => (Some(index), extents.get(index).end.min(next_start).min(section_end)),
        None => (None, next_start.min(section_end)),
    }
}

/// What `read` makes of parts of `stretches`, on as many CPUs as are worth it.
fn side_by_side<R: Send>(
    stretches: &[Stretch<'_>],
    code_bytes: u64,
    read: &(impl Fn(&[Stretch<'_>]) -> R + Sync),
) -> Vec<R> {
    let cpus = thread::available_parallelism().map_or(1, NonZero::get);
    let parts = cpus.min((code_bytes / PART_BYTES_MIN) as usize).max(1);
    let mut parts = stretches.chunks(stretches.len().div_ceil(parts).max(1));
    let Some(first) = parts.next() else { return Vec::new() };
    thread::scope(|scope| {
        let spawned = |part| thread::Builder::new().spawn_scoped(scope, move || read(part)).map_err(|_| part);
        let others: Vec<_> = parts.map(spawned).collect();
        let first = read(first);
        let others = others.into_iter().map(|other| match other {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // No thread is to be had.
            Err(part) => read(part),
        });
        iter::once(first).chain(others).collect()
    })
}

fn immediate_of(instruction: &Instruction) -> Option<u64> {
    (0..instruction.op_count())
        .find(|&operand| {
            matches!(instruction.op_kind(operand), OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64)
        })
        .map(|operand| instruction.immediate(operand))
}
