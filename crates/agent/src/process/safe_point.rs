//! The safe point: work that runs with the GIL, in the main thread, where the interpreter's loop looks for pending calls. No lock of an
//! allocator or of the dynamic linker is held there by that thread.
//! Owns: the queue of tasks, and the one pending call that runs them. Never: takes the GIL, allocates, runs a task twice, or one that was
//! cancelled or is late; returns anything but 0 to the interpreter.
//!
//! | from    | to      | by          | when                                                    |
//! |---------|---------|-------------|---------------------------------------------------------|
//! | Free    | Filling | whoever asks | there is room                                          |
//! | Filling | Waiting | whoever asks | the task is written                                    |
//! | Waiting | Running | main thread | its pending call has come                               |
//! | Waiting | Late    | main thread | its pending call has come after the deadline            |
//! | Waiting | Free    | whoever asks | cancelled                                              |
//! | Running | Done    | main thread | the work has returned                                   |
//! | Running | Left    | whoever asks | nobody will ask for the result                         |
//! | Left    | Free    | main thread | the work has returned                                   |
//! | Done, Late | Free | whoever asks | the result is taken                                    |
//! | any     | Free    | forked child | the threads that asked are not there                   |

use crate::system::errno;
use crate::system::proc::{monotonic_ns, own_pid};
use crate::system::symbols;
use genba_python::interpreter::breaker::Breaker;
use genba_python::layout::Layout;
use genba_signal::memory::WordsByKernel;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering::SeqCst};

/// So many tasks may wait at once.
const TASKS: usize = 16;
/// So often a task is put back before it runs where it should not; on a stack of another kind (a greenlet's), nothing is outside.
const AGAIN_MAX: u32 = 1 << 16;

/// Work with the GIL. It gets the word that it was posted with, and its result is a word, too.
pub type Work = fn(u64) -> u64;

/// Where a task may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Anywhere,
    /// After the C function that `post` was called from: the interpreter also looks for pending calls in Python code that this function calls.
    AfterThisCall,
}

/// What became of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It waits, or runs.
    Open,
    Done(u64),
    /// Its deadline passed before it could run. It never will.
    Late,
    /// It began and panicked.
    Failed,
    /// The task was forgotten: the process forked.
    Gone,
}

/// A task that was posted. Not taken, it keeps its place in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct Ticket {
    place: usize,
    turn: u64,
}

/// Why there is no task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotPosted {
    /// The interpreter is not initialised yet, is finalised, or its list of pending calls is full.
    NoInterpreter,
    QueueFull,
}

/// The words of breaker.rs; null where there are none, or they are not known yet.
static BREAKER: AtomicPtr<AtomicI32> = AtomicPtr::new(core::ptr::null_mut());
static CALLS_TO_DO: AtomicPtr<AtomicI32> = AtomicPtr::new(core::ptr::null_mut());
/// So often the loop is told to look; a race with the main thread is hardly lost twice.
const NUDGES_MAX: u32 = 3;

static QUEUE: Queue<TASKS> = Queue::NEW;
/// The pending call is in the interpreter's list.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Has `work` run once, in the main thread, before `deadline_ns` (`CLOCK_MONOTONIC`). Callable from any thread, with or without the GIL.
#[inline(never)]
pub fn post(work: Work, argument: u64, place: Place, deadline_ns: u64) -> Result<Ticket, NotPosted> {
    // A place on the stack of what must be over first.
    let outside_of = if place == Place::AfterThisCall { stack_address() } else { 0 };
    let task = Task { work, argument, outside_of, deadline_ns };
    let ticket = QUEUE.add(task).ok_or(NotPosted::QueueFull)?;
    if ask() || QUEUE.cancel(ticket) == Cancelled::Running {
        return Ok(ticket);
    }
    Err(NotPosted::NoInterpreter)
}

/// As `post`, where nobody waits for the result and any time will do. False: it will not run.
#[inline(never)]
pub fn run_after_this_call(work: Work) -> bool {
    let task = Task { work, argument: 0, outside_of: stack_address(), deadline_ns: u64::MAX };
    let Some(ticket) = QUEUE.add(task) else { return false };
    QUEUE.leave(ticket);
    ask() || QUEUE.cancel(ticket) == Cancelled::Running
}

/// What became of the task, without waiting. Anything but `Open` ends the ticket.
pub fn outcome(ticket: Ticket) -> Outcome {
    QUEUE.take(ticket)
}

/// The task will not run, unless it runs already: then nobody asks for its result any more. True: it did not and will not run.
pub fn cancel(ticket: Ticket) -> bool {
    QUEUE.cancel(ticket) == Cancelled::BeforeItRan
}

/// The layout is checked (I-10): in CPython 3.11 and 3.12 the loop must be told to look for what other threads than the main one post.
pub fn learn(layout: &Layout) {
    if let Ok(Some(found)) = Breaker::find(&WordsByKernel { pid: own_pid() }, layout) {
        CALLS_TO_DO.store(found.calls_to_do.0 as *mut AtomicI32, SeqCst);
        BREAKER.store(found.breaker.0 as *mut AtomicI32, SeqCst);
    }
}

/// Makes the main thread's loop look, if its call still waits. The word is one that CPython itself sets so from any thread.
fn nudge() {
    // SAFETY: words of the runtime and of the main interpreter, which stay as long as there is a list of calls; CPython changes them by atomic
    // instructions, too.
    let words = unsafe { (BREAKER.load(SeqCst).as_ref(), CALLS_TO_DO.load(SeqCst).as_ref()) };
    let (Some(breaker), Some(calls_to_do)) = words else { return };
    for _ in 0..NUDGES_MAX {
        if calls_to_do.load(SeqCst) != 1 {
            return;
        }
        breaker.store(1, SeqCst);
        if calls_to_do.load(SeqCst) == 1 {
            return;
        }
        // The call came meanwhile, and the word would make each look a slow one: adding a call computes it anew.
        if !add_call() {
            return;
        }
    }
}

/// In a forked child. A call in the copied list of the interpreter's finds an empty queue.
pub fn forked() {
    QUEUE.forget();
    ASKED.store(false, SeqCst);
}

/// Puts the pending call into the interpreter's list, unless it is there. False: it cannot.
fn ask() -> bool {
    ASKED.swap(true, SeqCst) || add() || {
        ASKED.store(false, SeqCst);
        false
    }
}

fn add() -> bool {
    let is_added = add_call();
    if is_added {
        nudge();
    }
    is_added
}

fn add_call() -> bool {
    type IsInitialized = unsafe extern "C" fn() -> c_int;
    type AddPendingCall = unsafe extern "C" fn(extern "C" fn(*mut c_void) -> c_int, *mut c_void) -> c_int;
    // Before it is initialised and after it is finalised the interpreter has no list of calls.
    let initialized = symbols::address(c"Py_IsInitialized")
        // SAFETY: the interpreter's function of this name: reads one flag.
        .is_some_and(|address| unsafe { core::mem::transmute::<u64, IsInitialized>(address)() } != 0);
    let Some(address) = symbols::address(c"Py_AddPendingCall").filter(|_| initialized) else { return false };
    // SAFETY: the interpreter's function of this name; callable from any thread, with or without the GIL.
    unsafe { core::mem::transmute::<u64, AddPendingCall>(address)(pending, core::ptr::null_mut()) == 0 }
}

extern "C" fn pending(_nothing: *mut c_void) -> c_int {
    let errno = errno::get();
    // Who posts from now on asks anew.
    ASKED.store(false, SeqCst);
    if QUEUE.run(stack_address(), monotonic_ns) {
        ask();
    }
    errno::set(errno);
    0
}

/// Of the caller's frame, or a little below.
#[inline(always)]
fn stack_address() -> u64 {
    let here = 0u8;
    std::hint::black_box(&raw const here) as u64
}

#[derive(Clone, Copy)]
struct Task {
    work: Work,
    argument: u64,
    /// It does not run below this place on the stack; 0: anywhere.
    outside_of: u64,
    deadline_ns: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cancelled {
    BeforeItRan,
    Running,
    /// It has ended, or was forgotten.
    TooLate,
}

const FREE: u64 = 0;
const FILLING: u64 = 1;
const WAITING: u64 = 2;
const RUNNING: u64 = 3;
const DONE: u64 = 4;
const FAILED: u64 = 5;
const LATE: u64 = 6;
/// It runs, and frees itself afterwards.
const LEFT: u64 = 7;
const STATE: u64 = 7;
const TURN: u64 = STATE + 1;

/// One task of the queue. `state` is the state and, above it, the turn: a number that grows with each use.
struct Slot {
    state: AtomicU64,
    /// Nobody asks for the result.
    is_left: AtomicBool,
    again: AtomicU32,
    work: AtomicU64,
    argument: AtomicU64,
    outside_of: AtomicU64,
    deadline_ns: AtomicU64,
    result: AtomicU64,
}

impl Slot {
    #[allow(clippy::declare_interior_mutable_const)] // a template for the one static
    const NEW: Slot = Slot {
        state: AtomicU64::new(FREE),
        is_left: AtomicBool::new(false),
        again: AtomicU32::new(0),
        work: AtomicU64::new(0),
        argument: AtomicU64::new(0),
        outside_of: AtomicU64::new(0),
        deadline_ns: AtomicU64::new(0),
        result: AtomicU64::new(0),
    };

    /// One thread of those that try it in the same turn succeeds.
    fn step(&self, turn: u64, from: u64, to: u64) -> bool {
        self.state.compare_exchange(turn | from, turn | to, SeqCst, SeqCst).is_ok()
    }

    fn free(&self, turn: u64, from: u64) -> bool {
        self.state.compare_exchange(turn | from, turn.wrapping_add(TURN) | FREE, SeqCst, SeqCst).is_ok()
    }
}

struct Queue<const SLOTS: usize>([Slot; SLOTS]);

impl<const SLOTS: usize> Queue<SLOTS> {
    #[allow(clippy::declare_interior_mutable_const)] // a template for the one static
    const NEW: Queue<SLOTS> = Queue([const { Slot::NEW }; SLOTS]);

    fn add(&self, task: Task) -> Option<Ticket> {
        for (place, slot) in self.0.iter().enumerate() {
            let state = slot.state.load(SeqCst);
            let turn = state & !STATE;
            if state & STATE != FREE || !slot.step(turn, FREE, FILLING) {
                continue;
            }
            slot.is_left.store(false, SeqCst);
            slot.again.store(AGAIN_MAX, SeqCst);
            slot.work.store(task.work as *const () as u64, SeqCst);
            slot.argument.store(task.argument, SeqCst);
            slot.outside_of.store(task.outside_of, SeqCst);
            slot.deadline_ns.store(task.deadline_ns, SeqCst);
            slot.step(turn, FILLING, WAITING);
            return Some(Ticket { place, turn });
        }
        None
    }

    fn leave(&self, ticket: Ticket) {
        let slot = &self.0[ticket.place];
        slot.is_left.store(true, SeqCst);
        let _ = slot.step(ticket.turn, RUNNING, LEFT) || slot.free(ticket.turn, DONE) || slot.free(ticket.turn, FAILED);
    }

    fn cancel(&self, ticket: Ticket) -> Cancelled {
        let slot = &self.0[ticket.place];
        if slot.free(ticket.turn, WAITING) {
            Cancelled::BeforeItRan
        } else if slot.step(ticket.turn, RUNNING, LEFT) || slot.state.load(SeqCst) == ticket.turn | LEFT {
            Cancelled::Running
        } else {
            for ended in [DONE, FAILED, LATE] {
                let _ = slot.free(ticket.turn, ended);
            }
            Cancelled::TooLate
        }
    }

    fn take(&self, ticket: Ticket) -> Outcome {
        let slot = &self.0[ticket.place];
        let state = slot.state.load(SeqCst);
        if state & !STATE != ticket.turn {
            return Outcome::Gone;
        }
        let result = slot.result.load(SeqCst);
        let outcome = match state & STATE {
            DONE => Outcome::Done(result),
            FAILED => Outcome::Failed,
            LATE => Outcome::Late,
            _ => return Outcome::Open,
        };
        if slot.free(ticket.turn, state & STATE) { outcome } else { Outcome::Gone }
    }

    /// Runs what may run at this place on the stack. True: tasks wait for another place.
    fn run(&self, stack_address: u64, now_ns: fn() -> u64) -> bool {
        let mut waits = false;
        for slot in &self.0 {
            let state = slot.state.load(SeqCst);
            let turn = state & !STATE;
            if state & STATE != WAITING {
                continue;
            }
            let again = slot.again.load(SeqCst);
            if stack_address < slot.outside_of.load(SeqCst) && again > 0 {
                slot.again.store(again - 1, SeqCst);
                waits = true;
                continue;
            }
            if now_ns() >= slot.deadline_ns.load(SeqCst) {
                slot.step(turn, WAITING, LATE);
                continue;
            }
            if !slot.step(turn, WAITING, RUNNING) {
                continue;
            }
            let (work, argument) = (slot.work.load(SeqCst), slot.argument.load(SeqCst));
            // SAFETY: what `add` was given; the step to Running made this thread the only one that runs it.
            let work = unsafe { core::mem::transmute::<*const (), Work>(work as *const ()) };
            let result = std::panic::catch_unwind(move || work(argument));
            slot.result.store(*result.as_ref().unwrap_or(&0), SeqCst);
            let ended = if result.is_ok() { DONE } else { FAILED };
            if slot.is_left.load(SeqCst) || !slot.step(turn, RUNNING, ended) {
                let _ = slot.free(turn, LEFT) || slot.free(turn, RUNNING);
            }
        }
        waits
    }

    fn forget(&self) {
        for slot in &self.0 {
            let turn = slot.state.load(SeqCst) & !STATE;
            slot.state.store(turn.wrapping_add(TURN) | FREE, SeqCst);
        }
    }
}

#[cfg(test)]
mod tests;
