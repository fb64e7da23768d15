//! Flat tables that say how to find the caller's frame from a program counter.
//! Owns: sorted rows, rules, the pc -> rule caches. Never: parses DWARF, allocates, locks. Keeps: I-04.
//! Partner: agent/src/reading/modules.rs compiles the rows.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

const CACHE_ENTRIES: usize = 8192;
/// Code that shares an entry of the second cache.
const STRETCH_BYTES: u64 = 64;
const STRETCHES: usize = 4096;
/// Rows looked at from a stretch's first one on.
const STRETCH_ROWS_MAX: usize = 32;
/// Of a rule: the CFA offset has more than 16 bits.
const LARGE: u32 = 1 << 31;

/// How to find the caller's frame; 32 bits: kind 3, CFA offset 16 (units of 8 bytes), rbp slot 12 (CFA - slot, units of 8), large 1. A large
/// frame's slot has 4 bits, below 8 more of its CFA offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Rule(u32);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum RuleKind {
    /// Nothing known here.
    Unknown = 0,
    /// CFA = rsp + n.
    Rsp = 1,
    /// CFA = rbp + n.
    Rbp = 2,
    /// A lazy PLT entry: CFA = rsp + 8, or + 16 from the n-th byte of the entry on.
    Plt = 3,
    /// The return address is undefined: the first frame of a thread.
    End = 4,
    /// The kernel's signal frame: the interrupted registers lie at rsp + 40.
    Signal = 5,
    /// A realigned stack: CFA = the word at rbp - n; rbp is saved at rbp.
    Realigned = 6,
    /// Code without rows that keeps frame pointers (CPython 3.15's JIT, jit.rs). No row has it.
    FramePointer = 7,
}

impl Rule {
    pub const UNKNOWN: Rule = Rule(0);
    pub const END: Rule = Rule(RuleKind::End as u32);
    pub const SIGNAL: Rule = Rule(RuleKind::Signal as u32);
    pub const FRAME_POINTER: Rule = Rule(RuleKind::FramePointer as u32);

    /// `None` when the numbers do not fit: such a row must be `UNKNOWN`.
    #[must_use]
    pub fn new(kind: RuleKind, cfa_offset_bytes: i64, rbp_below_cfa_bytes: Option<i64>) -> Option<Rule> {
        let rbp = rbp_below_cfa_bytes.unwrap_or(0);
        if cfa_offset_bytes < 0 || cfa_offset_bytes % 8 != 0 || rbp < 0 || rbp % 8 != 0 {
            return None;
        }
        let (cfa, rbp) = (cfa_offset_bytes as u64 / 8, rbp as u64 / 8);
        let above = if cfa <= 0xffff && rbp <= 0xfff {
            (rbp as u32) << 19
        } else if cfa <= 0xff_ffff && rbp <= 0xf {
            LARGE | (rbp as u32) << 19 | (cfa as u32 >> 16) << 23
        } else {
            return None;
        };
        Some(Rule(kind as u32 | (cfa as u32 & 0xffff) << 3 | above))
    }

    /// As one number, to be sorted with its place.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    #[must_use]
    pub const fn from_bits(bits: u32) -> Rule {
        Rule(bits)
    }

    #[inline(always)]
    pub(crate) const fn cfa_offset_bytes(self) -> u64 {
        let above = if self.0 & LARGE == 0 { 0 } else { (self.0 >> 23 & 0xff) << 16 };
        ((self.0 >> 3 & 0xffff) | above) as u64 * 8
    }

    #[inline(always)]
    pub(crate) const fn rbp_below_cfa_bytes(self) -> u64 {
        let bits = if self.0 & LARGE == 0 { 0xfff } else { 0xf };
        (self.0 >> 19 & bits) as u64 * 8
    }

    #[inline(always)]
    pub(crate) const fn kind(self) -> u32 {
        self.0 & 7
    }
}

/// Rules from `start` (relative to the module's first row) up to the next row.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Row {
    pub start: u32,
    pub rule: Rule,
}

/// The code of one loaded file.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ModuleRows {
    pub start: u64,
    pub end: u64,
    pub rows: *const Row,
    pub rows_len: usize,
}

/// All modules, sorted by start, not overlapping. Published by the sampler (I-08), freed when no handler walks.
#[repr(C)]
pub struct Modules {
    pub modules: *const ModuleRows,
    pub modules_len: usize,
    /// Changes with every publication, so that old cache entries do not match.
    pub generation: u64,
    pub cache: *const RuleCache,
}

/// pc -> rule; and for a pc that is new, stretch of code -> its first row, which saves the search. One for the process.
/// All zero is empty.
#[repr(C)]
pub struct RuleCache {
    entries: [Entry; CACHE_ENTRIES],
    stretches: [Entry; STRETCHES],
}

/// A value that is not 0, and its check; a torn pair does not match.
#[repr(C)]
struct Entry([AtomicU64; 2]);

impl Entry {
    #[inline(always)]
    fn get(&self, key: u64) -> Option<u64> {
        // Relaxed: the pair carries its own check, no order is needed (partner: the stores below).
        let (check, value) = (self.0[0].load(Relaxed), self.0[1].load(Relaxed));
        (check ^ value.wrapping_mul(0x9E37_79B9_7F4A_7C15) == key && value != 0).then_some(value)
    }

    #[inline(always)]
    fn set(&self, key: u64, value: u64) {
        self.0[1].store(value, Relaxed);
        self.0[0].store(key ^ value.wrapping_mul(0x9E37_79B9_7F4A_7C15), Relaxed);
    }
}

impl Modules {
    /// The rule for the instruction at `pc`; `None` when it lies in no known module.
    #[inline]
    #[must_use]
    pub fn rule(&self, pc: u64) -> Option<Rule> {
        let slot = (pc ^ pc >> 13) as usize % CACHE_ENTRIES;
        // SAFETY: `cache` points to a RuleCache that lives as long as the process (agent/src/reading/modules.rs); slot < ENTRIES.
        let entry = unsafe { (&*self.cache).entries.get_unchecked(slot) };
        let key = pc ^ self.salt();
        if let Some(value) = entry.get(key) {
            return Some(Rule(value as u32));
        }
        let rule = self.by_stretch(pc)?;
        entry.set(key, u64::from(rule.0) | 1 << 32);
        Some(rule)
    }

    /// From the first row of the stretch of code around `pc`, when that is known; else by the search.
    #[inline]
    fn by_stretch(&self, pc: u64) -> Option<Rule> {
        let stretch = pc / STRETCH_BYTES;
        let slot = (stretch ^ stretch >> 12) as usize % STRETCHES;
        // SAFETY: as in `rule`; slot < STRETCHES.
        let entry = unsafe { (&*self.cache).stretches.get_unchecked(slot) };
        let key = stretch ^ self.salt();
        if let Some(value) = entry.get(key)
            && let Some((module, rows)) = self.module((value >> 32 & 0x7fff_ffff) as usize)
            && pc >= module.start
            && pc < module.end
        {
            let offset = pc - module.start;
            let near = rows.get(value as u32 as usize..).unwrap_or(&[]);
            let mut known = None;
            for row in near.iter().take(STRETCH_ROWS_MAX) {
                if u64::from(row.start) > offset {
                    if known.is_some() {
                        return known;
                    }
                    break;
                }
                known = Some(row.rule);
            }
        }
        let (module_at, row_at) = self.position(pc)?;
        let (module, rows) = self.module(module_at)?;
        let Some(mut first) = row_at else { return Some(Rule::UNKNOWN) };
        let rule = rows.get(first)?.rule;
        let begin = (stretch * STRETCH_BYTES).saturating_sub(module.start);
        // At most as many steps as a stretch has bytes (I-07): rows begin at different places.
        while first > 0 && rows.get(first).is_some_and(|row| u64::from(row.start) > begin) {
            first -= 1;
        }
        entry.set(key, 1 << 63 | (module_at as u64) << 32 | first as u64);
        Some(rule)
    }

    /// The generation as a part of keys: no two generations ever give one address one key. Its low 16 bits lie where an address has none,
    /// and those above move to the low end: two addresses of one slot differ above it, so that their keys do too, for 2^28 generations.
    #[inline(always)]
    const fn salt(&self) -> u64 {
        self.generation.rotate_right(16)
    }

    /// The same without the caches.
    #[must_use]
    pub fn search(&self, pc: u64) -> Option<Rule> {
        let (module_at, row_at) = self.position(pc)?;
        let (_, rows) = self.module(module_at)?;
        Some(row_at.and_then(|at| rows.get(at)).map_or(Rule::UNKNOWN, |row| row.rule))
    }

    /// Which module, and which of its rows; `None` before the first one.
    #[inline]
    fn position(&self, pc: u64) -> Option<(usize, Option<usize>)> {
        // SAFETY: pointer and length come from one published, unchanging allocation (I-08).
        let modules = unsafe { core::slice::from_raw_parts(self.modules, self.modules_len) };
        let at = last_at_or_below(modules, |module| module.start <= pc)?;
        let (module, rows) = self.module(at)?;
        let offset = pc - module.start;
        (pc < module.end).then(|| (at, last_at_or_below(rows, |row| u64::from(row.start) <= offset)))
    }

    #[inline(always)]
    fn module(&self, at: usize) -> Option<(&ModuleRows, &[Row])> {
        // SAFETY: as in `position`; a module's rows come from such an allocation too.
        unsafe {
            let module = core::slice::from_raw_parts(self.modules, self.modules_len).get(at)?;
            Some((module, core::slice::from_raw_parts(module.rows, module.rows_len)))
        }
    }
}

/// The last element for which `below` holds, in a slice sorted so that it holds for a prefix. At most 64 steps (I-07).
#[inline]
fn last_at_or_below<T>(sorted: &[T], below: impl Fn(&T) -> bool) -> Option<usize> {
    let (mut low, mut high) = (0, sorted.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match sorted.get(middle) {
            Some(element) if below(element) => low = middle + 1,
            _ => high = middle,
        }
    }
    low.checked_sub(1)
}

/// Registers at the beginning of a walk. `rbp` is unknown when a sleeping thread is read from outside.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    pub rip: u64,
    pub rsp: u64,
    pub rbp: Option<u64>,
}
