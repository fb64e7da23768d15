//! Stale memory: every pointer that the walk over Python frames follows leads anywhere: into the same structures, across itself in
//! rings, to odd places, to the kernel, to nothing. The walk ends, within its bounds, and what it names lies in its answer. GENBA_SOAK:
//! forty times as much memory.

use crate::layouts::{CODE_TYPE, LAYOUTS, REGION};
use genba_python::code_capture::{HASHED_BYTES_MAX, LETTERS_MAX, Seen, SeenEntry};
use genba_python::memory::{Address, Fault, Memory};
use genba_python::stack::walked::{COUNTED_MAX, PYTHON_MAX, PYTHON_WORDS, PythonEntry};
use genba_python::thread_states::{States, ThreadHints};
use genba_signal::handler::{Tables, look};
use genba_signal::request::{Answer, Question, Reading, TAIL_WORDS};
use genba_signal::rows::Registers;
use std::cell::Cell;
use std::sync::atomic::AtomicU64;

const REGION_BYTES: u64 = 1 << 14;
const TID: u32 = 4711;
const STATE: Address = Address(REGION + 512);
/// Objects begin at multiples of this; their type stands in their second word, their length in the third.
const OBJECT_BYTES: u64 = 64;
/// A name that is cut takes so many words of the tail at least, and is hashed.
const CUT_WORDS_MIN: u64 = LETTERS_MAX / 8;
const HASH_READS_MAX: u64 = 2 * HASHED_BYTES_MAX / 8;
/// A frame takes no more than so many reads, names and tables aside; those end with the tail.
const READS_MAX: u64 =
    PYTHON_MAX as u64 * 128 + TAIL_WORDS as u64 * 8 + (TAIL_WORDS as u64 / CUT_WORDS_MIN + 2) * HASH_READS_MAX;
/// What is counted beyond them takes two for each frame.
const COUNTED_READS_MAX: u64 = 2 * COUNTED_MAX as u64;

struct Stale {
    seed: u64,
    /// One word in so many is what a living process might have there.
    wild: u64,
    reads: Cell<u64>,
}

impl Stale {
    fn chance(&self, address: u64) -> u64 {
        // splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
        let mut word = address.wrapping_add(self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ word >> 31
    }
}

impl Memory for Stale {
    fn word(&self, address: Address) -> Result<u64, Fault> {
        self.reads.set(self.reads.get() + 1);
        if [0, 1024].contains(&address.0.wrapping_sub(STATE.at(LAYOUTS[0].threads.native_id).0)) {
            return Ok(u64::from(TID));
        }
        if !(REGION..REGION + REGION_BYTES).contains(&address.0) {
            return Err(Fault);
        }
        let chance = self.chance(address.0);
        let inside = REGION + (chance >> 16) % REGION_BYTES;
        if !chance.is_multiple_of(self.wild) {
            return Ok(match address.0 % OBJECT_BYTES {
                8 => CODE_TYPE,
                // The state of a compact ASCII text.
                32 => 0x64,
                // Lengths.
                16 => chance % 300,
                _ => inside & !(OBJECT_BYTES - 1),
            });
        }
        match (chance >> 8) % 8 {
            0 => Err(Fault),
            1 => Ok(0),
            2 => Ok(inside | 1),
            3 => Ok(0xffff_8000_0000_0000 | chance),
            4 => Ok(u64::MAX - chance % 4096),
            5 => Ok((chance >> 16) % 300),
            6 => Ok(address.0),
            _ => Ok(chance),
        }
    }
}

#[test]
fn a_stale_pointer_anywhere_ends_the_walk() {
    let entry = SeenEntry { key: AtomicU64::new(0), progress: AtomicU64::new(0) };
    let seen = Seen { entries: &raw const entry, mask: 0 };
    let mut states = States::EMPTY;
    assert!(states.add(STATE) && states.add(STATE.at(1024)));
    // What is beyond is counted for threads with one thread state.
    let mut only = States::EMPTY;
    assert!(only.add(STATE));
    let registers = Registers { rip: 0, rsp: REGION, rbp: None };
    let mut answer = Box::new(Answer::EMPTY);
    let (mut longest, mut copied, mut counted) = (0, 0, 0);
    let seeds = if std::env::var_os("GENBA_SOAK").is_some() { 200_000 } else { 5_000 };
    for seed in 0..seeds {
        let layout = LAYOUTS[(seed % 3) as usize];
        let tables = Tables { modules: None, layout: Some(&layout), seen: Some(&seen) };
        let memory = Stale { seed, wild: [2, 8, 64, 4096][(seed / 3 % 4) as usize], reads: Cell::new(0) };
        // With each layout, and each number of wild words.
        let counts_beyond = seed.is_multiple_of(13);
        let thread = ThreadHints { pid: 1, tid: TID, states: if counts_beyond { only } else { states } };
        let question = Question { thread, native: false, counts_beyond, reading: Reading::ByKernel };
        look(&memory, tables, registers, &question, &mut answer);
        assert!(answer.python_len <= PYTHON_WORDS && answer.tail_len <= TAIL_WORDS, "seed {seed}");
        let reads_max = READS_MAX + if counts_beyond { COUNTED_READS_MAX } else { 0 };
        assert!(memory.reads.get() <= reads_max, "seed {seed}: {} reads", memory.reads.get());
        for word in &answer.python[..answer.python_len] {
            if let PythonEntry::InTail { position, .. } = word.entry() {
                assert!((position as usize) < answer.tail_len, "seed {seed}");
            }
        }
        longest = longest.max(answer.python_len);
        copied += answer.tail_len;
        counted += usize::from(answer.beyond.is_some());
        assert!(counts_beyond || answer.beyond.is_none(), "seed {seed}");
    }
    // Not all end at once: rings are followed to their bound, and code objects that are none are copied.
    assert!(longest >= PYTHON_MAX && copied > 0, "{longest} frames at most, {copied} words copied");
    assert!(counted > 0, "what is beyond is counted");
}
