//! The sampler's comings and goings: load, fork, exec, exit.
//! Owns: the one sampler of the process, its thread. Never: lets a fork happen while the sampler runs (unless that is held up), keeps the
//! program waiting longer than the bounds below, panics into the program. Partner: life.rs has the states.

use crate::api;
use crate::arena::{self, SAMPLER_TID, STACK_BYTES};
use crate::bells;
use crate::carry;
use crate::control::{self, Done, Order};
use crate::described::describe;
use crate::descriptor::Descriptor;
use crate::environment;
use crate::errno;
use crate::interpose;
use crate::leaving;
use crate::life::{LIFE, State};
use crate::modules::Loaded;
use crate::proc::{self, monotonic_ns};
use crate::process_key::random_key;
use crate::python::{self, Found, Python};
use crate::recorder::Recorder;
use crate::room;
use crate::sampler::{Left, Sampler};
use crate::session::Session;
use crate::signals::mask;
use crate::stacks::Stacks;
use crate::{alternate, life, prompt, signals, symbols};
use genba_format::proto;
use genba_signal::handler::SHARED;
use genba_signal::memory::Guarded;
use genba_signal::request::POOL;
use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::SeqCst};

mod forks;

/// The program waits at most so long for the last block.
const END_NS_MAX: u64 = 500_000_000;
const FLUSH_NS_MAX: u64 = 100_000_000;
/// A handler that walks is waited for: without a CPU it takes that long.
const PAUSE_NS_MAX: u64 = 2_000_000_000;
/// A fork waits so long for another thread's order to be done, as long for the sampler to park, and as long for its thread to end.
const PARK_NS_MAX: u64 = 2_000_000_000;
/// A thread that has ended is gone in microseconds, later where it waits for a CPU.
const GONE_NS_MAX: u64 = 100_000_000;

/// The sampler of a recording that ended: what it compiled serves the next one.
static ENDED: AtomicPtr<Sampler> = AtomicPtr::new(core::ptr::null_mut());
/// The sampler that was given to a thread last: while it is parked, whoever has the turn may use it.
static SAMPLER: AtomicPtr<Sampler> = AtomicPtr::new(core::ptr::null_mut());
/// pthread_t of the sampler's thread, until it is joined; 0: none.
static THREAD: AtomicU64 = AtomicU64::new(0);
/// The process whose sampler this is. In a vfork child it is another one's.
static OWNER: AtomicU32 = AtomicU32::new(0);
static FOLLOW_CHILDREN: AtomicBool = AtomicBool::new(true);
static PREPARED: AtomicBool = AtomicBool::new(false);

/// Runs when the library is loaded, before `main`.
pub fn on_load() {
    // Without room for a sampler nothing is recorded.
    room::within(on_load_with_room);
}

fn on_load_with_room() {
    // Loaded by `import genba`: what stands in the environment is not meant for it.
    if !environment::preloaded().any(|path| Some(&path) == symbols::own_path().as_ref()) {
        return;
    }
    interpose::find_all();
    signals::find_real();
    let Some(text) = environment::variable(c"GENBA_SESSION") else { return };
    let Some(session) = Session::parse(&text) else { return };
    arena::allow(session.allocations_max);
    match python::find(&Guarded) {
        Found::No => {}
        Found::Refused { version, reason } => {
            let start = proto::Start { refused: format!("{version}: {reason}"), ..describe(&session, &version) };
            announce(&session, start);
        }
        Found::Yes { python, version } => {
            if !session.children {
                environment::leave();
            }
            if let Some(table) = &session.bells {
                bells::open(table);
            }
            leaving::watch();
            api::begun_by_command();
            alternate::begin(python.runtime.0);
            prepare();
            // What the program before this one blocked; before anybody is asked.
            mask::take_over();
            let start = describe(&session, &version);
            begin(session, python, start);
        }
    }
}

/// Starts a sampler, where none is. The caller has the turn, or is alone. False: there is no thread to be had, or an earlier
/// sampler's still hangs.
pub fn begin(session: Session, python: Box<Python>, start: proto::Start) -> bool {
    prepare();
    if !join(PARK_NS_MAX) {
        return false;
    }
    let _ = life::take_without();
    FOLLOW_CHILDREN.store(session.children, SeqCst);
    OWNER.store(proc::own_pid(), SeqCst);
    carry::remember(CString::new(session.out.as_bytes()).unwrap_or_default());
    let ended = ENDED.swap(core::ptr::null_mut(), SeqCst);
    let sampler = if ended.is_null() {
        Sampler::new(session, python, start, Stacks::new(Loaded::new()))
    } else {
        // SAFETY: put there by `into_raw`; the swap gave it to us alone, and its thread was joined.
        unsafe { Box::from_raw(ended) }.into_next(session, start)
    };
    start_thread(Box::into_raw(Box::new(sampler)));
    if LIFE.step(State::Parked, State::Ended) {
        // No thread: a later fork must not start it, since nobody was told that there is a recording.
        ENDED.store(SAMPLER.load(SeqCst), SeqCst);
        OWNER.store(0, SeqCst);
        return false;
    }
    true
}

/// What a process does once, before its first sampler.
fn prepare() {
    if PREPARED.swap(true, SeqCst) {
        return;
    }
    let seed = random_key();
    POOL.begin_at(seed.iter().fold(0, |seed, &byte| seed << 8 | u64::from(byte)));
    signals::install();
    if let Some((begin, end)) = symbols::extent(c"write") {
        SHARED.write_begin.store(begin, SeqCst);
        SHARED.write_end.store(end, SeqCst);
    }
    // SAFETY: the functions live as long as the process: the library is never unloaded. The heap's are registered first, so that it is
    // locked last, after `forks::before` has used it, and unlocked before the others do.
    unsafe {
        dlmalloc::enable_alloc_after_fork();
        libc::pthread_atfork(Some(forks::before), Some(forks::after_in_parent), Some(forks::after_in_child));
    }
}

/// Whether this process has a sampler, running or parked.
#[must_use]
pub fn is_recording() -> bool {
    is_owner() && LIFE.is_recording()
}

fn is_owner() -> bool {
    OWNER.load(SeqCst) == proc::own_pid()
}

/// Runs when the process ends in order.
pub fn on_unload() {
    end(END_NS_MAX);
}

/// Ends the sampler with its last block; the program waits for that at most `wait_ns_max`.
pub fn end(wait_ns_max: u64) {
    if !is_owner() {
        return;
    }
    let Some(_turn) = control::turn(wait_ns_max) else { return };
    control::pause(false);
    unpark();
    if LIFE.step(State::Parked, State::Ended) {
        // No thread is to be had any more, e.g. after `unshare(CLONE_NEWPID)`: the last block is written here.
        // SAFETY: made by `into_raw`; it was parked, and the step gave it to us alone. Never freed, as in `start_thread`.
        let sampler: &'static mut Sampler = unsafe { &mut *SAMPLER.load(SeqCst) };
        room::within(|| without_file_size_signal(|| sampler.end_where_it_stands()));
        return;
    }
    if !LIFE.is_recording() {
        return;
    }
    control::give(Order::End);
    if control::await_report(Done::Ended, wait_ns_max) {
        join(wait_ns_max);
    }
}

/// Before the process image may be replaced: what is in memory goes into the file.
pub fn flush_before_exec() {
    // The exec goes ahead even if this fails.
    let _ = flush(proto::MarkKind::Exec, "", FLUSH_NS_MAX);
    if is_owner() {
        bells::stop_answering();
    }
}

/// The process image was not replaced.
pub fn exec_failed() {
    if is_owner() {
        bells::answer_again();
    }
}

/// What is in memory goes into the file, behind a mark. False: it is not known to be there; the sampler did not answer in time, or cannot
/// write any more.
#[must_use]
pub fn flush(kind: proto::MarkKind, text: &str, wait_ns_max: u64) -> bool {
    let Some(_turn) = turn_of_flush(wait_ns_max) else { return false };
    if !control::leave_mark(kind, text) {
        return false;
    }
    let flushed = order_flush(wait_ns_max);
    // Else the next flush would tell it.
    control::take_mark().is_none() && flushed
}

/// The same, after a look at the calling thread, which waits for that, at most `wait_ns_max`.
pub fn own_stack(text: &str, wait_ns_max: u64) -> Option<control::Leaf> {
    let _turn = turn_of_flush(wait_ns_max)?;
    if !control::leave_mark(proto::MarkKind::Program, text) {
        return None;
    }
    control::ask_for_own_stack();
    let flushed = order_flush(wait_ns_max);
    let _ = control::take_mark();
    control::own_stack().filter(|_| flushed)
}

fn turn_of_flush(wait_ns_max: u64) -> Option<control::Turn> {
    if !is_owner() || LIFE.state() != State::Running {
        return None;
    }
    control::turn(wait_ns_max).filter(|_| LIFE.state() == State::Running)
}

fn order_flush(wait_ns_max: u64) -> bool {
    control::give(Order::Flush);
    let flushed = control::await_report(Done::Flushed, wait_ns_max);
    control::give(Order::Run);
    control::await_report_after(Done::Flushed, wait_ns_max);
    flushed
}

/// Runs a system call that demands a single thread while the program has none of genba's. False: not run, because the program
/// has threads of its own, or none is genba's.
pub fn alone(call: &mut dyn FnMut()) -> bool {
    if !is_owner() || LIFE.state() != State::Running || threads() != Some(2) {
        return false;
    }
    let errno = errno::get();
    // Afterwards the path may lead elsewhere.
    let turn = park(carry::Receiver::new);
    errno::set(errno);
    // It has run, so it has said its number.
    let sampler_tid = SAMPLER_TID.load(SeqCst);
    if turn.is_none() || LIFE.state() != State::Parked {
        return false;
    }
    // SAFETY: parked, so that nobody else uses it until `unpark`, whose turn is ours.
    unsafe { (*SAMPLER.load(SeqCst)).stands_aside() };
    await_gone(sampler_tid);
    call();
    let errno = errno::get();
    unpark();
    drop(turn);
    errno::set(errno);
    true
}

/// A thread is joined a moment before the kernel has taken it out of the process: until then whoever counts threads counts it.
fn await_gone(tid: u32) {
    let deadline_ns = monotonic_ns() + GONE_NS_MAX;
    while proc::thread_cpu_ns(tid).is_some() && monotonic_ns() < deadline_ns {
        // SAFETY: no arguments, no memory.
        unsafe { libc::sched_yield() };
    }
}

/// The sampler's thread as far as it is known here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SamplerThread {
    None,
    /// Made, but it has hardly had a CPU yet: one of the process's threads, of unknown number.
    NotRunYet,
    Known(u32),
}

#[must_use]
pub fn sampler_thread() -> SamplerThread {
    match SAMPLER_TID.load(SeqCst) {
        0 if THREAD.load(SeqCst) == 0 => SamplerThread::None,
        0 => SamplerThread::NotRunYet,
        tid => SamplerThread::Known(tid),
    }
}

/// Before `_exit`: the destructors will not run.
pub fn end_before_exit() {
    end(END_NS_MAX);
}

/// Runs `change` while no question is open.
pub fn paused(change: &mut dyn FnMut()) {
    let listens = || LIFE.state() == State::Running && matches!(control::reported(), Done::Running | Done::StandingBy);
    let turn = if is_owner() && listens() { control::turn(PAUSE_NS_MAX) } else { None };
    let turn = turn.filter(|_| listens());
    if turn.is_some() {
        control::give(Order::Pause);
        control::await_report(Done::Paused, PAUSE_NS_MAX);
    }
    change();
    if turn.is_some() {
        control::give(Order::Run);
        control::await_report_after(Done::Paused, PAUSE_NS_MAX);
    }
}

/// No one else may use the sampler. Afterwards it runs, or stays parked if no thread could be created.
fn start_thread(sampler: *mut Sampler) {
    control::give(Order::Run);
    control::report(Done::Running);
    if LIFE.step_if_any(State::Running) {
        SAMPLER.store(sampler, SeqCst);
        carry::through(|| start_thread_now(sampler));
    }
}

/// False: no thread is to be had now.
fn start_thread_now(sampler: *mut Sampler) -> bool {
    extern "C" fn body(sampler: *mut c_void) -> *mut c_void {
        let address = sampler.cast::<Sampler>();
        // SAFETY: the address comes from `Box::into_raw`, for this thread alone until it has parked or ended. Never freed: a handler that
        // was held up in the middle of its walk may still read the tables, however the sampler ended.
        let sampler: &'static mut Sampler = unsafe { &mut *address };
        // SAFETY: names the calling thread.
        unsafe { libc::prctl(libc::PR_SET_NAME, c"genba".as_ptr()) };
        prompt::ask();
        let life = || arena::as_sampler(|| sampler.run());
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(life)) {
            // Somebody else may run it by now.
            Ok(Left::Parked) => {}
            Ok(Left::Ended) => ENDED.store(address, SeqCst),
            // Whatever went wrong, nobody is asked any more and the program does not wait for a report.
            Err(_) => {
                arena::no_sampler();
                bells::leave_place();
                SHARED.pid.store(0, SeqCst);
                control::report(Done::Ended);
            }
        }
        core::ptr::null_mut()
    }
    // The number of the sampler before, in a forked child of another process.
    SAMPLER_TID.store(0, SeqCst);
    // SAFETY: plain pthread calls; all memory is on this stack or passed by `into_raw`. Signals are blocked while the
    // thread is made, so that it inherits the mask.
    unsafe {
        let before = mask::in_kernel(libc::SIG_SETMASK, mask::of_own_thread());
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setstacksize(&raw mut attributes, STACK_BYTES);
        let mut thread: libc::pthread_t = 0;
        let failed = interpose::create_thread(&raw mut thread, &raw const attributes, body, sampler.cast());
        libc::pthread_attr_destroy(&raw mut attributes);
        mask::in_kernel(libc::SIG_SETMASK, before);
        if failed == 0 {
            THREAD.store(thread, SeqCst);
        } else {
            // No thread to be had now: the next fork or the end tries again.
            LIFE.step_if_any(State::Parked);
            THREAD.store(0, SeqCst);
        }
        failed == 0
    }
}

/// Waits until the sampler's thread is gone, at most `wait_ns_max`. False: it hangs in the kernel, and no other one may run beside it.
fn join(wait_ns_max: u64) -> bool {
    let thread = THREAD.swap(0, SeqCst);
    if thread == 0 {
        return true;
    }
    // A seccomp filter may forbid the clock; then an end far away must do.
    let at_ns = proc::clock_ns(libc::CLOCK_REALTIME).map_or(i64::MAX as u64, |now_ns| now_ns + wait_ns_max);
    let at = libc::timespec { tv_sec: (at_ns / 1_000_000_000) as i64, tv_nsec: (at_ns % 1_000_000_000) as i64 };
    // SAFETY: made by `start_thread`, joined once: the swap gave it to us alone.
    if unsafe { libc::pthread_timedjoin_np(thread, core::ptr::null_mut(), &raw const at) } == 0 {
        return true;
    }
    if LIFE.state() == State::Parked {
        // It has nothing more to do but to end, and gets no CPU for that: nobody needs to wait.
        // SAFETY: as above; it was not joined.
        unsafe { libc::pthread_detach(thread) };
        return true;
    }
    THREAD.store(thread, SeqCst);
    false
}

/// Starts a parked sampler's thread again. The caller has the turn, or is alone.
fn unpark() {
    if LIFE.state() == State::Parked {
        start_thread(SAMPLER.load(SeqCst));
    }
}

/// Ends the sampler's thread. `receiver`: for its descriptors, if they are to be kept. `None`: it was not this thread's turn.
fn park(receiver: impl FnOnce() -> Option<carry::Receiver>) -> Option<control::Turn> {
    // Without it another thread's order is being done, or the one that this thread was interrupted in. None of ours may replace it.
    let turn = control::turn(PARK_NS_MAX)?;
    if !LIFE.step(State::Running, State::Parking) {
        return Some(turn);
    }
    let receiver = receiver();
    control::give(Order::Park);
    if !control::await_report(Done::Ended, PARK_NS_MAX) && LIFE.step(State::Parking, State::HeldUp) {
        // It hangs in the kernel (a dead file server), or gets no CPU.
        control::give(Order::Run);
        return Some(turn);
    }
    join(PARK_NS_MAX);
    if let Some(receiver) = receiver {
        receiver.take();
    }
    Some(turn)
}

/// How many threads the process has, the sampler's too.
fn threads() -> Option<usize> {
    let tasks = Descriptor::open_at(None, c"/proc/self/task", libc::O_RDONLY | libc::O_DIRECTORY).ok()?;
    let mut threads = 0;
    proc::each_thread_id(&tasks, |_| threads += 1);
    Some(threads)
}

/// One block that says why this process is not sampled. The descriptor is open for a moment before `main`.
fn announce(session: &Session, start: proto::Start) {
    let Ok(out) = CString::new(session.out.as_bytes()) else { return };
    let mut recorder = Recorder::new(random_key(), start);
    recorder.set_file(Descriptor::open_at(None, &out, libc::O_WRONLY | libc::O_APPEND).ok());
    without_file_size_signal(|| recorder.announce());
}

/// A write beyond the file-size limit sends SIGXFSZ to the thread that writes: it must not end the program.
fn without_file_size_signal(write: impl FnOnce()) {
    // SAFETY: masks on this stack; the signal is taken back before it is unblocked.
    unsafe {
        let mut limit: libc::sigset_t = core::mem::zeroed();
        libc::sigaddset(&raw mut limit, libc::SIGXFSZ);
        let before = mask::in_kernel(libc::SIG_BLOCK, mask::word(&limit));
        write();
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        libc::sigtimedwait(&raw const limit, core::ptr::null_mut(), &raw const at_once);
        mask::in_kernel(libc::SIG_SETMASK, before);
    }
}
