//! The walk over a native stack, shortened by what the last one found.
//! Owns: `WalkMemory`, the frames of the last walk with the registers they were entered with. Never: believes it without
//! reading again every word that it rests on. Keeps: I-06, I-07.
//!
//! Between two samples most of a stack stays as it was. A step of the walk depends on nothing but the rule for its pc, its
//! registers and the one to three words it reads. So where the walk meets a frame of the last one with the same registers, and
//! the words that led on from there read the same, the frames that follow are the same; the rows need not be searched, and the
//! words, whose addresses are known beforehand, are read side by side and not one after another.

use crate::rows::{Modules, Registers, Rule, RuleKind};
use crate::unwind::{NATIVE_MAX, NativeEnd, NativeFrame, Walk};
use genba_python::memory::{Address, Memory};

/// Frames that are remembered, innermost first; deeper ones are always searched for.
const REMEMBERED_MAX: usize = 256;

/// A frame as it was entered, and the rule by which it was left.
#[derive(Clone, Copy)]
#[repr(C)]
struct Remembered {
    pc: u64,
    rsp: u64,
    rbp: u64,
    rule: Rule,
    /// Its pc was an instruction and no return address: its rule was another's.
    exact: bool,
}

#[repr(C)]
struct Stack {
    /// Of the table whose rules these are.
    generation: u64,
    len: usize,
    frames: [Remembered; REMEMBERED_MAX],
}

/// The last two stacks: one is read while the other is written. All zero is one that knows nothing.
#[repr(C)]
pub struct WalkMemory {
    stacks: [Stack; 2],
    newest_is_second: bool,
}

impl WalkMemory {
    pub const EMPTY: WalkMemory = WalkMemory { stacks: [const { Stack::EMPTY }; 2], newest_is_second: false };

    /// Walks from `registers` to the first frame, innermost first. How many frames, and why there are no more.
    #[inline(always)]
    pub fn walk<M: Memory>(
        &mut self,
        memory: &M,
        modules: &Modules,
        registers: Registers,
        out: &mut [NativeFrame; NATIVE_MAX],
    ) -> (usize, NativeEnd) {
        let [first, second] = &mut self.stacks;
        let (last, next) = if self.newest_is_second { (&*second, first) } else { (&*first, second) };
        self.newest_is_second = !self.newest_is_second;
        let known = if last.generation == modules.generation { last.len } else { 0 };
        next.generation = modules.generation;
        next.len = 0;
        let mut walk = Walk::new(registers);
        let mut len = 0;
        let mut at = 0;
        // I-07: each round writes a frame or ends; `at` only grows, up to `known`.
        while len < NATIVE_MAX {
            let here = walk.registers();
            if let Some(rbp) = here.rbp
                && !walk.is_exact()
            {
                while at < known && last.frames.get(at).is_some_and(|frame| frame.rsp < here.rsp) {
                    at += 1;
                }
                let mut frame = last.frames.get(at).filter(|frame| at < known && frame.is_at(here.rip, here.rsp, rbp));
                while let Some(same) = frame {
                    frame = last.frames.get(at + 1).filter(|after| at + 1 < known && same.leads_to(memory, after));
                    match (frame, out.get_mut(len)) {
                        (Some(after), Some(slot)) => {
                            *slot = NativeFrame { pc: same.pc, cfa: after.rsp };
                            len += 1;
                            at += 1;
                            next.push(*same);
                        }
                        _ => {
                            walk.set_caller(Registers { rip: same.pc, rsp: same.rsp, rbp: Some(same.rbp) });
                            frame = None;
                        }
                    }
                }
            }
            let (here, exact) = (walk.registers(), walk.is_exact());
            let (found, rule) = match walk.step_by_rule(memory, modules) {
                Ok((frame, rule)) => (Ok(frame), rule),
                Err(ended) => (Err(ended), Rule::UNKNOWN),
            };
            let frame = match found {
                Ok(frame) | Err((frame, _)) => frame,
            };
            let Some(slot) = out.get_mut(len) else { break };
            *slot = frame;
            len += 1;
            match (found, here.rbp) {
                (Err((_, end)), _) => return (len, end),
                (Ok(_), Some(rbp)) => next.push(Remembered { pc: here.rip, rsp: here.rsp, rbp, rule, exact }),
                (Ok(_), None) => {}
            }
        }
        (len, NativeEnd::TooDeep)
    }
}

impl Stack {
    const EMPTY: Stack = Stack {
        generation: 0,
        len: 0,
        frames: [const { Remembered { pc: 0, rsp: 0, rbp: 0, rule: Rule::UNKNOWN, exact: false } }; REMEMBERED_MAX],
    };

    #[inline(always)]
    fn push(&mut self, frame: Remembered) {
        if let Some(slot) = self.frames.get_mut(self.len) {
            *slot = frame;
            self.len += 1;
        }
    }
}

impl Remembered {
    #[inline(always)]
    const fn is_at(&self, rip: u64, rsp: u64, rbp: u64) -> bool {
        self.pc == rip && self.rsp == rsp && self.rbp == rbp && !self.exact
    }

    /// Whether the walk would come from this frame, entered with the same registers, to `after` again: it reads the same words.
    #[inline(always)]
    fn leads_to<M: Memory>(&self, memory: &M, after: &Remembered) -> bool {
        let kind = self.rule.kind();
        if kind == RuleKind::Signal as u32 {
            return false;
        }
        let cfa = after.rsp;
        let mut rbp_at = None;
        if kind == RuleKind::FramePointer as u32 {
            rbp_at = Some(self.rbp);
        } else if kind == RuleKind::Realigned as u32 {
            rbp_at = Some(self.rbp);
            if memory.word(Address(self.rbp.wrapping_sub(self.rule.cfa_offset_bytes()))) != Ok(cfa) {
                return false;
            }
        }
        if self.rule.rbp_below_cfa_bytes() != 0 {
            rbp_at = Some(cfa.wrapping_sub(self.rule.rbp_below_cfa_bytes()));
        }
        let same_rbp = match rbp_at {
            None => self.rbp == after.rbp,
            Some(address) => memory.word(Address(address)) == Ok(after.rbp),
        };
        same_rbp && memory.word(Address(cfa.wrapping_sub(8))) == Ok(after.pc)
    }
}
