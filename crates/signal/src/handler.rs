//! What the handler does with one signal. It calls nothing outside this crate, allocates, locks and waits for nothing.
//! Owns: `SHARED`, what the sampler publishes for handlers. Keeps: I-04, I-05, I-07.

use crate::frames::{self, Frames};
use crate::layout::Layout;
use crate::memory::{Address, ByKernel, Fault, Guarded, Memory, time_stamp};
use crate::request::{Answer, POOL, PythonEnd, Question, Reading, Ticket};
use crate::seen::{Seen, Tail};
use crate::unwind::{Modules, NATIVE_MAX, NativeEnd, Registers, Walk};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::SeqCst};

/// Published by the sampler (I-08). A table that was replaced is freed only after no buffer is Walking, so what a handler
/// loads after its swap to Walking outlives it.
pub struct Shared {
    pub modules: AtomicPtr<Modules>,
    pub seen: AtomicPtr<Seen>,
    pub layout: AtomicPtr<Layout>,
    /// Process that may ask; 0: nobody.
    pub pid: AtomicU32,
}

pub static SHARED: Shared = Shared {
    modules: AtomicPtr::new(core::ptr::null_mut()),
    seen: AtomicPtr::new(core::ptr::null_mut()),
    layout: AtomicPtr::new(core::ptr::null_mut()),
    pid: AtomicU32::new(0),
};

/// What the kernel says about a signal.
#[derive(Clone, Copy)]
pub struct Arrival {
    pub code: i32,
    pub pid: u32,
    pub value: u64,
    pub registers: Registers,
    /// SIGSEGV and SIGBUS can reach this thread.
    pub faults_unblocked: bool,
}

/// Answers the request that the signal names. False: the signal is not genba's.
#[inline(always)]
pub fn answer(arrival: &Arrival) -> bool {
    const SI_QUEUE: i32 = -1;
    let began = time_stamp();
    if arrival.code != SI_QUEUE || arrival.pid != SHARED.pid.load(SeqCst) || arrival.pid == 0 {
        return false;
    }
    let ticket = Ticket::from_value(arrival.value);
    let Some((question, answer)) = POOL.begin(ticket) else {
        return true;
    };
    if question.reading == Reading::Guarded && arrival.faults_unblocked {
        look(&Guarded, arrival.registers, question, answer);
    } else {
        look_by_kernel(arrival.registers, question, answer);
    }
    answer.handler_tsc = match (began, time_stamp()) {
        (Some(began), Some(ended)) => ended.wrapping_sub(began),
        _ => 0,
    };
    POOL.finish(ticket);
    true
}

/// Apart, so that its blocks take room on the stack only where it is used.
#[inline(never)]
fn look_by_kernel(registers: Registers, question: &Question, answer: &mut Answer) {
    look(&ByKernel::new(question.pid), registers, question, answer);
}

/// Looks at one thread: native frames, Python frames, state. Also used by the sampler for a thread that does not run.
#[inline(always)]
pub fn look<M: Memory>(memory: &M, registers: Registers, question: &Question, answer: &mut Answer) {
    answer.native_len = 0;
    answer.python_len = 0;
    answer.tail_len = 0;
    answer.native_end = NativeEnd::Off;
    answer.in_gc = false;
    answer.top_not_begun = false;
    answer.operand = None;
    if question.native {
        // SeqCst: after the swap to Walking; pairs with the publication in agent/src/modules.rs.
        // SAFETY: null or a published table that outlives this walk.
        match unsafe { SHARED.modules.load(SeqCst).as_ref() } {
            Some(modules) => native(memory, modules, registers, answer),
            None => answer.native_end = NativeEnd::NoModule,
        }
    }
    // SAFETY: as above.
    let (layout, seen) = unsafe { (SHARED.layout.load(SeqCst).as_ref(), SHARED.seen.load(SeqCst).as_ref()) };
    answer.python_end = match (layout, seen) {
        (Some(layout), Some(seen)) => python(memory, layout, seen, question, answer),
        _ => PythonEnd::NoThreadState,
    };
}

#[inline(always)]
fn native<M: Memory>(memory: &M, modules: &Modules, registers: Registers, answer: &mut Answer) {
    let mut walk = Walk::new(registers);
    answer.native_end = NativeEnd::TooDeep;
    for index in 0..NATIVE_MAX {
        let (frame, end) = match walk.step(memory, modules) {
            Ok(frame) => (frame, None),
            Err((frame, end)) => (frame, Some(end)),
        };
        if let Some(slot) = answer.native.get_mut(index) {
            *slot = frame;
            answer.native_len = index + 1;
        }
        if let Some(end) = end {
            answer.native_end = end;
            return;
        }
    }
}

#[inline(always)]
fn python<M: Memory>(memory: &M, layout: &Layout, seen: &Seen, question: &Question, answer: &mut Answer) -> PythonEnd {
    let thread_state = match thread_state(memory, layout, question) {
        Ok(thread_state) => thread_state,
        Err(end) => return end,
    };
    answer.in_gc = in_gc(memory, layout, thread_state) == Ok(true);
    let innermost_cfa = match (answer.native.first(), answer.native_len) {
        // The frame at which a walk ended has no CFA of its own.
        (Some(frame), 2..) => Some(frame.cfa),
        _ => None,
    };
    let Answer { python, tail, .. } = answer;
    let mut frames =
        Frames { words: python, len: 0, tail: Tail::new(tail), top_not_begun: false, operand: None, innermost_cfa };
    let end = frames::walk(memory, layout, seen, thread_state, &mut frames);
    let (len, tail_len, top_not_begun, operand) = (frames.len, frames.tail.len(), frames.top_not_begun, frames.operand);
    answer.python_len = len;
    answer.tail_len = tail_len;
    answer.top_not_begun = top_not_begun;
    answer.operand = operand;
    end
}

/// The thread state that is this thread's now: the sampler's hints, each checked again here.
#[inline(always)]
fn thread_state<M: Memory>(memory: &M, layout: &Layout, question: &Question) -> Result<Address, PythonEnd> {
    let mut found = None;
    let mut several = false;
    for &candidate in question.thread_states.iter().take(question.thread_states_len) {
        if memory.word(candidate.at(layout.native_thread_id)) == Ok(u64::from(question.tid)) {
            several = found.is_some();
            found = Some(candidate);
        }
    }
    if !several {
        return found.ok_or(PythonEnd::NoThreadState);
    }
    for &candidate in question.thread_states.iter().take(question.thread_states_len) {
        if memory.word(candidate.at(layout.native_thread_id)) == Ok(u64::from(question.tid))
            && holds_gil(memory, layout, candidate) == Ok(true)
        {
            return Ok(candidate);
        }
    }
    Err(PythonEnd::Ambiguous)
}

fn in_gc<M: Memory>(memory: &M, layout: &Layout, thread_state: Address) -> Result<bool, Fault> {
    let interpreter = memory.address(thread_state.at(layout.thread_interpreter))?;
    if memory.half(interpreter.at(layout.gc_collecting))? == 0 {
        return Ok(false);
    }
    holds_gil(memory, layout, thread_state)
}

fn holds_gil<M: Memory>(memory: &M, layout: &Layout, thread_state: Address) -> Result<bool, Fault> {
    let gil = match (layout.gil_pointer, layout.gil_address) {
        (Some(offset), _) => memory.address(memory.address(thread_state.at(layout.thread_interpreter))?.at(offset))?,
        (None, Some(address)) => Address(address),
        (None, None) => return Err(Fault),
    };
    Ok(memory.half(gil.at(layout.gil_locked))? as i32 == 1
        && memory.address(gil.at(layout.gil_last_holder))? == thread_state)
}
