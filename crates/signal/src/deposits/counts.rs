//! What a thread does whose count of copied or of allocated bytes has run out: it leaves its stack, and begins the next count.
//! Owns: the slots, in which threads count; the mean distance of two samples. Never: calls, allocates, waits, touches errno; looks where
//! the stack has no room for that. Partners: crates/copies and crates/allocations count down, agent/src/sampling/sampler/bookkeeping/counts.rs takes.
//! Keeps: I-04, I-07.
//!
//! Each byte is chosen with the same probability, 1 / mean: the distance from a sample to the next is drawn from an exponential distribution,
//! so that no rhythm of the program can favour a place. The rest of a copy beyond the chosen byte is not counted against the next distance.
//! So the copies are chosen independently of each other, one of n bytes with the probability 1 - exp(-n / mean).

use crate::deposits::{self, NotLeft};
use crate::request::{Cause, Counted, Question, Reading};
use crate::rows::Registers;
use core::arch::asm;
use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::SeqCst};
use genba_python::thread_states::{States, ThreadHints};

/// Threads that count at the same time; what more there are copy uncounted.
pub const SLOTS_MAX: usize = 1024;
/// At first.
pub const MEAN_BYTES_MIN: u64 = 512 << 10;
pub const MEAN_BYTES_MAX: u64 = 1 << 36;
/// What a look takes of the stack, and what a fault during it takes: its frame has up to 11 kB with AMX.
const ROOM_BYTES: u64 = 20 << 10;
const PAGE_BYTES: u64 = 4096;

/// One thread's count. `given - left` is what it has copied or allocated, at any time. The slot of a thread that ended goes on with the next thread.
#[repr(C, align(64))]
pub struct Slot {
    /// Bytes until the next sample. The hooks take from it: it is the first field.
    left: AtomicI64,
    /// Sum of all distances.
    given: AtomicI64,
    /// 0: nobody's.
    tid: AtomicU32,
    /// Its thread is in `noticed`; what a signal handler does is counted then, and not sampled.
    is_busy: AtomicU32,
    mean_bytes: AtomicU64,
    random: AtomicU64,
}

impl Slot {
    const fn new(left: i64) -> Slot {
        Slot {
            left: AtomicI64::new(left),
            given: AtomicI64::new(left),
            tid: AtomicU32::new(0),
            is_busy: AtomicU32::new(0),
            mean_bytes: AtomicU64::new(MEAN_BYTES_MIN),
            random: AtomicU64::new(0),
        }
    }
}

/// What is counted: one for copies, one for allocations.
pub struct Counts {
    of: Counted,
    slots: [Slot; SLOTS_MAX],
    /// Of threads that are not counted: genba's own, and those that found no slot.
    uncounted: Slot,
    pub told: Told,
    /// What threads tell the sampler: the bytes of samples that found no room.
    pub lost_bytes: AtomicU64,
    /// Threads that found no slot.
    pub without_slot: AtomicU64,
    /// What `counted_bytes` and `lost_bytes` were when this process was forked; 0 in one that was not.
    pub at_fork: [AtomicU64; 2],
}

pub static COPIES: Counts = Counts::new(Counted::Copies);
pub static ALLOCATIONS: Counts = Counts::new(Counted::Allocations);

/// What the sampler tells the threads.
pub struct Told {
    /// How a thread may read: 0 not at all, 1 guarded, 2 by the kernel.
    reading: AtomicU32,
    native: AtomicU32,
    pub mean_bytes: AtomicU64,
}

impl Told {
    /// None: no stack is to be left from here on. Who has begun ends within the time of a walk (`Pool::nobody_walks`).
    pub fn set(&self, reading: Option<Reading>, native: bool) {
        self.native.store(u32::from(native), SeqCst);
        self.reading.store(reading.map_or(0, |reading| if reading == Reading::Guarded { 1 } else { 2 }), SeqCst);
    }
}

impl Counts {
    const fn new(of: Counted) -> Counts {
        Counts {
            of,
            slots: [const { Slot::new(0) }; SLOTS_MAX],
            uncounted: Slot::new(i64::MAX),
            told: Told {
                reading: AtomicU32::new(0),
                native: AtomicU32::new(1),
                mean_bytes: AtomicU64::new(MEAN_BYTES_MIN),
            },
            lost_bytes: AtomicU64::new(0),
            without_slot: AtomicU64::new(0),
            at_fork: [const { AtomicU64::new(0) }; 2],
        }
    }

    /// The bytes of all threads so far, ended ones too. Each count is read from the old side: it may lag, and never leads.
    #[must_use]
    pub fn counted_bytes(&self) -> u64 {
        let counted = self.slots.iter().map(|slot| {
            // First `given`: a thread writes it last.
            let given = slot.given.load(SeqCst);
            given.saturating_sub(slot.left.load(SeqCst)).max(0).unsigned_abs()
        });
        counted.fold(0, u64::saturating_add)
    }

    /// Frees the slots of threads that ended.
    pub fn free_slots(&self, ended: impl Fn(u32) -> bool) {
        for slot in &self.slots {
            let tid = slot.tid.load(SeqCst);
            if tid != 0 && ended(tid) {
                // A new thread with the same number may have taken it over meanwhile: it finds another one.
                let _ = slot.tid.compare_exchange(tid, 0, SeqCst, SeqCst);
            }
        }
    }

    /// What the calling thread does is not counted from here on. `word`: as `genba_on_copy` gets it.
    ///
    /// # Safety
    /// `word` is the calling thread's, in the library that counts this.
    pub unsafe fn exclude(&'static self, word: *mut *const Slot) {
        // SAFETY: the caller's promise.
        unsafe { word.write(&raw const self.uncounted) };
    }

    /// In a forked child: the other threads are not there, and this one has another number. What it leaves before its own
    /// sampler comes would name rows of its parent's tables: until then it only counts, and is in no sample.
    ///
    /// # Safety
    /// `word` is the calling thread's, in the library that counts this.
    pub unsafe fn forked(&self, word: *mut *const Slot, tid: u32) {
        self.at_fork[0].store(self.counted_bytes(), SeqCst);
        self.at_fork[1].store(self.lost_bytes.load(SeqCst), SeqCst);
        self.told.reading.store(0, SeqCst);
        // SAFETY: the caller's promise.
        let own = unsafe { word.read() };
        for slot in &self.slots {
            slot.tid.store(if core::ptr::eq(slot, own) { tid } else { 0 }, SeqCst);
            slot.is_busy.store(0, SeqCst);
        }
    }

    /// # Safety
    /// As that of `genba_on_copy`.
    #[inline(always)]
    unsafe fn noticed(&'static self, word: *mut *const Slot, bytes: u64, registers: Registers) {
        // SAFETY: the thread's own word; slots live as long as the process.
        let mut slot = unsafe { word.read().as_ref() };
        if slot.is_none() {
            let tid = system_call(SYS_GETTID, [0; 4]) as u32;
            let claimed = self.claim(tid);
            // SAFETY: as above.
            unsafe { word.write(claimed) };
            if core::ptr::eq(claimed, &raw const self.uncounted) {
                return;
            }
            begin(claimed, &self.told);
            if claimed.left.fetch_sub(bytes as i64, SeqCst) >= bytes as i64 {
                return;
            }
            slot = Some(claimed);
        }
        let Some(slot) = slot else { return };
        if core::ptr::eq(slot, &raw const self.uncounted) || slot.is_busy.swap(1, SeqCst) != 0 {
            return;
        }
        let tid = slot.tid.load(SeqCst);
        // Else this is a child by vfork, with the memory of its parent, or by a bare system call. It only counts.
        if system_call(SYS_GETTID, [0; 4]) as u32 == tid {
            let cause = Cause { of: self.of, tid, bytes, mean_bytes: slot.mean_bytes.load(SeqCst) };
            let left = sample(cause, registers, &self.told);
            if left.is_err() {
                self.lost_bytes.fetch_add(stands_for(cause), SeqCst);
            }
            // The sampler cannot keep up: with each further sample the next ones become rarer, so that the buffers last until it comes.
            if left == Err(NotLeft::NoBuffer) || deposits::POOL.in_use() > deposits::DEPOSITS / 2 {
                let mean_bytes = self.told.mean_bytes.load(SeqCst);
                self.told.mean_bytes.store(mean_bytes.saturating_mul(2).min(MEAN_BYTES_MAX), SeqCst);
            }
            begin(slot, &self.told);
        }
        slot.is_busy.store(0, SeqCst);
    }

    /// A thread that comes again without its word has the number of one that ended: it takes over its slot.
    fn claim(&'static self, tid: u32) -> &'static Slot {
        if let Some(slot) = self.slots.iter().find(|slot| slot.tid.load(SeqCst) == tid) {
            return slot;
        }
        let free = self
            .slots
            .iter()
            .find(|slot| slot.tid.load(SeqCst) == 0 && slot.tid.compare_exchange(0, tid, SeqCst, SeqCst).is_ok());
        if free.is_none() {
            self.without_slot.fetch_add(1, SeqCst);
        }
        free.unwrap_or(&self.uncounted)
    }
}

/// Called by the hooks of crates/copies with the copy that is about to be made.
///
/// # Safety
/// `word` is the calling thread's pointer to its slot, `stack` its stack pointer when it called the function at `function`.
pub unsafe extern "C" fn genba_on_copy(word: *mut *const Slot, bytes: u64, stack: u64, rbp: u64, function: u64) {
    // SAFETY: the caller's promise.
    unsafe { COPIES.noticed(word, bytes, Registers { rip: function, rsp: stack, rbp: Some(rbp) }) };
}

/// Called by the hooks of crates/allocations: the same with the memory that is asked for.
///
/// # Safety
/// As above.
pub unsafe extern "C" fn genba_on_allocation(word: *mut *const Slot, bytes: u64, stack: u64, rbp: u64, function: u64) {
    // SAFETY: the caller's promise.
    unsafe { ALLOCATIONS.noticed(word, bytes, Registers { rip: function, rsp: stack, rbp: Some(rbp) }) };
}

/// Draws the next distance. What the slot has counted stays the same.
fn begin(slot: &Slot, told: &Told) {
    let mean_bytes = told.mean_bytes.load(SeqCst);
    let mut random = slot.random.load(SeqCst);
    if random == 0 {
        random =
            (slot as *const Slot as u64) ^ u64::from(slot.tid.load(SeqCst)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    }
    // xorshift64*: Vigna, An experimental exploration of Marsaglia's xorshift generators, scrambled (2016).
    random ^= random >> 12;
    random ^= random << 25;
    random ^= random >> 27;
    slot.random.store(random, SeqCst);
    let distance = exponential(random.wrapping_mul(0x2545_f491_4f6c_dd1d)) * mean_bytes as f64;
    let distance = (distance as i64).max(1);
    slot.mean_bytes.store(mean_bytes, SeqCst);
    // A handler's copies may come in between: they are counted in the old distance.
    let left = slot.left.swap(distance, SeqCst);
    slot.given.fetch_add(distance - left, SeqCst);
}

/// A number of the exponential distribution with mean 1, made of 64 random bits: -ln of a number in (0, 1].
fn exponential(random: u64) -> f64 {
    // In [1, 2^53].
    let whole = (random >> 11) + 1;
    let exponent = 63 - u64::leading_zeros(whole);
    // In [1, 2).
    let mantissa = whole as f64 / (1_u64 << exponent) as f64;
    // ln by the series of the area tangent, whose argument is at most 1/3: wrong by less than 1e-8.
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let square = t * t;
    let (mut power, mut sum) = (t, 0.0);
    let mut divisor = 1.0;
    for _ in 0..8 {
        sum += power / divisor;
        power *= square;
        divisor += 2.0;
    }
    f64::from(53 - exponent) * core::f64::consts::LN_2 - 2.0 * sum
}

/// About n / (1 - exp(-n / mean)), for what is lost only: n + mean / 2 + n² / 12 mean for copies up to twice the mean, n beyond.
fn stands_for(cause: Cause) -> u64 {
    let (bytes, mean) = (cause.bytes as f64, cause.mean_bytes as f64);
    let stands_for = if bytes < 2.0 * mean { mean + bytes / 2.0 + bytes * bytes / (12.0 * mean) } else { bytes };
    stands_for as u64
}

fn sample(cause: Cause, registers: Registers, told: &Told) -> Result<(), NotLeft> {
    // Asked here, before there is a buffer: none of it depends on the sampler.
    let faults_welcome = match look_room() {
        None => return Err(NotLeft::NotNow),
        Some(faults_welcome) => faults_welcome,
    };
    let question = || {
        let reading = match told.reading.load(SeqCst) {
            1 if faults_welcome => Reading::Guarded,
            1 | 2 => Reading::ByKernel,
            _ => return None,
        };
        // Not what the sampler published: in a forked child copies come before it does.
        let pid = system_call(SYS_GETPID, [0; 4]) as u32;
        let thread = ThreadHints { pid, tid: cause.tid, states: States::EMPTY };
        Some(Question { thread, native: told.native.load(SeqCst) != 0, counts_beyond: false, reading })
    };
    deposits::leave(question, registers, cause).map(|_| ())
}

/// Whether a fault of a guarded read reaches genba's handler here. None: the stack has no room for a look.
fn look_room() -> Option<bool> {
    let local = 0_u64;
    let here = core::hint::black_box(&raw const local) as u64;
    // A stack of its own for signal handlers: address, flags, size.
    let mut alternate = [0_u64; 3];
    if system_call(SYS_SIGALTSTACK, [0, (&raw mut alternate) as u64, 0, 0]) == 0 {
        let above = here.wrapping_sub(alternate[0]);
        if above < alternate[2] && above < ROOM_BYTES {
            return None;
        }
    }
    // The kernel is asked to read a mask there, for an operation that does not exist: EINVAL where it can be read, EFAULT where not.
    for page in 1..=ROOM_BYTES / PAGE_BYTES {
        let address = here.wrapping_sub(page * PAGE_BYTES) & !7;
        if system_call(SYS_RT_SIGPROCMASK, [u64::from(u32::MAX), address, 0, 8]) != EINVAL {
            return None;
        }
    }
    const MASK_FAULTS: u64 = 1 << (11 - 1) | 1 << (7 - 1);
    let mut mask = 0_u64;
    let failed = system_call(SYS_RT_SIGPROCMASK, [0, 0, (&raw mut mask) as u64, 8]) != 0;
    Some(!failed && mask & MASK_FAULTS == 0)
}

const SYS_RT_SIGPROCMASK: u64 = 14;
const SYS_GETPID: u64 = 39;
const SYS_SIGALTSTACK: u64 = 131;
const SYS_GETTID: u64 = 186;
const EINVAL: i64 = -22;

/// Those above: they read or write at most the memory that their arguments name, and fail where they cannot.
#[inline(always)]
fn system_call(number: u64, arguments: [u64; 4]) -> i64 {
    let result: i64;
    // SAFETY: the callers give addresses of their own, or ones that the kernel only tries to read.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") arguments[0], in("rsi") arguments[1],
            in("rdx") arguments[2], in("r10") arguments[3], out("rcx") _, out("r11") _, options(nostack));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{MEAN_BYTES_MIN, exponential, stands_for};
    use crate::request::{Cause, Counted};

    /// -ln of the very number, which the standard library knows.
    #[test]
    fn distances_are_exponential() {
        extern crate std;
        for random in [0, 1, 1 << 11, u64::MAX, u64::MAX / 2, u64::MAX / 3, 0x1234_5678_9abc_def0] {
            let expected = -(((random >> 11) + 1) as f64 / (1_u64 << 53) as f64).ln();
            assert!((exponential(random) - expected).abs() < 1e-8, "{random}: {} {expected}", exponential(random));
        }
    }

    #[test]
    fn what_is_lost_is_about_what_a_sample_would_have_stood_for() {
        extern crate std;
        for parts in 1_u64..80 {
            let cause =
                Cause { of: Counted::Copies, tid: 1, bytes: parts * MEAN_BYTES_MIN / 8, mean_bytes: MEAN_BYTES_MIN };
            let expected = cause.bytes as f64 / (1.0 - (-(cause.bytes as f64 / cause.mean_bytes as f64)).exp());
            let ratio = stands_for(cause) as f64 / expected;
            assert!((0.85..1.05).contains(&ratio), "{parts}: {ratio}");
        }
    }
}
