//! How genba reads the memory of the process that it is in: a read gives a value or a fault.
//! Owns: the kinds of `Memory` in the own process, the one guarded load. Never: dereferences, returns a default on a fault.
//! Keeps: I-06 (guarded reads only). Partner: agent/src/system/signals/faults.rs steps over the faulting instruction.

use core::arch::{asm, global_asm};
use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;
use genba_python::memory::{Address, Fault, Memory};

/// Loads that may fault: the agent's SIGSEGV and SIGBUS handler steps over the instruction.
/// Use only while that handler is installed and both signals are unblocked on this thread.
#[derive(Clone, Copy)]
pub struct Guarded;

/// `process_vm_readv` on the own process: slower, needs no handler. Reads blocks and keeps the last few of them, so use one
/// for one look only.
pub struct ByKernel<'a> {
    pid: u32,
    /// Where each block begins; blocks are aligned to their size, so that none crosses a page.
    addresses: [Cell<Option<u64>>; BLOCKS],
    blocks: &'a Blocks,
}

/// Where the blocks lie: not on the stack of whoever reads, which may be a small one. For one reader at a time.
pub struct Blocks([UnsafeCell<MaybeUninit<Block>>; BLOCKS]);

impl Blocks {
    #[must_use]
    pub const fn zeroed() -> Blocks {
        Blocks([const { UnsafeCell::new(MaybeUninit::zeroed()) }; BLOCKS])
    }
}

const BLOCK_BYTES: u64 = 256;
const BLOCKS: usize = 8;
type Block = [u64; BLOCK_BYTES as usize / 8];

impl ByKernel<'_> {
    #[inline(always)]
    #[must_use]
    pub const fn new(pid: u32, blocks: &Blocks) -> ByKernel<'_> {
        ByKernel { pid, addresses: [const { Cell::new(None) }; BLOCKS], blocks }
    }

    /// The aligned word at `address`.
    #[inline]
    fn aligned(&self, address: u64) -> Result<u64, Fault> {
        let begin = address & !(BLOCK_BYTES - 1);
        let slot = (begin / BLOCK_BYTES) as usize % BLOCKS;
        let (Some(known), Some(block)) = (self.addresses.get(slot), self.blocks.0.get(slot)) else { return Err(Fault) };
        if known.get() != Some(begin) {
            known.set(None);
            self.fetch(begin, block.get().cast())?;
            known.set(Some(begin));
        }
        // SAFETY: the address is set, so the kernel has written the whole block; one reader at a time, which is this one.
        let words = unsafe { (*block.get()).assume_init_ref() };
        words.get((address - begin) as usize / 8).copied().ok_or(Fault)
    }

    fn fetch(&self, address: u64, block: *mut u64) -> Result<(), Fault> {
        // SAFETY: one of our blocks.
        unsafe { read_by_kernel(self.pid, address, block, BLOCK_BYTES) }
    }
}

/// The same call for each word, where a few are wanted and there is no room for blocks.
#[derive(Clone, Copy)]
pub struct WordsByKernel {
    pub pid: u32,
}

impl Memory for WordsByKernel {
    const IS_CHEAP: bool = false;

    #[inline]
    fn word(&self, address: Address) -> Result<u64, Fault> {
        let mut word = 0;
        // SAFETY: a word on this stack.
        unsafe { read_by_kernel(self.pid, address.0, &raw mut word, 8)? };
        Ok(word)
    }
}

/// # Safety
/// There is room for `bytes` at `into`.
unsafe fn read_by_kernel(pid: u32, address: u64, into: *mut u64, bytes: u64) -> Result<(), Fault> {
    const SYS_PROCESS_VM_READV: u64 = 310;
    let local: [u64; 2] = [into as u64, bytes];
    let remote: [u64; 2] = [address, bytes];
    let done: u64;
    // SAFETY: the kernel writes to `into`, as the caller promises, and reads the two vectors on this stack. A bad remote address
    // gives an error, never a fault.
    unsafe {
        asm!("syscall", inout("rax") SYS_PROCESS_VM_READV => done, in("rdi") u64::from(pid),
            in("rsi") local.as_ptr(), in("rdx") 1_u64, in("r10") remote.as_ptr(), in("r8") 1_u64, in("r9") 0_u64,
            out("rcx") _, out("r11") _);
    }
    if done == bytes { Ok(()) } else { Err(Fault) }
}

// The two instructions that may fault have labels, so that the fault handler can tell them by address. Nothing lies on the first page:
// fields of a null pointer, the commonest of all that cannot be read, are refused without a fault, at which a debugger would stop.
global_asm!(
    ".pushsection .text.genba_guarded,\"ax\",@progbits",
    ".hidden genba_guarded_load",
    ".globl genba_guarded_load",
    ".type genba_guarded_load,@function",
    "genba_guarded_load:",
    ".cfi_startproc",
    "cmp rdi, 4096",
    "jb genba_guarded_load_failed",
    ".hidden genba_guarded_load_at",
    ".globl genba_guarded_load_at",
    "genba_guarded_load_at:",
    "mov rax, qword ptr [rdi]",
    "xor edx, edx",
    "ret",
    ".hidden genba_guarded_load_failed",
    ".globl genba_guarded_load_failed",
    "genba_guarded_load_failed:",
    "xor eax, eax",
    "mov edx, 1",
    "ret",
    ".cfi_endproc",
    ".size genba_guarded_load, . - genba_guarded_load",
    ".hidden genba_guarded_tsc",
    ".globl genba_guarded_tsc",
    ".type genba_guarded_tsc,@function",
    "genba_guarded_tsc:",
    ".cfi_startproc",
    "rdtsc",
    "shl rdx, 32",
    "or rax, rdx",
    "ret",
    ".hidden genba_guarded_tsc_failed",
    ".globl genba_guarded_tsc_failed",
    "genba_guarded_tsc_failed:",
    "xor eax, eax",
    "ret",
    ".cfi_endproc",
    ".size genba_guarded_tsc, . - genba_guarded_tsc",
    ".popsection",
);

unsafe extern "C" {
    fn genba_guarded_load();
    fn genba_guarded_load_at();
    fn genba_guarded_load_failed();
    fn genba_guarded_tsc();
    fn genba_guarded_tsc_failed();
}

/// Where a fault at `pc` continues, when the fault is one of genba's own guarded instructions.
#[must_use]
pub fn resume_after_fault(pc: u64) -> Option<u64> {
    if pc == genba_guarded_load_at as *const () as u64 {
        Some(genba_guarded_load_failed as *const () as u64)
    } else if pc == genba_guarded_tsc as *const () as u64 {
        Some(genba_guarded_tsc_failed as *const () as u64)
    } else {
        None
    }
}

/// The time stamp counter; `None` where the program forbade reading it (`PR_SET_TSC`). Reading it then is a fault, as of a guarded load:
/// where faults are not welcome the kernel is asked first.
#[inline(always)]
#[must_use]
pub fn time_stamp(faults_welcome: bool) -> Option<u64> {
    if !faults_welcome && !time_stamps_allowed() {
        return None;
    }
    let value: u64;
    // SAFETY: calls the stub above, which writes rax and rdx only and cannot fail otherwise than by its own label.
    unsafe {
        asm!("call {stub}", stub = sym genba_guarded_tsc, out("rax") value, out("rdx") _);
    }
    if value == 0 { None } else { Some(value) }
}

/// What the calling thread asked for with `PR_SET_TSC`.
#[inline(never)]
fn time_stamps_allowed() -> bool {
    const SYS_PRCTL: u64 = 157;
    const PR_GET_TSC: u64 = 25;
    const PR_TSC_ENABLE: u32 = 1;
    let mut mode = 0_u32;
    let failed: u64;
    // SAFETY: the kernel writes one int on this stack.
    unsafe {
        asm!("syscall", inout("rax") SYS_PRCTL => failed, in("rdi") PR_GET_TSC, in("rsi") &raw mut mode, in("rdx") 0_u64,
            in("r10") 0_u64, in("r8") 0_u64, out("rcx") _, out("r11") _);
    }
    failed == 0 && mode == PR_TSC_ENABLE
}

impl Memory for Guarded {
    #[inline(always)]
    fn word(&self, address: Address) -> Result<u64, Fault> {
        let value: u64;
        let failed: u64;
        // SAFETY: the stub reads eight bytes at any address; a fault is turned into `failed = 1` by the fault handler
        // (I-06, guaranteed by whoever chose `Guarded`). `call` uses eight bytes below the stack pointer; nostack is
        // not claimed, so the compiler keeps no red zone here.
        unsafe {
            asm!("call {stub}", stub = sym genba_guarded_load, in("rdi") address.0, out("rax") value, out("rdx") failed,
                options(readonly));
        }
        if failed == 0 { Ok(value) } else { Err(Fault) }
    }
}

impl Memory for ByKernel<'_> {
    const IS_CHEAP: bool = false;

    #[inline]
    fn word(&self, address: Address) -> Result<u64, Fault> {
        let shift_bits = (address.0 & 7) * 8;
        let low = self.aligned(address.0 & !7)?;
        if shift_bits == 0 {
            return Ok(low);
        }
        let high = self.aligned((address.0 & !7).wrapping_add(8))?;
        Ok(low >> shift_bits | high << (64 - shift_bits))
    }
}

#[cfg(test)]
mod tests {
    use super::Guarded;
    use genba_python::memory::{Address, Fault, Memory};

    /// Without a handler for faults: one would end the test.
    #[test]
    fn fields_of_a_null_pointer_are_refused_without_a_fault() {
        for offset_bytes in [0, 1, 0x48, 4095] {
            assert_eq!(Guarded.word(Address::NULL.at(offset_bytes)), Err(Fault));
        }
        let word = 7_u64;
        assert_eq!(Guarded.word(Address(&raw const word as u64)), Ok(7));
    }
}
