//! What the sampler does about collections: it has the callables installed, and turns events into rows of the recording.
//! Owns: the step at which the installation is. Never: waits for the safe point, which may be long in coming.
//!
//! | step    | next    | when                                                                   |
//! |---------|---------|------------------------------------------------------------------------|
//! | Off     | -       | nobody asked for collections                                           |
//! | Wanted  | Asked   | the layout is believed and the interpreter runs: a task is posted      |
//! | Asked   | On      | the task has done it                                                   |
//! | Asked   | Wanted  | a collection ran at that moment, or the task is gone (fork)            |
//! | Wanted, Asked | GivenUp | it cannot be done here; a note in the recording says why         |

use crate::collections::interpreter::Interpreter;
use crate::collections::known::{EXPLICIT, KNOWN, Known};
use crate::collections::list::{EXIT, Installed, LIST, install};
use crate::collections::ring::Event;
use crate::collections::tried;
use crate::process::safe_point::{self, Outcome, Place, Ticket};
use crate::process::session::Session;
use crate::reading::modules::Loaded;
use crate::reading::stacks::Stacks;
use crate::system::proc::monotonic_ns;
use crate::system::symbols;
use genba_format::proto::{self, CollectionReason};
use genba_python::interpreter::collector::{Collector, Kind};
use genba_python::layout::Layout;
use genba_python::memory::{Address, Memory};
use genba_signal::deposits::collections::{self as deposits, COLLECTIONS, POOL as OF_COLLECTIONS};
use genba_signal::memory::WordsByKernel;
use genba_signal::request::{self, Answer};
use genba_signal::unwind::NativeEnd;
use std::sync::atomic::Ordering::SeqCst;

/// A task that has not run by then is posted again: the list of the interpreter may have lost it.
const ASKED_NS_MAX: u64 = 10_000_000_000;
/// After an attempt at a bad moment.
const AGAIN_NS: u64 = 5_000_000;
/// So many native frames lie between genba's callable and whoever asked for the collection.
const FRAMES_MAX: usize = 12;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Off,
    Wanted { from_ns: u64 },
    Asked(Ticket),
    On,
    GivenUp,
}

/// Stacks that were left while the rows of an earlier recording were known: these rows say nothing here. By buffer.
#[derive(Clone, Copy)]
pub struct Stale([Option<request::Ticket>; COLLECTIONS]);

impl Stale {
    pub const NONE: Stale = Stale([None; COLLECTIONS]);

    /// Rows are forgotten.
    pub fn of_anew(stacks: &mut Stacks) -> Stale {
        deposits::close();
        stacks.begin_anew();
        let stale = Stale(core::array::from_fn(|index| OF_COLLECTIONS.begun_at(index)));
        deposits::open();
        stale
    }

    pub fn has(&self, ticket: request::Ticket) -> bool {
        self.0.get(ticket.index) == Some(&Some(ticket))
    }
}

pub struct Collections {
    step: Step,
    /// What is to be installed.
    wanted: u64,
    pub stale: Stale,
    /// The recording's present key has the counts before its first event.
    pub is_told: bool,
    /// Events of earlier keys of this process, by generation.
    pub taken: [u64; 3],
}

impl Collections {
    pub fn new(session: &Session) -> Collections {
        tried::ask(session);
        let exit = session.heap.at_exit && !session.heap.out.is_empty();
        let wanted = if session.gc { LIST } else { 0 } | if exit { EXIT } else { 0 };
        let step = if wanted != 0 { Step::Wanted { from_ns: 0 } } else { Step::Off };
        Collections { step, wanted, stale: Stale::NONE, is_told: false, taken: [0; 3] }
    }

    /// Of a forked child, in which the callables are as in its parent.
    pub fn of_child(&self, stale: Stale) -> Collections {
        Collections { step: self.step, wanted: self.wanted, stale, is_told: false, taken: [0; 3] }
    }

    pub const fn are_on(&self) -> bool {
        matches!(self.step, Step::On) && self.wanted & LIST != 0
    }

    /// What is not done where a step fails.
    pub const fn not_done(&self) -> &'static str {
        match self.wanted {
            EXIT => "the heap at exit is not walked",
            _ => "garbage collections are not recorded",
        }
    }

    /// The next step, if it is time for it. Some: why there will be none.
    pub fn go_on(&mut self, now_ns: u64, layout: Option<&Layout>, pid: u32) -> Option<&'static str> {
        match self.step {
            Step::Wanted { from_ns } if now_ns >= from_ns => {
                let layout = layout?;
                if !prepare(layout, pid) {
                    self.step = Step::GivenUp;
                    return Some("it does not export what that takes");
                }
                let posted =
                    safe_point::post(install, self.wanted, Place::Anywhere, now_ns.saturating_add(ASKED_NS_MAX));
                self.step = posted.map_or(Step::Wanted { from_ns: now_ns + AGAIN_NS }, Step::Asked);
                None
            }
            Step::Asked(ticket) => {
                let again = Step::Wanted { from_ns: monotonic_ns() + AGAIN_NS };
                let (step, why) = match safe_point::outcome(ticket) {
                    Outcome::Open => return None,
                    Outcome::Late | Outcome::Gone => (again, None),
                    Outcome::Failed => (Step::GivenUp, Some("genba failed there")),
                    Outcome::Done(word) => match Installed::of(word) {
                        Installed::Yes => (Step::On, None),
                        Installed::NotNow => (again, None),
                        Installed::DoesNotFit => {
                            (Step::GivenUp, Some("the collector's structures are not where its version says"))
                        }
                        Installed::Replaced => {
                            (Step::GivenUp, Some("gc.callbacks is not the list that the collector calls"))
                        }
                        Installed::Failed => (Step::GivenUp, Some("the interpreter had no memory for that")),
                        Installed::NoExit => (Step::GivenUp, Some("the module atexit takes no function of genba's")),
                        Installed::NotTried => (Step::GivenUp, Some("the threshold was not set")),
                    },
                };
                self.step = step;
                why
            }
            _ => None,
        }
    }

    /// The recording ends. True: they were asked for, and the safe point has not come.
    pub fn give_up(&mut self) -> bool {
        match std::mem::replace(&mut self.step, Step::GivenUp) {
            Step::Asked(ticket) => safe_point::cancel(ticket),
            step => matches!(step, Step::Wanted { .. }),
        }
    }

    pub fn count(&mut self, generation: u32) {
        if let Some(taken) = self.taken.get_mut(generation as usize) {
            *taken += 1;
        }
    }
}

/// Once a process: what the callables need to know.
fn prepare(layout: &Layout, pid: u32) -> bool {
    if !KNOWN.load(SeqCst).is_null() {
        return true;
    }
    let version = symbols::address(c"Py_Version").and_then(|at| WordsByKernel { pid }.half(Address(at)).ok());
    let known = version.and_then(|version| {
        let collector = Collector::of(layout, version)?;
        Some(Known { interpreter: Interpreter::find()?, collector, layout: *layout })
    });
    let Some(known) = known else { return false };
    KNOWN.store(Box::into_raw(Box::new(known)), SeqCst);
    true
}

pub fn is_incremental() -> bool {
    // SAFETY: made by `into_raw` and never freed.
    unsafe { KNOWN.load(SeqCst).as_ref() }.is_some_and(|known| known.collector.kind == Kind::Incremental)
}

/// Who asked for the collection in which this stack was left.
pub fn reason(loaded: &Loaded, answer: &Answer, is_finalizing: bool) -> CollectionReason {
    // SAFETY: made by `into_raw` and never freed.
    let Some(known) = (unsafe { KNOWN.load(SeqCst).as_ref() }) else { return CollectionReason::Unknown };
    let explicit = EXPLICIT.load(SeqCst);
    let native = &answer.native[..answer.native_len];
    let functions = || {
        // Return addresses: the call stands before.
        let calls = native.iter().skip(1).take(FRAMES_MAX);
        calls.filter_map(|frame| loaded.place(frame.pc.wrapping_sub(1))?.function)
    };
    if explicit != 0 && functions().any(|function| function == explicit) {
        CollectionReason::Explicit
    } else if functions().any(|function| function == known.interpreter.collect) {
        if is_finalizing { CollectionReason::Shutdown } else { CollectionReason::CCall }
    } else if explicit != 0 && (native.len() > FRAMES_MAX || answer.native_end == NativeEnd::Complete) {
        CollectionReason::Threshold
    } else {
        CollectionReason::Unknown
    }
}

/// As it is written; the thread and the node are their rows + 1.
pub fn row(event: &Event, reason: CollectionReason, thread: u32, node: u32) -> proto::Collection {
    proto::Collection {
        start_ns: event.start_ns,
        pause_ns: event.pause_ns,
        generation: event.generation,
        reason: reason as i32,
        examined: event.examined.map_or(0, |examined| examined + 1),
        collected: event.collected,
        uncollectable: event.uncollectable,
        thread,
        node,
        young: u64::from(event.young),
        threshold: u64::from(event.threshold),
    }
}
