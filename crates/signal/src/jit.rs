//! The way back from code that CPython's JIT made to the eval loop that called it: such code has no unwind rows.
//! Owns: what such a call leaves on the stack. Never: takes other code of no known file for CPython's. Keeps: I-04, I-06, I-07.
//! Source: CPython 3.14 Tools/jit/shim.c as built (a shim per trace, x86-64), CPython 3.15 Python/jit.c (`_PyJIT_Entry`, one for all).

use crate::rows::{Modules, Registers, Rule};
use core::sync::atomic::{AtomicU64, Ordering::SeqCst};
use genba_python::layout::{JIT_SHIM, NO_JIT};
use genba_python::memory::{Address, Memory};

/// How the JIT of this process is entered.
pub struct Jit {
    /// `NONE`, `SHIM`, or the address of `_PyJIT_Entry`.
    way: AtomicU64,
}

pub static JIT: Jit = Jit { way: AtomicU64::new(Jit::NONE) };

/// A frame of code made by the JIT.
pub(crate) struct JitFrame {
    pub cfa: u64,
    pub caller: Registers,
    pub rule: Rule,
}

impl Jit {
    pub const NONE: u64 = NO_JIT;
    pub const SHIM: u64 = JIT_SHIM;

    /// Set by the sampler; SeqCst pairs with the load in `step`, and nothing else hangs on it.
    pub fn set(&self, way: u64) {
        self.way.store(way, SeqCst);
    }

    pub fn is_on(&self) -> bool {
        self.way.load(SeqCst) != Self::NONE
    }

    /// The frame at `registers`, whose pc is in no known file; `None` when it is not the JIT's, or its caller cannot be told.
    #[inline(never)]
    pub(crate) fn step<M: Memory>(&self, memory: &M, modules: &Modules, registers: Registers) -> Option<JitFrame> {
        match self.way.load(SeqCst) {
            Self::NONE => None,
            Self::SHIM => through_shim(memory, modules, registers),
            entry => through_entry(memory, entry, registers),
        }
    }
}

/// 3.15: the code keeps the frame pointer of `_PyJIT_Entry`, which called it.
fn through_entry<M: Memory>(memory: &M, entry: u64, registers: Registers) -> Option<JitFrame> {
    let frame = registers.rbp.filter(|&rbp| is_above(rbp, registers.rsp))?;
    let rbp = memory.word(Address(frame)).ok()?;
    let rip = memory.word(Address(frame.wrapping_add(8))).ok()?;
    // `call _PyJIT_Entry`: e8 rel32.
    let call = memory.word(Address(rip.wrapping_sub(8))).ok()?;
    if call >> 24 & 0xff != 0xe8 || rip.wrapping_add_signed(i64::from((call >> 32) as u32 as i32)) != entry {
        return None;
    }
    let cfa = frame.wrapping_add(16);
    Some(JitFrame { cfa, caller: Registers { rip, rsp: cfa, rbp: Some(rbp) }, rule: Rule::FRAME_POINTER })
}

/// 3.14: `rbp` is scratch here. The shim's return address lies a few words up, below the registers that it saved and its own.
fn through_shim<M: Memory>(memory: &M, modules: &Modules, registers: Registers) -> Option<JitFrame> {
    /// Words that a trace pushes. A stack of C functions is no trace.
    const WORDS_MAX: u64 = 16;
    let mut at = registers.rsp;
    for _ in 0..WORDS_MAX {
        let word = memory.word(Address(at)).ok()?;
        if modules.rule(word.wrapping_sub(1)).is_some() {
            return None;
        }
        if let Some(saved) = shim_saves(memory, word) {
            let return_at = at.wrapping_add(8 * (1 + saved));
            let rip = memory.word(Address(return_at)).ok()?;
            let rule = modules.rule(rip.wrapping_sub(1))?;
            if rule == Rule::UNKNOWN {
                return None;
            }
            let cfa = return_at.wrapping_add(8);
            let rbp = frame_pointer(memory, modules, registers, at, cfa);
            return Some(JitFrame { cfa, caller: Registers { rip, rsp: cfa, rbp }, rule: Rule::UNKNOWN });
        }
        at = at.wrapping_add(8);
    }
    None
}

/// How many registers the shim that is left by this return address has pushed; `None`: it is no shim's.
fn shim_saves<M: Memory>(memory: &M, return_address: u64) -> Option<u64> {
    const PUSH_R15_TO_R12: u64 = 0x5441_5541_5641_5741;
    const POP_RBX_R12_TO_R14: u64 = 0x415e_415d_415c_415b;
    const POP_R12_TO_R15_RETURN: u64 = 0xc35f_415e_415d_415c;
    const SHIM_BYTES: u64 = 0x17;
    const CALL: u64 = 0xe8;
    // A trace begins a page. Most words are told by that.
    if return_address & 0xfff != SHIM_BYTES {
        return None;
    }
    let is_shim = memory.word(Address(return_address.wrapping_sub(SHIM_BYTES))) == Ok(PUSH_R15_TO_R12)
        && memory.word(Address(return_address.wrapping_sub(8))).is_ok_and(|word| word >> 24 & 0xff == CALL)
        && memory.word(Address(return_address)) == Ok(POP_RBX_R12_TO_R14)
        && memory.word(Address(return_address).at(2)) == Ok(POP_R12_TO_R15_RETURN);
    is_shim.then_some(5)
}

/// The eval loop's frame pointer: still there, or pushed right below the shim's return address.
fn frame_pointer<M: Memory>(memory: &M, modules: &Modules, registers: Registers, shim: u64, cfa: u64) -> Option<u64> {
    let is_frame = |&rbp: &u64| {
        is_above(rbp, cfa)
            && memory
                .word(Address(rbp.wrapping_add(8)))
                .is_ok_and(|rip| modules.rule(rip.wrapping_sub(1)).is_some_and(|rule| rule != Rule::UNKNOWN))
    };
    let pushed = (shim > registers.rsp).then(|| memory.word(Address(shim.wrapping_sub(8))).ok()).flatten();
    match (registers.rbp.filter(is_frame), pushed.filter(is_frame)) {
        (Some(kept), Some(pushed)) if kept != pushed => None,
        (kept, pushed) => kept.or(pushed),
    }
}

/// Whether `address` may be a frame pointer in the frames above `low`.
fn is_above(address: u64, low: u64) -> bool {
    const FRAME_BYTES_MAX: u64 = 64 << 10;
    address & 7 == 0 && address >= low && address.wrapping_sub(low) < FRAME_BYTES_MAX
}
