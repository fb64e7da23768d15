//! What runs in the signal handler: one of five ways of spending time there, each measured by the time stamp counter.
//! Owns: the installed handler, and where its numbers go. Never: allocates or locks in the handler. framehop runs with the
//! policy that it promises the same under.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::SeqCst};

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{FrameAddress, MustNotAllocateDuringUnwind, Unwinder};
use genba_signal::genba_on_sample;
use genba_signal::handler::SHARED;
use genba_signal::memory::Guarded;
use genba_signal::rows::Registers;
use genba_signal::unwind::{NATIVE_MAX, NativeFrame};
use genba_signal::walk_memory::WalkMemory;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Way {
    /// Nothing to do: the signal is not the bench's.
    None = 0,
    /// genba's walk by flat rows, twice.
    Rows = 1,
    /// framehop, twice.
    Framehop = 2,
    /// A chain of frame pointers, many times.
    FramePointers = 3,
    /// The whole of genba's handler.
    Handler = 4,
    /// A loop without memory that lasts as long as the handler's median.
    Nothing = 5,
}

pub const WAYS: [Way; 5] = [Way::Rows, Way::Framehop, Way::FramePointers, Way::Handler, Way::Nothing];
pub const CHAIN_FRAMES: usize = 50;
pub const CHAIN_ROUNDS: usize = 40;
const CHAIN_WORDS_APART: usize = 12;

/// One signal's numbers; times in ticks of the time stamp counter.
#[derive(Clone, Copy, Default, Debug)]
pub struct Numbers {
    pub frames: usize,
    pub first_tsc: u64,
    pub again_tsc: u64,
    pub context_switches: u64,
    pub page_faults: u64,
}

pub struct Bench {
    pub way: AtomicU64,
    /// How many signals were answered.
    pub answered: AtomicU64,
    pub spin_tsc: AtomicU64,
    /// Written by the handler between the asker's `way` and its `answered`.
    inside: UnsafeCell<Inside>,
}

struct Inside {
    numbers: Numbers,
    unwinder: UnwinderX86_64<Vec<u8>, MustNotAllocateDuringUnwind>,
    cache: CacheX86_64<MustNotAllocateDuringUnwind>,
    frames: Box<[NativeFrame; NATIVE_MAX]>,
    walk_memory: WalkMemory,
    chain: Vec<u64>,
}

// SAFETY: `inside` is the handler's from the moment the asker sets `way` until the handler counts `answered`, else the asker's.
unsafe impl Sync for Bench {}

pub static BENCH: AtomicPtr<Bench> = AtomicPtr::new(std::ptr::null_mut());

impl Bench {
    pub fn new(unwinder: UnwinderX86_64<Vec<u8>, MustNotAllocateDuringUnwind>) -> &'static Bench {
        let inside = Inside {
            numbers: Numbers::default(),
            unwinder,
            cache: CacheX86_64::new_in(),
            frames: Box::new([NativeFrame::default(); NATIVE_MAX]),
            walk_memory: WalkMemory::EMPTY,
            chain: chain(),
        };
        let bench = Box::leak(Box::new(Bench {
            way: AtomicU64::new(Way::None as u64),
            answered: AtomicU64::new(0),
            spin_tsc: AtomicU64::new(0),
            inside: UnsafeCell::new(inside),
        }));
        BENCH.store(bench, SeqCst);
        bench
    }

    /// The numbers of the signal that was answered last.
    pub fn numbers(&self) -> Numbers {
        // SAFETY: the asker calls this when `answered` has moved and `way` is None.
        unsafe { (*self.inside.get()).numbers }
    }
}

/// Frames as a compiler that keeps frame pointers links them: (caller's rbp, return address), some words apart.
fn chain() -> Vec<u64> {
    let mut words = vec![0_u64; (CHAIN_FRAMES + 1) * CHAIN_WORDS_APART];
    let begin = words.as_ptr() as u64;
    for frame in 0..CHAIN_FRAMES {
        words[frame * CHAIN_WORDS_APART] = begin + ((frame + 1) * CHAIN_WORDS_APART * 8) as u64;
        words[frame * CHAIN_WORDS_APART + 1] = 0x40_0000 + frame as u64 * 64;
    }
    words
}

/// # Safety
/// Only the kernel calls this, as SIGURG's handler.
pub unsafe extern "C" fn on_signal(signal: i32, info: *const u64, context: *mut u64) {
    // SAFETY: null or leaked; when `way` is set, `inside` is this handler's alone (one thread is asked, one signal at a time).
    let Some(bench) = (unsafe { BENCH.load(SeqCst).as_ref() }) else { return };
    let way = bench.way.swap(Way::None as u64, SeqCst);
    if way == Way::None as u64 {
        return;
    }
    // SAFETY: as above; the offsets are those of genba_on_sample.
    let (inside, registers) = unsafe {
        let registers = Registers { rip: *context.add(21), rsp: *context.add(20), rbp: Some(*context.add(15)) };
        (&mut *bench.inside.get(), registers)
    };
    inside.numbers = Numbers::default();
    if way == Way::Rows as u64 {
        inside.rows(registers);
    } else if way == Way::Framehop as u64 {
        inside.framehop(registers);
    } else if way == Way::FramePointers as u64 {
        inside.frame_pointers();
    } else if way == Way::Handler as u64 {
        let before = usage();
        // SAFETY: the kernel's own arguments.
        unsafe { genba_on_sample(signal, info, context) };
        inside.numbers.since(before);
    } else {
        let lasts_tsc = bench.spin_tsc.load(SeqCst);
        let before = usage();
        let begin = tsc();
        let mut now = begin;
        while now - begin < lasts_tsc {
            now = tsc();
        }
        inside.numbers.first_tsc = now - begin;
        inside.numbers.since(before);
    }
    bench.answered.fetch_add(1, SeqCst);
}

impl Inside {
    fn rows(&mut self, registers: Registers) {
        // SAFETY: published by `Loaded`, which the asker keeps as long as it asks.
        let Some(modules) = (unsafe { SHARED.modules.load(SeqCst).as_ref() }) else { return };
        let (walk_memory, frames) = (&mut self.walk_memory, &mut self.frames);
        let mut walk = || walk_memory.walk(&Guarded, modules, registers, frames).0;
        let (len, first_tsc) = timed(&mut walk);
        let (_, again_tsc) = timed(&mut walk);
        self.note(len, first_tsc, again_tsc);
    }

    fn framehop(&mut self, registers: Registers) {
        let (unwinder, cache, frames) = (&self.unwinder, &mut self.cache, &mut self.frames);
        // SAFETY: framehop reads the stack of this very thread, at addresses that its rules name.
        let mut read = |address: u64| Ok(unsafe { (address as *const u64).read_unaligned() });
        let mut walk = || {
            let rbp = registers.rbp.unwrap_or(0);
            let mut now = UnwindRegsX86_64::new(registers.rip, registers.rsp, rbp);
            let mut address = FrameAddress::from_instruction_pointer(registers.rip);
            let mut len = 0;
            while let Some(slot) = frames.get_mut(len) {
                *slot = NativeFrame { pc: address.address(), cfa: now.sp() };
                len += 1;
                match unwinder.unwind_frame(address, &mut now, cache, &mut read) {
                    Ok(Some(caller)) => match FrameAddress::from_return_address(caller) {
                        Some(caller) => address = caller,
                        None => break,
                    },
                    _ => break,
                }
            }
            len
        };
        let (len, first_tsc) = timed(&mut walk);
        let (_, again_tsc) = timed(&mut walk);
        self.note(len, first_tsc, again_tsc);
    }

    /// A step: is the caller's frame above this one, and within the stack? Then its return address and its rbp.
    fn frame_pointers(&mut self) {
        let (chain, frames) = (&self.chain, &mut self.frames);
        let (low, high) = (chain.as_ptr() as u64, chain.as_ptr() as u64 + chain.len() as u64 * 8);
        let mut walk = || {
            let mut len = 0;
            for _ in 0..CHAIN_ROUNDS {
                let mut rbp = low;
                len = 0;
                while let Some(slot) = frames.get_mut(len) {
                    // SAFETY: `rbp` lies within the chain (checked below, true at the start), with a word behind it.
                    let [caller, pc] = unsafe { *(rbp as *const [u64; 2]) };
                    *slot = NativeFrame { pc, cfa: rbp + 16 };
                    if caller <= rbp || caller + 16 > high || caller & 7 != 0 {
                        break;
                    }
                    rbp = caller;
                    len += 1;
                }
            }
            len
        };
        let (_, first_tsc) = timed(&mut walk);
        let (len, again_tsc) = timed(&mut walk);
        self.note(len, first_tsc, again_tsc);
    }

    fn note(&mut self, frames: usize, first_tsc: u64, again_tsc: u64) {
        self.numbers = Numbers { frames, first_tsc, again_tsc, ..Numbers::default() };
    }
}

fn timed<T>(work: &mut impl FnMut() -> T) -> (T, u64) {
    let begin = tsc();
    let result = std::hint::black_box(work());
    (result, tsc() - begin)
}

fn tsc() -> u64 {
    // SAFETY: reads a counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// This thread's context switches and page faults so far.
fn usage() -> (u64, u64) {
    // SAFETY: getrusage fills the struct; a system call without locks.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    ((usage.ru_nivcsw + usage.ru_nvcsw) as u64, (usage.ru_minflt + usage.ru_majflt) as u64)
}

impl Numbers {
    fn since(&mut self, before: (u64, u64)) {
        let now = usage();
        self.context_switches = now.0 - before.0;
        self.page_faults = now.1 - before.1;
    }
}
