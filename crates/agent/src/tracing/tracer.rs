//! The counts of this process: all its threads, and the functions that they called.
//! Owns: which thread's counts a callback changes. Never: is used by two threads at once: who has the GIL of the main interpreter has this.

use super::clock::Clock;
use super::counts::{Index, Thread, Waits};
use super::functions::{CFunction, Profiling, Python};
use super::names::{self, Name};
use crate::collections::interpreter::{Method, Object};
use crate::process::session::Session;
use rustc_hash::FxHashMap;
use std::ffi::{CString, c_int};
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

/// Of the code objects of coroutines.
type CoroutineWaits = FxHashMap<u64, (Index, Waits)>;

/// A function whose calls are genba's own: what it calls was called by its caller.
const UNCOUNTED: Index = Index::MAX;

/// Null: this process is not traced. Never freed.
static TRACER: AtomicPtr<Tracer> = AtomicPtr::new(core::ptr::null_mut());

pub struct Tracer {
    pub python: &'static Python,
    /// On 3.11.
    pub profiling: Option<&'static Profiling>,
    /// `sys.monitoring.MISSING`.
    pub missing: Object,
    pub session: Session,
    pub clock: Clock,
    /// The process that counts; 0: it is not known that nobody was at the counts when this process was forked.
    pub pid: u32,
    /// Its parent is the command: it writes the file that was asked for.
    pub is_first: bool,
    /// The file that it has begun to write.
    pub path: Option<CString>,
    /// By the address of its thread's own memory.
    thread_of: FxHashMap<u64, usize>,
    threads: Vec<Thread>,
    /// The thread of the last event.
    last: (u64, usize),
    function_of: FxHashMap<u64, Index>,
    names: Vec<Name>,
    /// Of the functions whose calls make coroutines, in all threads, by their keys.
    waits: CoroutineWaits,
    /// Code objects: their addresses are their own as long as they are held.
    held: Vec<Object>,
    /// The keys of `_thread.start_new_thread` and of its old name `start_new`: on 3.11 a new thread needs a profile function.
    starting: Vec<u64>,
    /// On 3.11: a thread has a profile function of the program's.
    pub has_given_way: bool,
    /// There was no memory: nothing is counted any more.
    pub is_full: bool,
    /// The program has begun it, and ends it.
    pub is_within: bool,
    /// It was ended, and nothing is installed.
    pub is_stopped: bool,
    /// Of `sys.monitoring`.
    pub tool: Option<c_int>,
    pub beside: Beside,
}

/// A function of the interpreter's with one argument.
pub type OfOne = extern "C" fn(Object, Object) -> Object;

/// A function of the interpreter's that is called by way of genba. The object is its own; what it says of itself is a copy.
#[derive(Clone, Copy)]
pub struct Led {
    pub function: Object,
    pub original: *const Method,
    pub copy: *const Method,
}

/// A profile function that is set when the call that sets it has ended.
#[derive(Clone, Copy)]
pub struct Delayed {
    pub thread: u64,
    pub function: OfOne,
    pub own: Object,
    pub argument: Object,
}

/// What beside.rs keeps.
#[derive(Default)]
pub struct Beside {
    pub led: [Option<Led>; 3],
    pub delayed: Vec<Delayed>,
    /// `sys.getprofile`.
    pub asked: Option<Object>,
}

impl Beside {
    #[inline(always)]
    pub fn has_delayed(&self) -> bool {
        !self.delayed.is_empty()
    }
}

/// A function that is entered: its Python code, or what C has.
#[derive(Clone, Copy)]
pub enum Callable {
    Code(Object),
    C(CFunction),
}

impl Callable {
    #[inline(always)]
    pub fn key(self) -> u64 {
        match self {
            Callable::Code(code) => code as u64,
            Callable::C(function) => function.method as u64,
        }
    }
}

impl Tracer {
    pub fn new(python: &'static Python, session: Session, pid: u32, is_first: bool) -> Tracer {
        Tracer {
            python,
            profiling: None,
            missing: core::ptr::null_mut(),
            session,
            clock: Clock::begin(),
            pid,
            is_first,
            path: None,
            thread_of: FxHashMap::default(),
            threads: Vec::new(),
            last: (0, 0),
            function_of: FxHashMap::default(),
            names: Vec::new(),
            waits: FxHashMap::default(),
            held: Vec::new(),
            starting: Vec::new(),
            has_given_way: false,
            is_full: false,
            is_within: false,
            is_stopped: false,
            tool: None,
            beside: Beside::default(),
        }
    }

    /// After an end.
    pub fn begin_anew(&mut self, session: Session, pid: u32) {
        let _ = self.forget();
        (self.is_full, self.is_stopped, self.has_given_way) = (false, false, false);
        (self.session, self.pid, self.is_first, self.path) = (session, pid, true, None);
        self.clock = Clock::begin();
    }

    /// The counts, and all names. The code objects that were held are the caller's to release, when nothing of this is in use.
    #[must_use]
    pub fn forget(&mut self) -> Vec<Object> {
        (self.last, self.starting) = ((0, 0), Vec::new());
        (self.thread_of, self.threads) = (FxHashMap::default(), Vec::new());
        (self.function_of, self.names, self.waits) = (FxHashMap::default(), Vec::new(), FxHashMap::default());
        core::mem::take(&mut self.held)
    }

    /// The innermost calls of the calling thread do not count.
    pub fn drop_innermost(&mut self, calls: usize) {
        if let Some(thread) = self.thread() {
            (0..calls).for_each(|_| thread.drop_innermost());
        }
    }

    pub fn keep(self) {
        TRACER.store(Box::into_raw(Box::new(self)), SeqCst);
    }

    /// The pointer, for whoever has the GIL and calls nothing of the interpreter's while it uses what is behind it.
    #[inline(always)]
    pub fn get() -> *mut Tracer {
        TRACER.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// The calling thread is the one in which the program begins. None: there is no memory for it.
    pub fn begin(&mut self) -> Option<()> {
        self.add_thread(own_memory(), Thread::first()).map(drop)
    }

    #[inline(always)]
    fn thread(&mut self) -> Option<&mut Thread> {
        let own = own_memory();
        if self.last.0 != own {
            let known = self.thread_of.get(&own).copied();
            self.last = (own, known.or_else(|| self.add_thread(own, Thread::default()))?);
        }
        self.threads.get_mut(self.last.1)
    }

    #[cold]
    fn add_thread(&mut self, own: u64, thread: Thread) -> Option<usize> {
        let thread = thread.with_room()?;
        self.threads.try_reserve(1).ok()?;
        self.thread_of.try_reserve(1).ok()?;
        self.threads.push(thread);
        self.thread_of.insert(own, self.threads.len() - 1);
        Some(self.threads.len() - 1)
    }

    /// None: it is a new one.
    #[inline(always)]
    pub fn index(&self, key: u64) -> Option<Index> {
        self.function_of.get(&key).copied()
    }

    /// A call by a caller that has called this function before. False: nobody knows that, and nothing is counted.
    #[inline(always)]
    pub fn enter_known(&mut self, key: u64) -> bool {
        if self.is_full {
            return false;
        }
        let clock = self.clock;
        self.thread().is_some_and(|thread| thread.enter_known(key, || clock.ticks()))
    }

    #[inline(always)]
    pub fn enter(&mut self, key: u64, function: Index) {
        if self.is_full || function == UNCOUNTED {
            return;
        }
        let clock = self.clock;
        let entered = self.thread().and_then(|thread| thread.enter(key, function, || clock.ticks()));
        self.is_full = entered.is_none();
    }

    #[inline(always)]
    pub fn leave(&mut self, key: u64) {
        let now_ticks = self.clock.ticks();
        if let Some(thread) = self.thread() {
            thread.leave(key, now_ticks);
        }
    }

    /// The innermost call ends for now: a generator that gives a value, or a coroutine that waits.
    #[inline(always)]
    pub fn pause(&mut self, key: u64, place: impl FnOnce(&Python) -> u32) {
        let now_ticks = self.clock.ticks();
        if let Some(thread) = self.thread() {
            thread.leave(key, now_ticks);
        }
        let python = self.python;
        if let Some(waits) = self.waits_of(key) {
            waits.begin(now_ticks, place(python));
        }
    }

    /// It is about to go on.
    #[inline(always)]
    pub fn go_on(&mut self, key: u64) {
        let clock = self.clock;
        if let Some(waits) = self.waits_of(key) {
            waits.end(clock.ticks());
        }
    }

    /// It is about to go on with an exception, or to begin with one.
    pub fn thrown(&mut self, key: u64, place: impl FnOnce(&Python) -> u32) {
        let (clock, python) = (self.clock, self.python);
        if let Some(waits) = self.waits_of(key) {
            waits.thrown(clock.ticks(), place(python));
        }
    }

    /// On 3.11, where one event tells both. `has_waited` is asked of coroutines alone.
    #[inline(always)]
    pub fn begins_or_goes_on(&mut self, key: u64, has_waited: impl FnOnce() -> bool) {
        let clock = self.clock;
        if let Some(waits) = self.waits_of(key)
            && has_waited()
        {
            waits.end(clock.ticks());
        }
    }

    /// The same at the other end. A coroutine goes on unseen where what it awaits takes an exception for it and returns.
    #[inline(always)]
    pub fn ends_or_pauses(&mut self, key: u64, is_paused: impl FnOnce() -> bool) {
        let now_ticks = self.clock.ticks();
        let is_unseen = !self.waits.is_empty() && self.innermost().is_some_and(|innermost| innermost != key);
        if let Some(thread) = self.thread() {
            thread.leave(key, now_ticks);
        }
        if let Some(waits) = self.waits_of(key) {
            if is_unseen {
                waits.end(now_ticks);
            }
            if is_paused() {
                waits.begin(now_ticks, 0);
            }
        }
    }

    /// None: no coroutine's.
    #[inline(always)]
    fn waits_of(&mut self, key: u64) -> Option<&mut Waits> {
        if self.waits.is_empty() {
            return None;
        }
        self.waits.get_mut(&key).map(|(_, waits)| waits)
    }

    /// Whether a function that has ended starts threads.
    #[inline(always)]
    pub fn starts_threads(&self, key: u64) -> bool {
        self.starting.contains(&key)
    }

    /// The function of the calling thread's innermost call.
    pub fn innermost(&mut self) -> Option<u64> {
        self.thread().and_then(|thread| thread.innermost())
    }

    /// None: there is no memory for it.
    fn add_function(&mut self, key: u64, name: Name, makes_coroutines: bool) -> Option<Index> {
        let index = Index::try_from(self.names.len()).ok()?;
        self.names.try_reserve(1).ok()?;
        self.function_of.try_reserve(1).ok()?;
        self.held.try_reserve(1).ok()?;
        if self.is_within && name.is_around_decorated() {
            self.function_of.insert(key, UNCOUNTED);
            return Some(UNCOUNTED);
        }
        if makes_coroutines {
            self.waits.try_reserve(1).ok()?;
            self.waits.insert(key, (index, Waits::default()));
        }
        if name.name.starts_with(b"<built-in method _thread.start_new") {
            self.starting.try_reserve(1).ok()?;
            self.starting.push(key);
        }
        self.names.push(name);
        self.function_of.insert(key, index);
        Some(index)
    }

    /// In a forked child, by the thread that forked, with the GIL.
    pub fn forked(&mut self, pid: u32) {
        (self.pid, self.is_first, self.path) = (pid, false, None);
        self.beside.delayed.clear();
        self.threads.iter_mut().for_each(Thread::forget);
        self.waits.values_mut().for_each(|(_, waits)| *waits = Waits::default());
    }

    pub fn parts(&self) -> (&[Name], &[Thread], &CoroutineWaits) {
        (&self.names, &self.threads, &self.waits)
    }
}

/// A function that is entered for the first time. Calls the interpreter, which may let another thread run: so it uses the counts before and
/// after, and not meanwhile.
#[cold]
pub fn new_function(tracer: *mut Tracer, callable: Callable) -> Option<Index> {
    // SAFETY: never freed; with the GIL.
    let python = unsafe { (*tracer).python };
    let (name, makes_coroutines) = match callable {
        Callable::Code(code) => (names::of_code(python, code), names::makes_coroutines(python, code)),
        Callable::C(function) => (names::of_c(python, function), false),
    };
    // SAFETY: with the GIL; nothing of the interpreter's is called while it is used.
    let tracer = unsafe { &mut *tracer };
    if let Some(known) = tracer.index(callable.key()) {
        return Some(known);
    }
    let index = name.and_then(|name| tracer.add_function(callable.key(), name, makes_coroutines));
    tracer.is_full |= index.is_none();
    if let (Callable::Code(code), Some(_)) = (callable, index) {
        // SAFETY: with the GIL.
        unsafe { (python.hold)(code) };
        tracer.held.push(code);
    }
    index
}

/// A function written in C has ended. None: a profile function could not be set, and there is an exception.
#[cold]
pub fn set_delayed(tracer: *mut Tracer) -> Option<()> {
    // SAFETY: never freed; with the GIL. The interpreter is called when nothing of the tracer's is in use.
    unsafe {
        let beside = &mut (*tracer).beside;
        let at = beside.delayed.iter().position(|one| one.thread == own_memory());
        let Some(one) = at.map(|at| beside.delayed.swap_remove(at)) else { return Some(()) };
        let python = (*tracer).python;
        let set = (one.function)(one.own, one.argument);
        (python.release)(one.argument);
        if set.is_null() {
            return None;
        }
        (python.release)(set);
        Some(())
    }
}

/// The address of the calling thread's own memory, which no other living thread has.
#[inline(always)]
pub fn own_memory() -> u64 {
    let address: u64;
    // SAFETY: the first word of a thread's own memory is its address (the ABI of x86-64, "Thread-local storage").
    unsafe { core::arch::asm!("mov {}, fs:0", out(reg) address, options(pure, readonly, nostack, preserves_flags)) };
    address
}
