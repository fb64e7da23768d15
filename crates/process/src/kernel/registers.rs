//! The registers of a thread, as far as they are known: of a stopped thread all, of a sleeping one those that the kernel tells.
//! Owns: their numbers in unwind tables (System V ABI, AMD64, figure 3.36). Never: a value that is not the thread's.

use nix::libc::user_regs_struct;

pub const RBP: u16 = 6;
pub const RSP: u16 = 7;
pub const RIP: u16 = 16;
const COUNT: usize = 17;
/// What a function gives back as it got it: rbx, rbp, r12 to r15.
pub const KEPT_BY_CALLEES: [u16; 6] = [3, 6, 12, 13, 14, 15];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers([Option<u64>; COUNT]);

impl Registers {
    /// A sleeping thread: `/proc/PID/task/TID/syscall` tells no more.
    #[must_use]
    pub fn of_sleeping(stack_pointer: u64, instruction: u64) -> Registers {
        let mut registers = Registers::default();
        registers.set(RSP, Some(stack_pointer).filter(|&pointer| pointer != 0));
        registers.set(RIP, Some(instruction).filter(|&instruction| instruction != 0));
        registers
    }

    /// By their numbers.
    #[must_use]
    pub fn of_all(in_order: [u64; COUNT]) -> Registers {
        Registers(in_order.map(Some))
    }

    #[must_use]
    pub fn get(&self, number: u16) -> Option<u64> {
        self.0.get(usize::from(number)).copied().flatten()
    }

    pub fn set(&mut self, number: u16, value: Option<u64>) {
        if let Some(register) = self.0.get_mut(usize::from(number)) {
            *register = value;
        }
    }

    /// 0: not known.
    #[must_use]
    pub fn stack_pointer(&self) -> u64 {
        self.get(RSP).unwrap_or(0)
    }
}

impl From<user_regs_struct> for Registers {
    fn from(all: user_regs_struct) -> Registers {
        let in_order = [
            all.rax, all.rdx, all.rcx, all.rbx, all.rsi, all.rdi, all.rbp, all.rsp, all.r8, all.r9, all.r10, all.r11,
            all.r12, all.r13, all.r14, all.r15, all.rip,
        ];
        Registers::of_all(in_order)
    }
}
