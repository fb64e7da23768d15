//! The buffers in which a thread's stack comes to the sampler: the sampler asks and a handler answers, or a thread of the program
//! makes an answer by itself (deposits.rs).
//! Owns: two pools of buffers of 82 KiB and their states; a buffer's pages are touched only when it is used. Never: blocks, allocates, lets two writers at one buffer.
//! Keeps: I-03 (nothing lost uncounted), I-05 (one writer a buffer). Partner: agent/src/sampling/sampler/looks.rs.
//!
//! A state is (generation, phase). Free -> Asked by the sampler, Asked -> Walking -> Answered by the handler that holds the
//! right generation, Asked -> Free (cancelled) or Answered -> Free (taken) by the sampler; in the pool of deposits Free -> Walking
//! by a thread of the program. Whoever wins the compare-and-swap to Walking owns the buffer.

use crate::memory::Blocks;
use crate::unwind::{NATIVE_MAX, NativeEnd, NativeFrame};
use crate::walk_memory::WalkMemory;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};
use genba_python::code_capture::ENTRY_WORDS_MAX;
use genba_python::stack::walked::{Beyond, Operand, PYTHON_WORDS, PythonEnd, PythonWord};
use genba_python::thread_states::{States, THREAD_STATES_MAX, ThreadHints};

pub const REQUESTS: usize = 64;
/// Words for code objects seen for the first time.
pub const TAIL_WORDS: usize = 5536;
const _: () = assert!(ENTRY_WORDS_MAX <= TAIL_WORDS, "a code object with the longest names finds room");
// Else `None` would be no zeros, and the pools not in the zeroed data: some MB more in the library's file.
const _: () = assert!(size_of::<Option<Beyond>>() > size_of::<Beyond>(), "it has a word of its own for `None`");
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Phase {
    Free = 0,
    Asked = 1,
    Walking = 2,
    Answered = 3,
}

/// How the handler may read memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    Guarded,
    ByKernel,
}

/// What the sampler wants to know.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    pub thread: ThreadHints,
    pub native: bool,
    /// Frames for which there is no word are to be counted.
    pub counts_beyond: bool,
    pub reading: Reading,
}

/// The frames of one thread state. Their words follow those of the chain before.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    pub len: usize,
    pub end: PythonEnd,
    /// Of the innermost frame.
    pub operand: Option<Operand>,
}

impl Chain {
    pub const EMPTY: Chain = Chain { len: 0, end: PythonEnd::Complete, operand: None };
}

/// What threads count by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    Copies,
    Allocations,
}

/// A copy or an allocation, for which a thread left its stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cause {
    pub of: Counted,
    pub tid: u32,
    pub bytes: u64,
    /// Mean distance of the bytes at one of which the copy was chosen.
    pub mean_bytes: u64,
}

impl Cause {
    pub const NONE: Cause = Cause { of: Counted::Copies, tid: 0, bytes: 0, mean_bytes: 0 };
}

/// What the handler saw. Arrays are valid up to their lengths.
#[repr(C)]
pub struct Answer {
    pub native_len: usize,
    pub python_len: usize,
    pub tail_len: usize,
    pub native_end: NativeEnd,
    /// Of the chain that was walked last, or why there is none.
    pub python_end: PythonEnd,
    /// An interpreter of this thread is collecting garbage and this thread holds its GIL.
    pub in_gc: bool,
    /// A number that is another one whenever the thread has entered or left a context since; 0: not known.
    pub context_version: u64,
    /// One for each of the thread's thread states, in no order; `python` has their words.
    pub chains: [Chain; THREAD_STATES_MAX],
    pub chains_len: usize,
    /// Where they were counted.
    pub beyond: Option<Beyond>,
    /// Time stamp counter at the handler's first instruction; 0: not to be read.
    pub began_tsc: u64,
    /// Its ticks from there to the handler's last instruction.
    pub handler_tsc: u64,
    pub native: [NativeFrame; NATIVE_MAX],
    pub python: [PythonWord; PYTHON_WORDS],
    pub tail: [u64; TAIL_WORDS],
    /// Of a deposit: what it is about.
    pub cause: Cause,
    /// What the last walk into this buffer found; no part of the answer.
    pub walk_memory: WalkMemory,
}

impl Answer {
    pub const EMPTY: Answer = Answer {
        native_len: 0,
        python_len: 0,
        tail_len: 0,
        native_end: NativeEnd::Complete,
        python_end: PythonEnd::Complete,
        in_gc: false,
        context_version: 0,
        chains: [Chain::EMPTY; THREAD_STATES_MAX],
        chains_len: 0,
        beyond: None,
        began_tsc: 0,
        handler_tsc: 0,
        native: [NativeFrame { pc: 0, cfa: 0 }; NATIVE_MAX],
        python: [PythonWord::EMPTY; PYTHON_WORDS],
        tail: [0; TAIL_WORDS],
        cause: Cause::NONE,
        walk_memory: WalkMemory::EMPTY,
    };
}

#[repr(C, align(64))]
pub struct Request {
    state: AtomicU64,
    question: UnsafeCell<Question>,
    answer: UnsafeCell<Answer>,
    /// For the handler's reads by the kernel.
    blocks: Blocks,
}

// SAFETY: `question` is written only while Free, by the one sampler; `answer` and `blocks` only while Walking, by the one handler that won
// the swap; both are read by others only in later phases, ordered by `state` (I-05).
unsafe impl Sync for Request {}

/// Names one asking: which buffer, and its generation. Travels as the signal's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    pub index: usize,
    pub generation: u64,
}

impl Ticket {
    const INDEX_BITS: u32 = 6;

    #[must_use]
    pub const fn to_value(self) -> u64 {
        self.generation << Self::INDEX_BITS | self.index as u64
    }

    #[must_use]
    pub const fn from_value(value: u64) -> Ticket {
        Ticket { index: value as usize & (REQUESTS - 1), generation: value >> Self::INDEX_BITS }
    }
}

const PHASE_BITS: u32 = 2;
/// Room is left for a thousand years of asking.
const GENERATION_MAX: u64 = (1 << 56) - 1;

const fn state(generation: u64, phase: Phase) -> u64 {
    generation << PHASE_BITS | phase as u64
}

/// `N` buffers, a power of two up to `REQUESTS`. In the zeroed data of the process: no allocation, no destructor.
pub struct Pool<const N: usize> {
    requests: [Request; N],
}

/// What the sampler asks.
pub static POOL: Pool<REQUESTS> = Pool::NEW;

impl Request {
    #[allow(clippy::declare_interior_mutable_const)] // a template for the one static
    const NEW: Request = Request {
        state: AtomicU64::new(0),
        question: UnsafeCell::new(Question {
            thread: ThreadHints { pid: 0, tid: 0, states: States::EMPTY },
            native: false,
            counts_beyond: false,
            reading: Reading::Guarded,
        }),
        answer: UnsafeCell::new(Answer::EMPTY),
        blocks: Blocks::zeroed(),
    };

    #[inline(always)]
    fn swap(&self, generation: u64, from: Phase, to: Phase) -> bool {
        // SeqCst: pairs with agent/src/reading/modules.rs, which retires tables only when it sees no buffer Walking.
        self.state
            .compare_exchange(state(generation, from), state(generation, to), Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }
}

impl<const N: usize> Pool<N> {
    #[allow(clippy::declare_interior_mutable_const)] // a template for the statics
    pub(crate) const NEW: Pool<N> = {
        assert!(N.is_power_of_two() && N <= REQUESTS);
        Pool { requests: [const { Request::NEW }; N] }
    };

    #[inline(always)]
    fn request(&self, index: usize) -> &Request {
        // SAFETY: the mask keeps the index below N, a power of two.
        unsafe { self.requests.get_unchecked(index & (N - 1)) }
    }

    /// The phase of a buffer, for the sampler.
    #[must_use]
    pub fn phase(&self, index: usize) -> Phase {
        match self.request(index).state.load(Ordering::SeqCst) & 3 {
            0 => Phase::Free,
            1 => Phase::Asked,
            2 => Phase::Walking,
            _ => Phase::Answered,
        }
    }

    /// How many buffers are not free.
    #[must_use]
    pub fn in_use(&self) -> usize {
        (0..N).filter(|&index| self.phase(index) != Phase::Free).count()
    }

    /// No handler and no thread of the program is inside a buffer.
    #[must_use]
    pub fn nobody_walks(&self) -> bool {
        (0..N).all(|index| self.phase(index) != Phase::Walking)
    }

    /// Begins the generations at `generation`, before anybody asks: a signal that waited over an exec names one of another image.
    pub fn begin_at(&self, generation: u64) {
        for request in &self.requests {
            request.state.store(state(generation & GENERATION_MAX, Phase::Free), Ordering::SeqCst);
        }
    }

    /// In a forked child: the threads whose handlers were walking are not there.
    pub fn forget_walkers(&self) {
        for request in &self.requests {
            let state = request.state.load(Ordering::SeqCst);
            request.state.store(state & !((1 << PHASE_BITS) - 1), Ordering::SeqCst);
        }
    }

    /// Puts a question into a free buffer. Only the sampler calls this; `None` when the buffer is not free.
    #[must_use]
    pub fn ask(&self, index: usize, question: Question) -> Option<Ticket> {
        let request = self.request(index);
        let before = request.state.load(Ordering::SeqCst);
        if before & 3 != Phase::Free as u64 {
            return None;
        }
        let generation = (before >> PHASE_BITS) + 1;
        // SAFETY: Free, so no handler touches it, and there is one sampler (I-05).
        unsafe { *request.question.get() = question };
        // SeqCst (Release): pairs with the swap in `begin`.
        request.state.store(state(generation, Phase::Asked), Ordering::SeqCst);
        Some(Ticket { index, generation })
    }

    /// Takes a question back that no handler has begun. False: a handler walks or has answered.
    #[must_use]
    pub fn cancel(&self, ticket: Ticket) -> bool {
        self.request(ticket.index).swap(ticket.generation, Phase::Asked, Phase::Free)
    }

    /// The answer, when there is one. Give the buffer back with `done`.
    #[must_use]
    pub fn answered(&self, ticket: Ticket) -> Option<&Answer> {
        let request = self.request(ticket.index);
        // SeqCst (Acquire): pairs with the swap in `finish`.
        if request.state.load(Ordering::SeqCst) != state(ticket.generation, Phase::Answered) {
            return None;
        }
        // SAFETY: Answered: the handler has finished writing and only the sampler moves it on (I-05).
        Some(unsafe { &*request.answer.get() })
    }

    /// Gives an answered buffer back.
    pub fn done(&self, ticket: Ticket) {
        let freed = self.request(ticket.index).swap(ticket.generation, Phase::Answered, Phase::Free);
        debug_assert!(freed);
    }

    /// The handler's way in: the question and room for the answer, when the ticket is still open.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)] // the swap below hands the buffer to exactly one handler
    pub(crate) fn begin(&self, ticket: Ticket) -> Option<(&Question, &mut Answer, &Blocks)> {
        let request = self.request(ticket.index);
        if !request.swap(ticket.generation, Phase::Asked, Phase::Walking) {
            return None;
        }
        // SAFETY: this handler won the swap to Walking: it is the only one to touch the buffer until `finish` (I-05).
        Some(unsafe { (&*request.question.get(), &mut *request.answer.get(), &request.blocks) })
    }

    /// A thread's own way in, at any free buffer; None: there is none.
    #[allow(clippy::mut_from_ref)] // as in `begin`
    pub(crate) fn begin_own(&self) -> Option<(Ticket, &mut Answer, &Blocks)> {
        for (index, request) in self.requests.iter().enumerate() {
            let before = request.state.load(Ordering::SeqCst);
            let generation = (before >> PHASE_BITS) + 1;
            if before & 3 == Phase::Free as u64
                // SeqCst: as in `swap`.
                && request
                    .state
                    .compare_exchange(before, state(generation, Phase::Walking), Ordering::SeqCst, Ordering::Relaxed)
                    .is_ok()
            {
                // SAFETY: this thread won the swap to Walking: as in `begin`.
                return Some((Ticket { index, generation }, unsafe { &mut *request.answer.get() }, &request.blocks));
            }
        }
        None
    }

    /// Gives back a buffer of `begin_own` without an answer.
    pub(crate) fn give_up(&self, ticket: Ticket) {
        // Walking is left by its one writer alone, so the swap cannot fail.
        let _ = self.request(ticket.index).swap(ticket.generation, Phase::Walking, Phase::Free);
    }

    /// The ticket of whoever walks or has answered there.
    #[must_use]
    pub fn begun_at(&self, index: usize) -> Option<Ticket> {
        let now = self.request(index).state.load(Ordering::SeqCst);
        let is_begun = matches!(now & 3, phase if phase == Phase::Walking as u64 || phase == Phase::Answered as u64);
        is_begun.then_some(Ticket { index: index & (N - 1), generation: now >> PHASE_BITS })
    }

    /// The ticket of an answer that nobody asked for, for the sampler to take.
    #[must_use]
    pub fn left_at(&self, index: usize) -> Option<Ticket> {
        let now = self.request(index).state.load(Ordering::SeqCst);
        (now & 3 == Phase::Answered as u64).then_some(Ticket { index: index & (N - 1), generation: now >> PHASE_BITS })
    }

    /// The handler's way out.
    #[inline(always)]
    pub(crate) fn finish(&self, ticket: Ticket) {
        // Walking is left by this handler alone, so the swap cannot fail.
        let _ = self.request(ticket.index).swap(ticket.generation, Phase::Walking, Phase::Answered);
    }
}
