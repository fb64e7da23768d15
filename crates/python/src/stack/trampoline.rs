//! The few bytes of machine code through which CPython calls each Python function under `-X perf` and `sys.activate_stack_trampoline`: no file has
//! them, and no unwind table.
//! Owns: how they look, and where the caller's registers are. Never: takes other code for them. Keeps: I-04, I-07.
//! Source: CPython Python/asm_trampoline.S, x86-64, 3.12 to 3.15; `endbr64` stands before it where CPython was built with CET.

use crate::memory::{Address, Memory};

/// `sub rsp, 8; call rcx; add rsp, 8; ret`, 3.12 and 3.13.
const BY_RSP: Code = Code {
    head: 0x8348_d1ff_08ec_8348,
    tail: 0xc3_08c4,
    tail_bytes: 3,
    return_at: 6,
    frame_ends_at: 10,
    saves_rbp: false,
};
/// `push rbp; mov rbp, rsp; call rcx; pop rbp; ret`, from 3.14 on.
const BY_RBP: Code =
    Code { head: 0xc35d_d1ff_e589_4855, tail: 0, tail_bytes: 0, return_at: 6, frame_ends_at: 7, saves_rbp: true };
const ENDBR64: u64 = 0xfa1e_0ff3;
const ENDBR64_BYTES: u64 = 4;

struct Code {
    /// The first eight bytes, and what follows them.
    head: u64,
    tail: u64,
    tail_bytes: u32,
    /// Behind the call.
    return_at: u64,
    /// From here on the stack is as it was at the beginning; before it, from the first instruction's end on, it has a word more.
    frame_ends_at: u64,
    saves_rbp: bool,
}

/// The way from a trampoline to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trampoline {
    /// From the stack pointer to the address behind the return address.
    pub cfa_offset_bytes: u64,
    /// The caller's frame pointer is where the stack pointer points to; else it is still in its register.
    pub saves_rbp: bool,
}

/// What is at `pc`. `is_exact`: it is an instruction that runs, and no return address.
pub fn at<M: Memory>(memory: &M, pc: u64, is_exact: bool) -> Option<Trampoline> {
    // The first instruction of both pushes a word.
    const INSTRUCTIONS: [u64; 7] = [0, 1, 4, 6, 7, 10, ENDBR64_BYTES.wrapping_neg()];
    for code in [&BY_RSP, &BY_RBP] {
        if !is_exact {
            if code.is_at(memory, pc.wrapping_sub(code.return_at)) {
                return Some(code.inside());
            }
            continue;
        }
        for offset in INSTRUCTIONS {
            if code.is_at(memory, pc.wrapping_sub(offset)) {
                if offset == ENDBR64_BYTES.wrapping_neg() {
                    let is_marked = memory.word(Address(pc)).is_ok_and(|word| word & 0xffff_ffff == ENDBR64);
                    return is_marked.then_some(Trampoline::OUTSIDE);
                }
                return Some(if offset > 0 && offset < code.frame_ends_at {
                    code.inside()
                } else {
                    Trampoline::OUTSIDE
                });
            }
        }
    }
    None
}

impl Trampoline {
    /// Before the first instruction, and at `ret`.
    const OUTSIDE: Trampoline = Trampoline { cfa_offset_bytes: 8, saves_rbp: false };
}

impl Code {
    const fn inside(&self) -> Trampoline {
        Trampoline { cfa_offset_bytes: 16, saves_rbp: self.saves_rbp }
    }

    fn is_at<M: Memory>(&self, memory: &M, begin: u64) -> bool {
        let mask = (1_u64 << (8 * self.tail_bytes)) - 1;
        memory.word(Address(begin)) == Ok(self.head)
            && (mask == 0 || memory.word(Address(begin).at(8)).is_ok_and(|word| word & mask == self.tail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Fault;

    const BEGIN: u64 = 0x7000_0000;
    const OLD: &[u8] = b"\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3";
    const NEW: &[u8] = b"\x55\x48\x89\xe5\xff\xd1\x5d\xc3";

    struct Bytes(Vec<u8>);

    impl Memory for Bytes {
        fn word(&self, address: Address) -> Result<u64, Fault> {
            let at = usize::try_from(address.0.checked_sub(BEGIN).ok_or(Fault)?).map_err(|_| Fault)?;
            let word = self.0.get(at..at + 8).ok_or(Fault)?;
            Ok(u64::from_le_bytes(word.try_into().map_err(|_| Fault)?))
        }
    }

    fn found(code: &[u8], at_byte: usize, is_exact: bool) -> Option<(u64, bool)> {
        let memory = Bytes([&[0x90; 16], code, &[0x90; 16]].concat());
        at(&memory, BEGIN + 16 + at_byte as u64, is_exact).map(|found| (found.cfa_offset_bytes, found.saves_rbp))
    }

    #[test]
    fn behind_the_call() {
        assert_eq!(found(OLD, 6, false), Some((16, false)));
        assert_eq!(found(NEW, 6, false), Some((16, true)));
        for other in (0..12).filter(|&other| other != 6) {
            assert_eq!((found(OLD, other, false), found(NEW, other, false)), (None, None), "{other}");
        }
    }

    #[test]
    fn at_each_instruction() {
        let old = [(0, 8), (4, 16), (6, 16), (10, 8)];
        for (offset, cfa) in old {
            assert_eq!(found(OLD, offset, true), Some((cfa, false)), "{offset}");
        }
        for (offset, cfa, saves) in [(0, 8, false), (1, 16, true), (4, 16, true), (6, 16, true), (7, 8, false)] {
            assert_eq!(found(NEW, offset, true), Some((cfa, saves)), "{offset}");
        }
        for code in [OLD, NEW] {
            let marked = [b"\xf3\x0f\x1e\xfa", code].concat();
            assert_eq!(found(&marked, 0, true), Some((8, false)));
            assert_eq!(found(&marked, 4, true), Some((8, false)));
            assert_eq!(found(&marked, 10, false).map(|found| found.0), Some(16));
        }
    }

    #[test]
    fn other_code_is_none() {
        for code in [OLD, NEW] {
            for changed in 0..code.len() {
                let mut other = code.to_vec();
                other[changed] ^= 0x10;
                assert_eq!(found(&other, 6, false), None, "{changed}");
            }
            // At the end of readable memory.
            assert_eq!(at(&Bytes(code.to_vec()), BEGIN + 40, true), None);
        }
    }
}
