//! The walk helped by the last one finds what the plain walk finds, whatever happened to the stack in between. Cites I-06, I-07.

use genba_python::memory::{Address, Fault, Memory};
use genba_signal::rows::{ModuleRows, Modules, Registers, Row, Rule, RuleKind};
use genba_signal::unwind::{NATIVE_MAX, NativeFrame, Walk};
use genba_signal::walk_memory::WalkMemory;
use std::cell::Cell;
use std::collections::HashMap;

const BOTTOM: u64 = 0x80_0000;
const CODE: u64 = 0x1000;
const FUNCTION_BYTES: u64 = 0x100;
/// Where in its function a call stands. The last one is followed by nothing: its return address is the next function's.
const OFFSETS: [u64; 3] = [0x20, 0x40, FUNCTION_BYTES];
const ROUNDS: u64 = 8000;

#[derive(Default)]
struct Words {
    words: HashMap<u64, u64>,
    reads: Cell<u64>,
}

impl Memory for Words {
    fn word(&self, address: Address) -> Result<u64, Fault> {
        self.reads.set(self.reads.get() + 1);
        self.words.get(&address.0).copied().ok_or(Fault)
    }
}

/// xorshift64: Marsaglia, "Xorshift RNGs", 2003.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % limit
    }
}

/// One function a rule; the last one is where a thread begins.
fn rules() -> Vec<Rule> {
    let rule = |kind, cfa, rbp| Rule::new(kind, cfa, rbp).unwrap();
    vec![
        rule(RuleKind::Rsp, 16, None),
        rule(RuleKind::Rsp, 48, Some(16)),
        rule(RuleKind::Rsp, 64, Some(32)),
        rule(RuleKind::Rbp, 16, Some(16)),
        rule(RuleKind::Rbp, 16, None),
        rule(RuleKind::Realigned, 8, None),
        Rule::FRAME_POINTER,
        Rule::SIGNAL,
        Rule::END,
    ]
}

/// A stack of calls, outermost first, and the memory that it makes.
#[derive(Clone)]
struct Calls {
    /// Function, how far into it its call stands, bytes of its frame beyond what its rule needs.
    frames: Vec<(usize, u64, u64)>,
}

impl Calls {
    /// The memory, and the registers inside the innermost function.
    fn lay_out(&self, rules: &[Rule], chance: &mut Chance) -> (Words, Registers) {
        let mut memory = Words::default();
        let (mut rsp, mut rbp) = (BOTTOM, 0);
        let mut rip = CODE + (rules.len() as u64 - 1) * FUNCTION_BYTES + 5;
        for &(function, at, extra) in &self.frames {
            let pc = CODE + function as u64 * FUNCTION_BYTES + at;
            if rules[function] == Rule::SIGNAL {
                let frame = rsp - 0x200;
                for (offset, value) in [(120, rbp), (160, rsp), (168, rip)] {
                    memory.words.insert(frame + offset, value);
                }
                (rsp, rip) = (frame, CODE + function as u64 * FUNCTION_BYTES + 1);
                continue;
            }
            memory.words.insert(rsp - 8, rip);
            let cfa = rsp;
            match function {
                0 => rsp = cfa - 16,
                1 => {
                    memory.words.insert(cfa - 16, rbp);
                    (rsp, rbp) = (cfa - 48, chance.below(1 << 40));
                }
                2 => {
                    memory.words.insert(cfa - 32, rbp);
                    (rsp, rbp) = (cfa - 64, chance.below(4));
                }
                3 | 6 => {
                    memory.words.insert(cfa - 16, rbp);
                    rbp = cfa - 16;
                    rsp = rbp - 16 - extra * 8;
                }
                // rbp is not saved: what the caller needs of it is lost, and the walk ends early.
                4 => {
                    memory.words.insert(cfa - 16, rbp);
                    rbp = cfa - 16;
                    rsp = rbp - extra * 8 - 8;
                }
                _ => {
                    let frame = (cfa - 32) & !31;
                    memory.words.insert(frame, rbp);
                    memory.words.insert(frame - 8, cfa);
                    rbp = frame;
                    rsp = frame - 16 - extra * 8;
                }
            }
            rip = pc;
        }
        (memory, Registers { rip, rsp, rbp: Some(rbp) })
    }

    fn push(&mut self, chance: &mut Chance, functions: u64) {
        self.frames.push((chance.below(functions) as usize, OFFSETS[chance.below(3) as usize], chance.below(6)));
    }
}

fn plain(memory: &Words, table: &Modules, registers: Registers) -> Vec<NativeFrame> {
    let mut walk = Walk::new(registers);
    let mut frames = Vec::new();
    while frames.len() < NATIVE_MAX {
        match walk.step(memory, table) {
            Ok(frame) => frames.push(frame),
            Err((frame, end)) => {
                frames.push(frame);
                frames.push(NativeFrame { pc: end as u64, cfa: 0 });
                break;
            }
        }
    }
    frames
}

fn helped(walk_memory: &mut WalkMemory, memory: &Words, table: &Modules, registers: Registers) -> Vec<NativeFrame> {
    let mut out = Box::new([NativeFrame::default(); NATIVE_MAX]);
    let (len, end) = walk_memory.walk(memory, table, registers, &mut out);
    let mut frames = out[..len].to_vec();
    if len < NATIVE_MAX {
        frames.push(NativeFrame { pc: end as u64, cfa: 0 });
    }
    frames
}

fn with_table<T>(use_table: impl FnOnce(&[Rule], &mut Modules) -> T) -> T {
    let rules = rules();
    let rows: Vec<Row> = (0..).zip(&rules).map(|(n, &rule)| Row { start: n * FUNCTION_BYTES as u32, rule }).collect();
    let end = CODE + rules.len() as u64 * FUNCTION_BYTES;
    let modules = [ModuleRows { start: CODE, end, rows: rows.as_ptr(), rows_len: rows.len() }];
    // SAFETY: atomics, for which zero is a value.
    let cache = unsafe { Box::new_zeroed().assume_init() };
    let mut table = Modules { modules: modules.as_ptr(), modules_len: 1, generation: 7, cache: &raw const *cache };
    use_table(&rules, &mut table)
}

fn new() -> Box<WalkMemory> {
    Box::new(WalkMemory::EMPTY)
}

#[test]
fn stacks_that_change_by_chance_are_found_as_by_the_plain_walk() {
    with_table(|rules, table| {
        let mut chance = Chance(20261120);
        let mut walk_memory = new();
        let mut calls = Calls { frames: Vec::new() };
        let (mut whole, mut reads, mut plain_reads) = (0, 0, 0);
        for round in 0..ROUNDS {
            // Returns and calls; a call from another line; a signal now and then; a table that was replaced.
            for _ in 0..chance.below(1 + calls.frames.len() as u64 / 3) {
                calls.frames.pop();
            }
            for _ in 0..chance.below(12) {
                let functions = if chance.below(30) == 0 { 8 } else { 7 };
                calls.push(&mut chance, functions);
            }
            let middle = chance.below(calls.frames.len() as u64 + 1) as usize;
            if let Some(frame) = calls.frames.get_mut(middle) {
                frame.1 = OFFSETS[chance.below(3) as usize];
            }
            if round % 500 == 0 {
                table.generation += 1;
            }
            let (mut memory, registers) = calls.lay_out(rules, &mut Chance(5));
            if chance.below(8) == 0 {
                // Whatever stands somewhere on the stack, or nothing.
                let lost = BOTTOM - 8 - 8 * chance.below(40);
                if chance.below(2) == 0 {
                    memory.words.remove(&lost);
                } else {
                    memory.words.insert(lost, chance.below(BOTTOM));
                }
            }
            let expected = plain(&memory, table, registers);
            plain_reads += memory.reads.take();
            assert_eq!(helped(&mut walk_memory, &memory, table, registers), expected, "round {round}");
            reads += memory.reads.take();
            whole += u64::from(expected.len() > 20);
        }
        assert!(whole > ROUNDS / 10, "only {whole} stacks of more than twenty frames");
        // It reads each word once, and once more where a frame is not what it was.
        assert!(reads < plain_reads + ROUNDS * 4, "{reads} reads, {plain_reads} without help");
    });
}

#[test]
fn nothing_is_believed_of_a_table_that_was_replaced() {
    with_table(|rules, table| {
        let mut walk_memory = new();
        let calls = Calls { frames: vec![(0, 0x20, 0); 30] };
        let (memory, registers) = calls.lay_out(rules, &mut Chance(5));
        let before = helped(&mut walk_memory, &memory, table, registers);
        assert_eq!(before.len(), 32);
        // The same code, of which now nothing is known.
        let modules: [ModuleRows; 0] = [];
        (table.modules, table.modules_len, table.generation) = (modules.as_ptr(), 0, 8);
        assert_eq!(helped(&mut walk_memory, &memory, table, registers).len(), 2);
    });
}

#[test]
fn a_stack_deeper_than_what_is_remembered_is_whole() {
    with_table(|rules, table| {
        let mut walk_memory = new();
        let mut calls = Calls { frames: vec![(1, 0x20, 0); 400] };
        for _ in 0..3 {
            let (memory, registers) = calls.lay_out(rules, &mut Chance(5));
            let expected = plain(&memory, table, registers);
            assert_eq!(helped(&mut walk_memory, &memory, table, registers), expected);
            calls.frames.push((3, 0x30, 2));
        }
    });
}
