//! The native stack by flat tables (rows.rs).
//! Owns: the walk. Never: parses DWARF, allocates, follows an address unguarded. Keeps: I-04, I-06, I-07. Agent tests hold framehop as
//! the slow twin.

use crate::jit::JIT;
use crate::rows::{Modules, Registers, Rule, RuleKind};
use genba_python::memory::{Address, Memory};
pub use genba_python::stack::native::{NativeEnd, NativeFrame};
use genba_python::stack::trampoline;

/// Native frames a stack may have; a deeper one is cut at the root and says so.
pub const NATIVE_MAX: usize = 512;
/// Distance in bytes that a stack may span.
const SPAN_BYTES_MAX: u64 = 1 << 32;

/// Of CPython's code for `-X perf`, which lies in no known file.
#[cold]
#[inline(never)]
fn trampoline<M: Memory>(memory: &M, pc: u64, is_exact: bool) -> Option<Rule> {
    let found = trampoline::at(memory, pc, is_exact)?;
    let saved = found.saves_rbp.then_some(found.cfa_offset_bytes as i64);
    Rule::new(RuleKind::Rsp, found.cfa_offset_bytes as i64, saved)
}

/// Whether a word may point to the frames right above: no return address does.
#[inline(always)]
const fn is_on_stack(word: u64, cfa: u64) -> bool {
    const NEAR_BYTES: u64 = 64 << 10;
    word & 7 == 0 && word.wrapping_sub(cfa) < NEAR_BYTES
}

/// The unwind data of some code knows of no `push rbp`, as that of a few instructions of CPython 3.14 in uv's builds: the frame pointer lies where
/// the return address should, and that one a word above.
#[cold]
#[inline(never)]
fn past_pushed_word<M: Memory>(memory: &M, modules: &Modules, cfa: u64, pushed: u64) -> Option<Registers> {
    let rip = memory.word(Address(cfa)).ok()?;
    let rule = modules.rule(rip.wrapping_sub(1))?;
    (rule != Rule::UNKNOWN).then_some(Registers { rip, rsp: cfa.wrapping_add(8), rbp: Some(pushed) })
}

/// Where a walk stands between two frames.
pub struct Walk {
    registers: Registers,
    stack_low: u64,
    exact: bool,
}

impl Walk {
    #[must_use]
    pub const fn new(registers: Registers) -> Walk {
        Walk { registers, stack_low: registers.rsp, exact: true }
    }

    #[inline(always)]
    pub(crate) const fn registers(&self) -> Registers {
        self.registers
    }

    /// The pc is an instruction, not a return address.
    #[inline(always)]
    pub(crate) const fn is_exact(&self) -> bool {
        self.exact
    }

    /// Goes on from a caller of the present frame, which was entered with these registers.
    #[inline(always)]
    pub(crate) const fn set_caller(&mut self, registers: Registers) {
        self.registers = registers;
        self.exact = false;
    }

    /// The present frame; moves on to its caller.
    ///
    /// # Errors
    /// The reason why there is no caller, with the present frame (whose `cfa` is then the stack pointer).
    pub fn step<M: Memory>(&mut self, memory: &M, modules: &Modules) -> Result<NativeFrame, (NativeFrame, NativeEnd)> {
        self.step_by_rule(memory, modules).map(|(frame, _)| frame)
    }

    /// As `step`, with the rule.
    #[inline(always)]
    pub(crate) fn step_by_rule<M: Memory>(
        &mut self,
        memory: &M,
        modules: &Modules,
    ) -> Result<(NativeFrame, Rule), (NativeFrame, NativeEnd)> {
        let Registers { rip, rsp, rbp } = self.registers;
        let last = NativeFrame { pc: rip, cfa: rsp };
        // A return address may stand behind the last instruction of its function: look one byte earlier.
        let lookup = if self.exact { rip } else { rip.wrapping_sub(1) };
        let by_rows = modules.rule(lookup);
        let Some(rule) = by_rows.or_else(|| trampoline(memory, rip, self.exact)) else {
            let Some(frame) = JIT.step(memory, modules, self.registers) else {
                return Err((last, NativeEnd::NoModule));
            };
            if frame.cfa.wrapping_sub(self.stack_low) > SPAN_BYTES_MAX {
                return Err((last, NativeEnd::NotRising));
            }
            self.set_caller(frame.caller);
            return Ok((NativeFrame { pc: rip, cfa: frame.cfa }, frame.rule));
        };
        let kind = rule.kind();
        if kind == RuleKind::Signal as u32 {
            return self.step_signal(memory, last).map(|frame| (frame, rule));
        }
        let mut caller_rbp_at = None;
        let cfa = if kind == RuleKind::Rsp as u32 {
            rsp.wrapping_add(rule.cfa_offset_bytes())
        } else if kind == RuleKind::Plt as u32 {
            rsp.wrapping_add(if rip & 15 >= rule.cfa_offset_bytes() / 8 { 16 } else { 8 })
        } else if kind == RuleKind::End as u32 {
            return Err((last, NativeEnd::Complete));
        } else if kind == RuleKind::Unknown as u32 {
            return Err((last, NativeEnd::NoRule));
        } else {
            let Some(rbp) = rbp else {
                return Err((last, NativeEnd::NoFramePointer));
            };
            if kind == RuleKind::Rbp as u32 {
                rbp.wrapping_add(rule.cfa_offset_bytes())
            } else if kind == RuleKind::FramePointer as u32 {
                caller_rbp_at = Some(rbp);
                rbp.wrapping_add(16)
            } else {
                caller_rbp_at = Some(rbp);
                match memory.word(Address(rbp.wrapping_sub(rule.cfa_offset_bytes()))) {
                    Ok(cfa) => cfa,
                    Err(_) => return Err((last, NativeEnd::Fault)),
                }
            }
        };
        if cfa <= rsp || cfa.wrapping_sub(self.stack_low) > SPAN_BYTES_MAX || cfa & 7 != 0 {
            return Err((last, NativeEnd::NotRising));
        }
        let here = NativeFrame { pc: rip, cfa };
        if rule.rbp_below_cfa_bytes() != 0 {
            caller_rbp_at = Some(cfa.wrapping_sub(rule.rbp_below_cfa_bytes()));
        }
        let rbp = match caller_rbp_at {
            None => rbp,
            Some(address) => match memory.word(Address(address)) {
                Ok(value) => Some(value),
                Err(_) => return Err((here, NativeEnd::Fault)),
            },
        };
        let rip = match memory.word(Address(cfa.wrapping_sub(8))) {
            Ok(0) => return Err((here, NativeEnd::Complete)),
            Ok(value) => value,
            Err(_) => return Err((here, NativeEnd::Fault)),
        };
        let caller = Registers { rip, rsp: cfa, rbp };
        if is_on_stack(rip, cfa)
            && modules.rule(rip.wrapping_sub(1)).is_none()
            && JIT.step(memory, modules, caller).is_none()
        {
            // Of a caller nobody would read the pushed word again (walk_memory.rs).
            let may_be_pushed = self.exact && kind == RuleKind::Rsp as u32;
            let caller = if may_be_pushed { past_pushed_word(memory, modules, cfa, rip) } else { None };
            let Some(caller) = caller else {
                return Err((here, NativeEnd::NotRising));
            };
            self.set_caller(caller);
            return Ok((NativeFrame { pc: here.pc, cfa: caller.rsp }, Rule::UNKNOWN));
        }
        self.registers = caller;
        self.exact = false;
        Ok((here, rule))
    }

    /// Over a signal frame, to the instruction that the signal interrupted. Source: Linux asm/sigcontext.h, x86-64.
    fn step_signal<M: Memory>(
        &mut self,
        memory: &M,
        last: NativeFrame,
    ) -> Result<NativeFrame, (NativeFrame, NativeEnd)> {
        let registers_at = Address(last.cfa).at(40);
        let (Ok(rbp), Ok(rsp), Ok(rip)) =
            (memory.word(registers_at.at(80)), memory.word(registers_at.at(120)), memory.word(registers_at.at(128)))
        else {
            return Err((last, NativeEnd::Fault));
        };
        self.registers = Registers { rip, rsp, rbp: Some(rbp) };
        // The interrupted code may run on another stack than the signal handler.
        self.stack_low = rsp;
        self.exact = true;
        Ok(NativeFrame { pc: last.pc, cfa: last.cfa.wrapping_add(8) })
    }
}
