//! Answers that a thread of the program made while it held the GIL, kept until the sampler writes them, so that the program does not wait.
//! Owns: a few places for them. Never: allocates, waits for a place, or writes in a forked child an answer that its parent left.

use super::rows::Buffer;
use crate::process::life::{self, LIFE};
use crate::system::proc::own_pid;
use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

const PLACES: usize = 4;
/// A larger answer is written at once: only few bytes may wait.
const BYTES_MAX: usize = 4 << 20;

/// The state of a place is in its lowest bits; above them is the number of the process that set it. 0: the place is free.
const TAKEN: u64 = 1;
const FULL: u64 = 2;
const STATE_BITS: u32 = 2;

struct Answer {
    buffer: Buffer,
    out: &'static CStr,
}

struct Place {
    state: AtomicU64,
    answer: UnsafeCell<MaybeUninit<Answer>>,
}

// SAFETY: only the thread that made a place TAKEN by compare-and-swap touches its answer.
unsafe impl Sync for Place {}

struct Answers([Place; PLACES]);

static ANSWERS: Answers = Answers::new();

/// Leaves the answer to the sampler, which writes it soon. Without a sampler or a free place this call writes it.
pub fn leave(buffer: Buffer, out: &'static CStr) {
    let is_looking = life::is_owner() && LIFE.has_thread() && !LIFE.stands_by();
    let left = if is_looking && buffer.bytes() <= BYTES_MAX { ANSWERS.put(buffer, out) } else { Err(buffer) };
    if let Err(buffer) = left {
        // Files have numbers in the order of their answers.
        write();
        buffer.append_to(out);
    }
}

/// Writes the answers that wait.
pub fn write() {
    ANSWERS.write();
}

impl Answers {
    const fn new() -> Answers {
        Answers([const { Place { state: AtomicU64::new(0), answer: UnsafeCell::new(MaybeUninit::uninit()) } }; PLACES])
    }

    fn put(&self, buffer: Buffer, out: &'static CStr) -> Result<(), Buffer> {
        for place in &self.0 {
            let state = place.state.load(SeqCst);
            let is_own = state >> STATE_BITS == own() >> STATE_BITS;
            if is_own || !place.take_from(state) {
                continue;
            }
            // SAFETY: the place is this call's. FULL, though not of this process: its parent had put an answer there before it was forked.
            unsafe {
                let answer = &mut *place.answer.get();
                if state & FULL != 0 {
                    answer.assume_init_drop();
                }
                answer.write(Answer { buffer, out });
            }
            place.state.store(own() | FULL, SeqCst);
            return Ok(());
        }
        Err(buffer)
    }

    fn write(&self) {
        for place in &self.0 {
            if !place.take_from(own() | FULL) {
                continue;
            }
            // SAFETY: it was full, and is this call's.
            let Answer { buffer, out } = unsafe { (*place.answer.get()).assume_init_read() };
            buffer.append_to(out);
            drop(buffer);
            place.state.store(0, SeqCst);
        }
    }
}

impl Place {
    /// Whether it is the caller's now.
    fn take_from(&self, state: u64) -> bool {
        self.state.compare_exchange(state, own() | TAKEN, SeqCst, SeqCst).is_ok()
    }
}

fn own() -> u64 {
    u64::from(own_pid()) << STATE_BITS
}

#[cfg(test)]
mod tests {
    use super::{Answers, Buffer, FULL, STATE_BITS, SeqCst, own_pid};
    use genba_heap::answer::Sink;
    use std::ffi::{CStr, CString};

    #[test]
    fn a_few_answers_wait_and_those_of_a_parent_are_not_written() {
        let path = std::env::temp_dir().join(format!("genba-pending-answers-{}", std::process::id()));
        std::fs::write(&path, []).unwrap();
        let out: &'static CStr = Box::leak(CString::new(path.to_str().unwrap()).unwrap().into_boxed_c_str());
        let answers = Answers::new();
        let left = |byte: u8| {
            let mut buffer = Buffer::of(None, &[], None).unwrap();
            assert!(buffer.put(&[byte]));
            answers.put(buffer, out).is_ok()
        };
        let written = || std::fs::read(&path).unwrap();
        assert!([0, 1, 2, 3].into_iter().all(left));
        assert!(!left(4), "there are no more places");
        assert!(written().is_empty());
        answers.write();
        answers.write();
        assert_eq!(written(), [0, 1, 2, 3]);
        // As a forked child finds it.
        assert!(left(5));
        let parent = u64::from(own_pid()) + 1;
        answers.0.first().unwrap().state.store(parent << STATE_BITS | FULL, SeqCst);
        answers.write();
        assert_eq!(written(), [0, 1, 2, 3]);
        assert!(left(6));
        answers.write();
        assert_eq!(written(), [0, 1, 2, 3, 6]);
        std::fs::remove_file(&path).unwrap();
    }
}
