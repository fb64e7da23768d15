//! What the handler does with one signal. It calls nothing outside this crate, allocates and locks nothing, and waits for nothing
//! but the program's own write that its signal cut short (cut_write.rs), once the sample is given.
//! Owns: `SHARED`, what the sampler publishes for handlers, and the shell around `look` that reads it. Keeps: I-04, I-05, I-07.

use crate::memory::{Blocks, ByKernel, Guarded, time_stamp};
use crate::request::{Answer, Chain, POOL, Question, Reading, Ticket};
use crate::rows::{Modules, Registers};
use crate::unwind::NativeEnd;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::SeqCst};
use genba_python::code_capture::Seen;
use genba_python::layout::Layout;
use genba_python::memory::Memory;
use genba_python::stack::frames::{self, Frames};
use genba_python::stack::walked::PythonEnd;
use genba_python::thread_states::{self, OwnStates};

/// Published by the sampler (I-08). A table that was replaced is freed only after no buffer is Walking, so what a handler
/// loads after its swap to Walking outlives it.
pub struct Shared {
    pub modules: AtomicPtr<Modules>,
    pub seen: AtomicPtr<Seen>,
    pub layout: AtomicPtr<Layout>,
    /// Process that may ask; 0: nobody.
    pub pid: AtomicU32,
    /// Where libc's `write` begins and ends; 0: not known.
    pub write_begin: AtomicU64,
    pub write_end: AtomicU64,
    /// The rows of libc alone, published early and never freed.
    pub write_rows: AtomicPtr<Modules>,
    /// Where a thread's word about SIGURG lies, from its thread pointer (foreign.rs); 0: there is none.
    pub wish: AtomicU64,
}

pub static SHARED: Shared = Shared {
    modules: AtomicPtr::new(core::ptr::null_mut()),
    seen: AtomicPtr::new(core::ptr::null_mut()),
    layout: AtomicPtr::new(core::ptr::null_mut()),
    pid: AtomicU32::new(0),
    write_begin: AtomicU64::new(0),
    write_end: AtomicU64::new(0),
    write_rows: AtomicPtr::new(core::ptr::null_mut()),
    wish: AtomicU64::new(0),
};

impl Shared {
    /// What is published now.
    ///
    /// # Safety
    /// Used up while the caller's buffer is Walking, or by the sampler, which alone retires tables.
    #[inline(always)]
    #[must_use]
    pub unsafe fn tables(&self) -> Tables<'_> {
        // SeqCst: after the swap to Walking; pairs with the publication in agent/src/reading/modules.rs.
        // SAFETY: null or a published table; what is loaded after the swap to Walking outlives it, by the caller's word.
        unsafe {
            Tables {
                modules: self.modules.load(SeqCst).as_ref(),
                layout: self.layout.load(SeqCst).as_ref(),
                seen: self.seen.load(SeqCst).as_ref(),
            }
        }
    }
}

/// All that a look needs to know beside the thread; None: not known in this process.
#[derive(Clone, Copy)]
pub struct Tables<'a> {
    pub modules: Option<&'a Modules>,
    pub layout: Option<&'a Layout>,
    pub seen: Option<&'a Seen>,
}

/// The `si_code` of genba's own signals, so that none of the program's, `sigqueue`'s included, can be taken for one. Negative: the
/// kernel lets a process send those to itself.
pub const SAMPLE_CODE: i32 = -0x6762;

/// What the kernel says about a signal.
#[derive(Clone, Copy)]
pub struct Arrival {
    pub code: i32,
    pub pid: u32,
    pub value: u64,
    pub registers: Registers,
    /// A load that faults can be stepped over: SIGSEGV and SIGBUS can reach this thread, and there is room for their frame.
    pub faults_welcome: bool,
}

/// Answers the request that the signal names. False: the signal is not genba's.
#[inline(always)]
pub fn answer(arrival: &Arrival) -> bool {
    if arrival.code != SAMPLE_CODE || arrival.pid != SHARED.pid.load(SeqCst) || arrival.pid == 0 {
        return false;
    }
    let ticket = Ticket::from_value(arrival.value);
    let Some((question, answer, blocks)) = POOL.begin(ticket) else {
        return true;
    };
    let guarded = question.reading == Reading::Guarded && arrival.faults_welcome;
    let began = time_stamp(guarded);
    // SAFETY: `begin` made the buffer Walking.
    let tables = unsafe { SHARED.tables() };
    if guarded {
        look(&Guarded, tables, arrival.registers, question, answer);
    } else {
        look_by_kernel(tables, arrival.registers, question, answer, blocks);
    }
    answer.began_tsc = began.unwrap_or(0);
    answer.handler_tsc = match (began, time_stamp(guarded)) {
        (Some(began), Some(ended)) => ended.wrapping_sub(began),
        _ => 0,
    };
    POOL.finish(ticket);
    true
}

/// Apart, so that its blocks take room on the stack only where it is used.
#[inline(never)]
pub(crate) fn look_by_kernel(
    tables: Tables,
    registers: Registers,
    question: &Question,
    answer: &mut Answer,
    blocks: &Blocks,
) {
    look(&ByKernel::new(question.thread.pid, blocks), tables, registers, question, answer);
}

/// Looks at one thread: native frames, Python frames, state. Also used by the sampler for a thread that does not run.
#[inline(always)]
pub fn look<M: Memory>(memory: &M, tables: Tables, registers: Registers, question: &Question, answer: &mut Answer) {
    answer.native_len = 0;
    answer.python_len = 0;
    answer.tail_len = 0;
    answer.native_end = NativeEnd::Off;
    answer.in_gc = false;
    answer.context_version = 0;
    answer.chains_len = 0;
    answer.beyond = None;
    if question.native {
        match tables.modules {
            Some(modules) => {
                let Answer { native, walk_memory, .. } = answer;
                (answer.native_len, answer.native_end) = walk_memory.walk(memory, modules, registers, native);
            }
            None => answer.native_end = NativeEnd::NoModule,
        }
    }
    answer.python_end = match (tables.layout, tables.seen) {
        (Some(layout), Some(seen)) => python(memory, layout, seen, registers.rsp, question, answer),
        _ => PythonEnd::NoThreadState,
    };
}

#[inline(always)]
fn python<M: Memory>(
    memory: &M,
    layout: &Layout,
    seen: &Seen,
    stack_low: u64,
    question: &Question,
    answer: &mut Answer,
) -> PythonEnd {
    let mut states = OwnStates::EMPTY;
    if let Err(end) = thread_states::find(memory, layout, &question.thread, stack_low, &mut states) {
        return end;
    }
    let mut only = states.iter();
    if let (Some(thread_state), None) = (only.next(), only.next()) {
        answer.context_version = memory.word(thread_state.at(layout.threads.context_version)).unwrap_or(0);
    }
    let innermost_cfa = match (answer.native.first(), answer.native_len) {
        // The frame at which a walk ended has no CFA of its own.
        (Some(frame), 2..) => Some(frame.cfa),
        _ => None,
    };
    let Answer { python, tail, chains, chains_len, beyond, .. } = answer;
    let mut frames = Frames { innermost_cfa, ..Frames::new(python, tail) };
    let (mut end, mut in_gc) = (PythonEnd::NoThreadState, false);
    for (thread_state, chain) in states.iter().zip(chains.iter_mut()) {
        let begin = frames.len;
        frames.operand = None;
        end = frames::walk(memory, layout, seen, thread_state, &mut frames);
        *chain = Chain { len: frames.len - begin, end, operand: frames.operand };
        *chains_len += 1;
        in_gc |= thread_states::in_gc(memory, layout, thread_state) == Ok(true);
    }
    // Of several thread states nobody knows which frames lie beyond which.
    if question.counts_beyond
        && M::IS_CHEAP
        && *chains_len == 1
        && let Some(rest) = frames.rest
    {
        *beyond = Some(frames::count(memory, layout, rest));
    }
    let (len, tail_len) = (frames.len, frames.tail.len());
    answer.python_len = len;
    answer.tail_len = tail_len;
    answer.in_gc = in_gc || (len == 0 && thread_states::in_gc_without_frames(memory, layout, &question.thread));
    end
}
