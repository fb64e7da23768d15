//! What a seccomp filter may answer to a system call of which only the number is known.
//! Owns: classic BPF as seccomp uses it. Never: decides what an answer means.
//!
//! The call's arguments and the address it comes from are unknown, and so is all that is made of them. At a jump on an unknown value both ways
//! are followed. Where ways meet again, what differs between them is unknown: so each instruction is looked at once, and the answers may
//! include some that no arguments lead to, but lack none. Classic BPF jumps forwards only.
//! Sources: Linux net/core/filter.c, kernel/seccomp.c (`seccomp_check_filter` lists the operations, `struct seccomp_data`), bpf(4) of BSD.

use std::collections::{BTreeMap, BTreeSet};

use nix::libc;

/// `struct sock_filter`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Instruction {
    pub code: u16,
    pub if_true: u8,
    pub if_false: u8,
    pub k: u32,
}

/// An action without its 16 bits of data, as a number that is the less the stricter it is.
pub type Value = i32;

const ARCH_X86_64: u32 = 0xc000_003e;
/// `struct seccomp_data`: the number, the architecture, the address, six arguments.
const NUMBER_AT: u32 = 0;
const ARCH_AT: u32 = 4;
const DATA_BYTES: u32 = 64;
const WORDS: usize = 16;

/// `None`: unknown.
type Word = Option<u32>;

/// What the filter has computed when it comes to an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    a: Word,
    x: Word,
    memory: [Word; WORDS],
}

impl State {
    const BEGIN: State = State { a: Some(0), x: Some(0), memory: [Some(0); WORDS] };

    /// What is the same in both.
    fn meet(&mut self, other: &State) {
        let meet = |mine: &mut Word, other: Word| *mine = mine.filter(|_| *mine == other);
        meet(&mut self.a, other.a);
        meet(&mut self.x, other.x);
        self.memory.iter_mut().zip(other.memory).for_each(|(mine, other)| meet(mine, other));
    }
}

/// What comes after an instruction.
enum Next {
    Following,
    Skip(u32),
    Either(u32, u32),
    Answer(Word),
    /// Or, where X is zero, the end.
    FollowingOrEnd,
}

/// All values that the filter may answer to this call.
pub fn values(filter: &[Instruction], number: u32) -> BTreeSet<Value> {
    let mut values = BTreeSet::new();
    let mut pending = BTreeMap::from([(0, State::BEGIN)]);
    while let Some((mut at, mut state)) = pending.pop_first() {
        loop {
            // The kernel takes no filter that runs beyond its end, or that has other operations.
            let next = filter.get(at).map_or(Next::Answer(None), |&instruction| state.step(instruction, number));
            at = match next {
                Next::Following => at + 1,
                Next::Skip(count) => at.saturating_add(1).saturating_add(count as usize),
                Next::Either(this, that) => {
                    put(&mut pending, at + 1 + that as usize, &state);
                    at + 1 + this as usize
                }
                Next::FollowingOrEnd => {
                    values.insert(value(libc::SECCOMP_RET_KILL_THREAD));
                    at + 1
                }
                Next::Answer(answer) => {
                    values.insert(value(answer.unwrap_or(libc::SECCOMP_RET_KILL_PROCESS)));
                    break;
                }
            };
            // Another way comes here, too, or has less far to go.
            if pending.first_key_value().is_some_and(|(&first, _)| first <= at) {
                put(&mut pending, at, &state);
                break;
            }
        }
    }
    values
}

fn put(pending: &mut BTreeMap<usize, State>, at: usize, state: &State) {
    pending.entry(at).and_modify(|there| there.meet(state)).or_insert(*state);
}

pub const fn value(answer: u32) -> Value {
    (answer & libc::SECCOMP_RET_ACTION_FULL).cast_signed()
}

impl State {
    fn step(&mut self, Instruction { code, if_true, if_false, k }: Instruction, number: u32) -> Next {
        let operation = u32::from(code);
        let index = k as usize % WORDS;
        match operation & 0x07 {
            libc::BPF_LD => self.a = self.loaded(operation, k, index, number),
            libc::BPF_LDX => self.x = self.loaded(operation, k, index, number),
            libc::BPF_ST => self.memory[index] = self.a,
            libc::BPF_STX => self.memory[index] = self.x,
            libc::BPF_ALU => {
                let by = if operation & libc::BPF_X == 0 { Some(k) } else { self.x };
                let may_end = operation & 0xf0 == libc::BPF_DIV && by.is_none();
                match computed(operation & 0xf0, self.a, by) {
                    Ok(result) => self.a = result,
                    Err(DividedByZero) => return Next::Answer(Some(libc::SECCOMP_RET_KILL_THREAD)),
                }
                if may_end {
                    return Next::FollowingOrEnd;
                }
            }
            libc::BPF_JMP if operation & 0xf0 == libc::BPF_JA => return Next::Skip(k),
            libc::BPF_JMP => {
                let with = if operation & libc::BPF_X == 0 { Some(k) } else { self.x };
                let (this, that) = (u32::from(if_true), u32::from(if_false));
                return match self.a.zip(with).map(|(a, with)| is_true(operation & 0xf0, a, with)) {
                    Some(true) => Next::Skip(this),
                    Some(false) => Next::Skip(that),
                    None if this == that => Next::Skip(this),
                    None => Next::Either(this, that),
                };
            }
            libc::BPF_RET => return Next::Answer(if operation & 0x18 == 0x10 { self.a } else { Some(k) }),
            // BPF_MISC: TXA, or TAX.
            _ if operation & 0x80 != 0 => self.a = self.x,
            _ => self.x = self.a,
        }
        Next::Following
    }

    fn loaded(&self, operation: u32, k: u32, index: usize, number: u32) -> Word {
        match operation & 0xe0 {
            libc::BPF_IMM => Some(k),
            libc::BPF_MEM => self.memory[index],
            libc::BPF_LEN => Some(DATA_BYTES),
            libc::BPF_ABS if k == NUMBER_AT => Some(number),
            libc::BPF_ABS if k == ARCH_AT => Some(ARCH_X86_64),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub struct DividedByZero;

pub fn computed(operation: u32, a: Word, by: Word) -> Result<Word, DividedByZero> {
    if operation == libc::BPF_NEG {
        return Ok(a.map(u32::wrapping_neg));
    }
    if operation == libc::BPF_DIV && by == Some(0) {
        return Err(DividedByZero);
    }
    // A mask that leaves nothing.
    if operation == libc::BPF_AND && (a == Some(0) || by == Some(0)) {
        return Ok(Some(0));
    }
    let Some((a, by)) = a.zip(by) else { return Ok(None) };
    Ok(match operation {
        libc::BPF_ADD => Some(a.wrapping_add(by)),
        libc::BPF_SUB => Some(a.wrapping_sub(by)),
        libc::BPF_MUL => Some(a.wrapping_mul(by)),
        libc::BPF_DIV => Some(a / by),
        libc::BPF_AND => Some(a & by),
        libc::BPF_OR => Some(a | by),
        libc::BPF_XOR => Some(a ^ by),
        // By the lowest five bits, as x86-64 and the kernel's interpreter do.
        libc::BPF_LSH => Some(a.wrapping_shl(by)),
        libc::BPF_RSH => Some(a.wrapping_shr(by)),
        _ => None,
    })
}

const fn is_true(operation: u32, a: u32, with: u32) -> bool {
    match operation {
        libc::BPF_JEQ => a == with,
        libc::BPF_JGT => a > with,
        libc::BPF_JGE => a >= with,
        // BPF_JSET
        _ => a & with != 0,
    }
}
