//! Which thread states are the present thread's: with sub-interpreters one thread has several, and the frames of all of them lie
//! on its one stack. Owns: whose a thread state is, the choice among the sampler's hints, the search for a newer one.
//! Never: believes a hint unchecked.
//! Keeps: I-06, I-07. Source: CPython 3.11 to 3.15, Include/cpython/pystate.h, Python/pystate.c (`tstate_activate`, `bind_gilstate_tstate`).
//!
//! A thread state bears the number of its thread. In a child that C code forked past CPython (uWSGI's workers), those of the first thread
//! still bear that of the thread that forked it. But they name its descriptor (`pthread_self`), too, which is the same one in the child:
//! there a fork writes the new number. Those of the threads that the child has not say 0 (glibc, sysdeps/nptl/fork.h), or still an older number.

use crate::layout::{CurrentFrame, Layout};
use crate::memory::{Address, Fault, Memory};
use crate::stack::walked::PythonEnd;

/// Thread states of one thread that may have frames: one for each interpreter that it is in.
pub const THREAD_STATES_MAX: usize = 16;
/// The search looks at so many interpreters, and at so many thread states of each: new ones stand first in the lists.
const INTERPRETERS_MAX: usize = 64;
const NEWEST_MAX: usize = 16;
/// So many thread states are looked at for one thread.
const LISTED_MAX: usize = 1024;
const THREAD_STATE_BYTES_MAX: u64 = 1024;
const FIRST_STACK_BYTES: u64 = 64 << 20;
/// Flag of a thread state: it is the last one that its thread activated. It stays set while the thread waits.
const BOUND_GILSTATE: u32 = 1 << 3;
/// `struct _ts`, 3.13 to 3.15: `thread_id` lies before `native_thread_id`.
const IDENT_BEFORE: u64 = 8;
/// glibc's descriptor of a thread, x86-64: `tid` lies behind the head of 704 bytes and a list's two pointers (nptl/descr.h).
const DESCRIPTOR_TID: u64 = 704 + 16;

/// The thread states of one thread, read from outside; more than one with sub-interpreters.
#[derive(Clone, Copy, Debug)]
pub struct States {
    pub addresses: [Address; THREAD_STATES_MAX],
    pub len: usize,
    /// There are more than fit.
    pub more: bool,
}

impl States {
    pub const EMPTY: States = States { addresses: [Address::NULL; THREAD_STATES_MAX], len: 0, more: false };

    /// False: there is no room.
    pub fn add(&mut self, state: Address) -> bool {
        let Some(slot) = self.addresses.get_mut(self.len) else { return false };
        *slot = state;
        self.len += 1;
        true
    }

    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = Address> {
        self.addresses.iter().take(self.len).copied()
    }
}

impl Default for States {
    fn default() -> States {
        States::EMPTY
    }
}

/// A thread, and which thread states may be its own.
#[derive(Clone, Copy, Debug)]
pub struct ThreadHints {
    pub pid: u32,
    pub tid: u32,
    pub states: States,
}

pub struct OwnStates {
    addresses: [Address; THREAD_STATES_MAX],
    len: usize,
}

impl OwnStates {
    pub const EMPTY: OwnStates = OwnStates { addresses: [Address::NULL; THREAD_STATES_MAX], len: 0 };

    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = Address> {
        self.addresses.iter().take(self.len).copied()
    }

    #[inline(always)]
    fn add(&mut self, state: Address) -> Result<(), PythonEnd> {
        if self.iter().any(|known| known == state) {
            return Ok(());
        }
        *self.addresses.get_mut(self.len).ok_or(PythonEnd::TooMany)? = state;
        self.len += 1;
        Ok(())
    }
}

/// Where a thread state keeps what `threading.get_ident` gives: the address of its thread's descriptor.
#[must_use]
#[inline(always)]
pub fn ident_offset(layout: &Layout) -> u64 {
    layout.threads.ident.unwrap_or(layout.threads.native_id.wrapping_sub(IDENT_BEFORE))
}

/// Whether the thread state names the descriptor of the process's first thread. One that no thread has taken yet names none.
#[inline(always)]
pub fn is_of_first<M: Memory>(memory: &M, layout: &Layout, pid: u32, state: Address) -> bool {
    let Ok(descriptor) = memory.address(state.at(ident_offset(layout))) else { return false };
    !descriptor.is_null() && memory.half(descriptor.at(DESCRIPTOR_TID)) == Ok(pid)
}

/// Whether the thread state is that of the thread `tid`. Also where that thread has the number that those of the first one still bear.
#[inline(always)]
pub fn is_own<M: Memory>(memory: &M, layout: &Layout, pid: u32, tid: u32, state: Address) -> bool {
    let Ok(number) = memory.word(state.at(layout.threads.native_id)) else { return false };
    if number == u64::from(pid) {
        tid == pid
    } else if tid == pid {
        is_of_first(memory, layout, pid, state)
    } else {
        number == u64::from(tid) && !is_of_first(memory, layout, pid, state)
    }
}

/// `is_own` of a thread whose descriptor is known: of no other thread one is read, each of which lies on a page of its own.
#[inline(always)]
fn is_its<M: Memory>(memory: &M, layout: &Layout, thread: &ThreadHints, descriptor: u64, state: Address) -> bool {
    if thread.tid != thread.pid {
        return is_own(memory, layout, thread.pid, thread.tid, state);
    }
    let word = |offset: u64| memory.word(state.at(offset));
    word(layout.threads.native_id) == Ok(u64::from(thread.pid))
        || (descriptor != 0 && word(ident_offset(layout)) == Ok(descriptor))
}

/// The thread whose thread state it is.
///
/// # Errors
/// `Fault`: it could not be read.
pub fn owner<M: Memory>(memory: &M, layout: &Layout, pid: u32, state: Address) -> Result<u32, Fault> {
    let number = memory.word(state.at(layout.threads.native_id))?;
    let is_first = number != u64::from(pid) && is_of_first(memory, layout, pid, state);
    Ok(if is_first { pid } else { number as u32 })
}

/// Collects the thread states of `thread.tid`. `stack_low`: its stack pointer, 0 when it is not known.
///
/// # Errors
/// `NoThreadState`; `Ambiguous` when there are several and which of them have their frames on this stack cannot be told; `TooMany`.
#[inline(always)]
pub fn find<M: Memory>(
    memory: &M,
    layout: &Layout,
    thread: &ThreadHints,
    stack_low: u64,
    found: &mut OwnStates,
) -> Result<(), PythonEnd> {
    let (mut own, mut has_current) = (None, false);
    for hint in thread.states.iter() {
        if is_own(memory, layout, thread.pid, thread.tid, hint) {
            own = own.or(Some(hint));
            has_current = has_current || is_current(memory, layout, hint);
            if has_frames(memory, layout, hint) {
                found.add(hint)?;
            }
        }
    }
    let own = own.ok_or(PythonEnd::NoThreadState)?;
    if thread.states.more || !has_current {
        // The thread entered another interpreter after the sampler read the lists, or never ran Python yet.
        let descriptor = memory.word(own.at(ident_offset(layout))).unwrap_or(0);
        search(memory, layout, thread, descriptor, found)?;
    }
    if thread.states.len == 1 && found.len <= 1 {
        // The usual case: no sub-interpreter, whatever stack the thread runs on.
        return Ok(());
    }
    match (layout.threads.current, layout.threads.ident) {
        (CurrentFrame::ByCFrame { cframe, .. }, Some(thread_id)) => {
            let known = OwnStates { addresses: found.addresses, len: found.len };
            *found = OwnStates::EMPTY;
            let stack = Stack { low: stack_low, cframe, thread: memory.word(own.at(thread_id))? };
            keep_on_stack(memory, thread, &stack, &known, found)
        }
        _ => Ok(()),
    }
}

/// Whether the thread activated this one of its thread states last. 3.11 does not say so, but who holds the GIL does.
#[inline(always)]
fn is_current<M: Memory>(memory: &M, layout: &Layout, state: Address) -> bool {
    match layout.threads.status {
        Some(status) => memory.half(state.at(status)).is_ok_and(|flags| flags & BOUND_GILSTATE != 0),
        None => holder(memory, layout, state).map_or(true, |holder| {
            holder == state
                || memory.word(holder.at(layout.threads.native_id)) != memory.word(state.at(layout.threads.native_id))
        }),
    }
}

/// A thread may have many thread states that it is not in: those of interpreters that it made.
#[inline(always)]
fn has_frames<M: Memory>(memory: &M, layout: &Layout, state: Address) -> bool {
    match layout.threads.current {
        CurrentFrame::ByCFrame { cframe, .. } => newest_cframe(memory, cframe, state).is_some(),
        CurrentFrame::InThreadState { current_frame, .. } => memory.word(state.at(current_frame)) != Ok(0),
    }
}

/// The C local of the newest run of the eval loop; outside of all runs the thread state points into itself.
#[inline(always)]
fn newest_cframe<M: Memory>(memory: &M, cframe: u64, state: Address) -> Option<u64> {
    let newest = memory.word(state.at(cframe)).ok()?;
    (newest.wrapping_sub(state.0) >= THREAD_STATE_BYTES_MAX).then_some(newest)
}

/// Adds the thread states of `thread.tid` among the first of each interpreter's list. `descriptor`: that of this thread. A list that changes
/// meanwhile ends the search: what it would have found is not this thread's, which stands still.
#[inline(never)]
fn search<M: Memory>(
    memory: &M,
    layout: &Layout,
    thread: &ThreadHints,
    descriptor: u64,
    found: &mut OwnStates,
) -> Result<(), PythonEnd> {
    let mut next_interpreter = memory.address(Address(layout.runtime.address).at(layout.runtime.interpreters_head));
    for _ in 0..INTERPRETERS_MAX {
        let Some(interpreter) = next_interpreter.ok().filter(|interpreter| !interpreter.is_null()) else { break };
        let mut next = memory.address(interpreter.at(layout.runtime.threads_head));
        for _ in 0..NEWEST_MAX {
            let Some(state) = next.ok().filter(|state| !state.is_null()) else { break };
            if is_its(memory, layout, thread, descriptor, state) && has_frames(memory, layout, state) {
                found.add(state)?;
            }
            next = memory.address(state.at(layout.threads.next));
        }
        next_interpreter = memory.address(interpreter.at(layout.runtime.interpreter_next));
    }
    Ok(())
}

/// All thread states of `thread.tid`, the calling thread, for who has no hints of the sampler's. `descriptor`: that of this thread. They are hints,
/// too: lists change. The loop ends after `LISTED_MAX` thread states.
pub fn of_thread<M: Memory>(memory: &M, layout: &Layout, thread: &mut ThreadHints, descriptor: u64) {
    thread.states = States::EMPTY;
    let mut left = LISTED_MAX;
    let mut next_interpreter = memory.address(Address(layout.runtime.address).at(layout.runtime.interpreters_head));
    for _ in 0..INTERPRETERS_MAX {
        let Some(interpreter) = next_interpreter.ok().filter(|interpreter| !interpreter.is_null()) else { break };
        let mut next = memory.address(interpreter.at(layout.runtime.threads_head));
        while let Some(state) = next.ok().filter(|state| !state.is_null()) {
            if left == 0 {
                return;
            }
            left -= 1;
            if is_its(memory, layout, thread, descriptor, state) && !thread.states.add(state) {
                thread.states.more = true;
                return;
            }
            next = memory.address(state.at(layout.threads.next));
        }
        next_interpreter = memory.address(interpreter.at(layout.runtime.interpreter_next));
    }
}

/// What tells whether a C local lies on the thread's stack.
struct Stack {
    /// The stack pointer; 0: not known.
    low: u64,
    cframe: u64,
    /// The thread's descriptor lies at the upper end of its stack; the first thread's lies below its stack, above which there is no other.
    thread: u64,
}

/// 3.11, 3.12: a thread may use the thread state that another one made, whose number it keeps. It is this thread's when the C local
/// of its newest run of the eval loop lies on this thread's stack. `known`: those with its number.
#[inline(never)]
fn keep_on_stack<M: Memory>(
    memory: &M,
    thread: &ThreadHints,
    stack: &Stack,
    known: &OwnStates,
    found: &mut OwnStates,
) -> Result<(), PythonEnd> {
    let newest = |state: Address| newest_cframe(memory, stack.cframe, state);
    let mut low = stack.low;
    if low == 0 && thread.tid == thread.pid {
        // The kernel keeps 128 MB below the first thread's stack free of other stacks (Linux arch/x86/mm/mmap.c, `mmap_base`).
        low = known.iter().filter_map(newest).fold(0, u64::max).saturating_sub(FIRST_STACK_BYTES);
    }
    for state in known.iter().chain(thread.states.iter()) {
        let Some(newest) = newest(state) else { continue };
        if low == 0 {
            return Err(PythonEnd::Ambiguous);
        }
        if newest >= low && (stack.thread < low || newest < stack.thread) {
            found.add(state)?;
        }
    }
    Ok(())
}

/// Whether the interpreter of this thread state is collecting garbage, and in this thread.
#[inline(always)]
pub fn in_gc<M: Memory>(memory: &M, layout: &Layout, thread_state: Address) -> Result<bool, Fault> {
    let interpreter = memory.address(thread_state.at(layout.threads.interpreter))?;
    if memory.half(interpreter.at(layout.runtime.gc_collecting))? == 0 {
        return Ok(false);
    }
    Ok(holder(memory, layout, thread_state)? == thread_state)
}

/// The same of a thread that is in no Python frame: the interpreter collects what is left when it ends.
#[inline(always)]
pub fn in_gc_without_frames<M: Memory>(memory: &M, layout: &Layout, thread: &ThreadHints) -> bool {
    let mut own = thread.states.iter().filter(|hint| is_own(memory, layout, thread.pid, thread.tid, *hint));
    own.any(|hint| in_gc(memory, layout, hint) == Ok(true))
}

/// The thread state that holds the GIL of this one's interpreter.
fn holder<M: Memory>(memory: &M, layout: &Layout, thread_state: Address) -> Result<Address, Fault> {
    let gil = match (layout.gil.pointer, layout.gil.address) {
        (Some(offset), _) => memory.address(memory.address(thread_state.at(layout.threads.interpreter))?.at(offset))?,
        (None, Some(address)) => Address(address),
        (None, None) => return Err(Fault),
    };
    if memory.half(gil.at(layout.gil.locked))? as i32 != 1 {
        return Err(Fault);
    }
    memory.address(gil.at(layout.gil.last_holder))
}
