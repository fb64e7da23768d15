//! The way through code that CPython's JIT made, as words: what is on the stack, and what the walk makes of it.
//! A target of its own: that way is the process's, and other tests of the walk would take it.

use genba_python::memory::{Address, Fault, Memory};
use genba_signal::jit::{JIT, Jit};
use genba_signal::rows::{ModuleRows, Modules, Registers, Row, Rule, RuleKind};
use genba_signal::unwind::{NativeEnd, Walk};
use std::collections::HashMap;

struct Words(HashMap<u64, u64>);

impl Memory for Words {
    fn word(&self, address: Address) -> Result<u64, Fault> {
        self.0.get(&address.0).copied().ok_or(Fault)
    }
}

/// The eval loop lies at 0x1000..0x2000 and has a frame pointer.
fn check(way: u64, rip: u64, rbp: Option<u64>, words: &[(u64, u64)], expected: (&[u64], NativeEnd)) {
    JIT.set(way);
    let rows = [Row { start: 0, rule: Rule::new(RuleKind::Rbp, 16, Some(16)).unwrap() }];
    let modules = [ModuleRows { start: 0x1000, end: 0x2000, rows: rows.as_ptr(), rows_len: 1 }];
    // SAFETY: atomics, for which zero is a value.
    let cache = unsafe { Box::new_zeroed().assume_init() };
    let table = Modules { modules: modules.as_ptr(), modules_len: 1, generation: 7, cache: &raw const *cache };
    let memory = Words(words.iter().copied().collect());
    let mut walk = Walk::new(Registers { rip, rsp: 0x8000, rbp });
    let mut pcs = Vec::new();
    let end = loop {
        match walk.step(&memory, &table) {
            Ok(frame) => pcs.push(frame.pc),
            Err((_, end)) => break end,
        }
    };
    assert_eq!((pcs.as_slice(), end), expected, "{words:x?}");
}

/// A trace's page at 0x7f00_0000_5000: `push r15 … rbx; …; call; pop rbx … r15; ret`.
const PAGE: u64 = 0x7f00_0000_5000;
const SHIM: [(u64, u64); 4] = [
    (PAGE, 0x5441_5541_5641_5741),
    (PAGE + 0x17 - 8, 0x0000_000a_e8d6_8949),
    (PAGE + 0x17, 0x415e_415d_415c_415b),
    (PAGE + 0x17 + 2, 0xc35f_415e_415d_415c),
];
/// The eval loop's frame: its frame pointer is 0x8100, and its caller's frame is not readable.
const EVAL: [(u64, u64); 2] = [(0x8100, 0x9000), (0x8108, 0x1999)];
const PC: u64 = PAGE + 0x160;

#[test]
fn from_a_trace_to_the_eval_loop() {
    let through_shim = |stack: &[(u64, u64)], rbp: u64, expected: (&[u64], NativeEnd)| {
        let words = [stack, &SHIM, &EVAL].concat();
        check(Jit::SHIM, PC, Some(rbp), &words, expected);
    };
    let went: (&[u64], _) = (&[PC, 0x1234], NativeEnd::Fault);
    let cut: (&[u64], _) = (&[], NativeEnd::NoModule);
    // The frame pointer is still there; or the trace pushed it and uses the register for something else.
    through_shim(&[(0x8000, PAGE + 0x17), (0x8030, 0x1234)], 0x8100, went);
    through_shim(&[(0x8000, 0x8100), (0x8008, PAGE + 0x17), (0x8038, 0x1234)], 0xba3f91, went);
    // Both, and not the same: nothing is said.
    let other = [(0x8000, 0x8100), (0x8008, PAGE + 0x17), (0x8038, 0x1234), (0x8200, 0x9000), (0x8208, 0x1999)];
    through_shim(&other, 0x8200, (&[PC], NativeEnd::NoFramePointer));
    // A C function between: this is no trace.
    through_shim(&[(0x8000, 0x1500), (0x8008, PAGE + 0x17), (0x8038, 0x1234)], 0x8100, cut);
    // Too far up; not a shim; not into a known file.
    let far: Vec<(u64, u64)> =
        (0..16).map(|n| (0x8000 + 8 * n, 5)).chain([(0x8080, PAGE + 0x17), (0x80b0, 0x1234)]).collect();
    through_shim(&far, 0x8100, cut);
    through_shim(&[(0x8000, PAGE + 0x1017), (0x8030, 0x1234)], 0x8100, cut);
    through_shim(&[(0x8000, PAGE + 0x17), (0x8030, 0x5234)], 0x8100, cut);

    // 3.15: `call 0x6000` ends at 0x1234 and at 0x1999.
    const ENTRY: u64 = 0x6000;
    let call = |end: u64| (end - 8, (ENTRY.wrapping_sub(end) & 0xffff_ffff) << 32 | 0xe8 << 24);
    let frame = [(0x8050, 0x8100), (0x8058, 0x1234), call(0x1234), EVAL[0], EVAL[1]];
    check(ENTRY, PC, Some(0x8050), &frame, went);
    check(ENTRY + 1, PC, Some(0x8050), &frame, cut);
    check(ENTRY, PC, Some(0x7ff8), &frame, cut);
    check(ENTRY, PC, None, &frame, cut);
    check(Jit::NONE, PC, Some(0x8050), &frame, cut);

    // A page of such code right above the stack is code; a word of the stack that points there is none.
    let near = [&frame[..], &[(0x8010, 0x8050), (0x8018, 0x9000)]].concat();
    check(ENTRY, 0x1500, Some(0x8010), &near, (&[0x1500, 0x9000, 0x1234], NativeEnd::Fault));
    check(ENTRY + 1, 0x1500, Some(0x8010), &near, (&[], NativeEnd::NotRising));
}
