//! The sampler's comings and goings: load, fork, exec, exit.
//! Owns: the one sampler of the process, its thread. Never: lets a fork happen while the sampler runs, keeps the program waiting
//! longer than the bounds below, panics into the program.

use crate::api;
use crate::arena::{self, SAMPLER_TID, STACK_BYTES};
use crate::carry;
use crate::control::{self, Done, Order};
use crate::described::describe;
use crate::descriptor::Descriptor;
use crate::environment;
use crate::interpose;
use crate::later;
use crate::leaving;
use crate::modules::Loaded;
use crate::proc::{self, monotonic_ns};
use crate::python::{self, Found, Python};
use crate::recorder::Recorder;
use crate::room;
use crate::sampler::{Birth, Left, Sampler};
use crate::session::Session;
use crate::stacks::Stacks;
use crate::{prompt, signals, symbols};
use genba_format::proto;
use genba_signal::handler::SHARED;
use genba_signal::memory::Guarded;
use genba_signal::request::POOL;
use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::SeqCst};

/// The program waits at most so long for the last block.
const END_NS_MAX: u64 = 500_000_000;
const FLUSH_NS_MAX: u64 = 100_000_000;
/// A handler that walks is waited for: without a CPU it takes that long.
const PAUSE_NS_MAX: u64 = 2_000_000_000;
const PARK_NS_MAX: u64 = 2_000_000_000;

/// The sampler of a recording that ended: what it compiled serves the next one.
static ENDED: AtomicPtr<Sampler> = AtomicPtr::new(core::ptr::null_mut());
/// The sampler while no thread runs it: parked for a fork.
static PARKED: AtomicPtr<Sampler> = AtomicPtr::new(core::ptr::null_mut());
/// pthread_t of the sampler's thread; 0: none.
static THREAD: AtomicU64 = AtomicU64::new(0);
/// The process whose sampler this is. In a vfork child it is another one's.
static OWNER: AtomicU32 = AtomicU32::new(0);
static FOLLOW_CHILDREN: AtomicBool = AtomicBool::new(true);
/// A sampler's thread did not end: no other one may run beside it.
static HANGS: AtomicBool = AtomicBool::new(false);
static PREPARED: AtomicBool = AtomicBool::new(false);

/// Runs when the library is loaded, before `main`.
pub fn on_load() {
    // Without room for a sampler nothing is recorded.
    room::within(on_load_with_room);
}

fn on_load_with_room() {
    // Loaded by `import genba`: what stands in the environment is not meant for it.
    if !environment::preloaded().any(|path| Some(&path) == interpose::own_path().as_ref()) {
        return;
    }
    interpose::find_all();
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
            leaving::watch();
            api::begun_by_command();
            let start = describe(&session, &version);
            begin(session, python, start);
        }
    }
}

/// Starts a sampler, where none is. The caller has the turn, or is alone. False: there is no thread to be had, or an earlier
/// sampler's still hangs.
pub fn begin(session: Session, python: Box<Python>, start: proto::Start) -> bool {
    prepare();
    if !join() || HANGS.load(SeqCst) {
        return false;
    }
    // Of a fork that did not wait for it: its recording has ended.
    PARKED.store(core::ptr::null_mut(), SeqCst);
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
    start_thread(Box::new(sampler));
    if THREAD.load(SeqCst) == 0 {
        // A later fork must not start it: nobody was told that there is a recording.
        PARKED.store(core::ptr::null_mut(), SeqCst);
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
    let seed = crate::sampler::random_key();
    POOL.begin_at(seed.iter().fold(0, |seed, &byte| seed << 8 | u64::from(byte)));
    signals::install();
    if let Some((begin, end)) = symbols::extent(c"write") {
        SHARED.write_begin.store(begin, SeqCst);
        SHARED.write_end.store(end, SeqCst);
    }
    // SAFETY: the functions live as long as the process: the library is never unloaded. The heap's are registered first, so that it is
    // locked last, after `before_fork` has used it, and unlocked before the others do.
    unsafe {
        dlmalloc::enable_alloc_after_fork();
        libc::pthread_atfork(Some(before_fork), Some(after_fork_parent), Some(after_fork_child));
    }
}

/// Whether this process has a sampler, running or parked.
#[must_use]
pub fn is_recording() -> bool {
    OWNER.load(SeqCst) == proc::own_pid()
        && (!PARKED.load(SeqCst).is_null() || (THREAD.load(SeqCst) != 0 && control::reported() != Done::Ended))
}

/// Runs when the process ends in order.
pub fn on_unload() {
    end(END_NS_MAX);
}

/// Ends the sampler with its last block; the program waits for that at most `wait_ns_max`.
pub fn end(wait_ns_max: u64) {
    if OWNER.load(SeqCst) != proc::own_pid() || OWNER.load(SeqCst) == 0 {
        return;
    }
    let Some(_turn) = control::turn(wait_ns_max) else { return };
    control::pause(false);
    unpark();
    let parked = PARKED.swap(core::ptr::null_mut(), SeqCst);
    if !parked.is_null() {
        // No thread is to be had any more, e.g. after `unshare(CLONE_NEWPID)`: the last block is written here.
        // SAFETY: put there by `into_raw`; the swap gave it to us alone. Never freed, as in `start_thread`.
        let sampler: &'static mut Sampler = unsafe { &mut *parked };
        room::within(|| without_file_size_signal(|| sampler.end_where_it_stands()));
        return;
    }
    if THREAD.load(SeqCst) == 0 || control::reported() == Done::Ended {
        return;
    }
    control::give(Order::End);
    if control::await_report(Done::Ended, wait_ns_max) {
        join();
    }
}

/// Before the process image may be replaced: what is in memory goes into the file.
pub fn flush_before_exec() {
    flush(proto::MarkKind::Exec, "");
}

/// What is in memory goes into the file, behind a mark.
pub fn flush(kind: proto::MarkKind, text: &str) {
    if let Some(_turn) = turn_of_flush(FLUSH_NS_MAX) {
        control::leave_mark(kind, text);
        order_flush(FLUSH_NS_MAX);
    }
}

/// The same, after a look at the calling thread, which waits for that, at most `wait_ns_max`.
pub fn own_stack(text: &str, wait_ns_max: u64) -> Option<control::Leaf> {
    let _turn = turn_of_flush(wait_ns_max)?;
    control::leave_mark(proto::MarkKind::Program, text);
    control::ask_for_own_stack();
    order_flush(wait_ns_max);
    control::own_stack()
}

fn turn_of_flush(wait_ns_max: u64) -> Option<control::Turn> {
    let is_ended = || THREAD.load(SeqCst) == 0 || control::reported() == Done::Ended;
    if OWNER.load(SeqCst) != proc::own_pid() || is_ended() {
        return None;
    }
    control::turn(wait_ns_max).filter(|_| !is_ended())
}

fn order_flush(wait_ns_max: u64) {
    control::give(Order::Flush);
    control::await_report(Done::Flushed, wait_ns_max);
    control::give(Order::Run);
    control::await_report_after(Done::Flushed, wait_ns_max);
}

/// Runs a system call that demands a single thread while the program has none of genba's. False: not run, because the program
/// has threads of its own, or none is genba's.
pub fn alone(call: &mut dyn FnMut()) -> bool {
    if OWNER.load(SeqCst) != proc::own_pid() || THREAD.load(SeqCst) == 0 || threads() != Some(2) {
        return false;
    }
    let errno = proc::errno();
    // Afterwards the path may lead elsewhere.
    park(carry::Receiver::new);
    set_errno(errno);
    // It has run, so it has said its number.
    let sampler_tid = SAMPLER_TID.load(SeqCst);
    let parked = PARKED.load(SeqCst);
    if parked.is_null() {
        control::Turn::give_back();
        return false;
    }
    // SAFETY: parked, so that nobody else uses it until `unpark`, whose turn is ours.
    unsafe { (*parked).stands_aside() };
    // A thread is joined a moment before the kernel has taken it out of the process.
    let deadline_ns = monotonic_ns() + PARK_NS_MAX;
    while proc::thread_cpu_ns(sampler_tid).is_some() && monotonic_ns() < deadline_ns {
        // SAFETY: no arguments, no memory.
        unsafe { libc::sched_yield() };
    }
    call();
    let errno = proc::errno();
    unpark();
    control::Turn::give_back();
    set_errno(errno);
    true
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
    let listens = || THREAD.load(SeqCst) != 0 && matches!(control::reported(), Done::Running | Done::StandingBy);
    let is_owner = OWNER.load(SeqCst) == proc::own_pid();
    let turn = if is_owner && listens() { control::turn(PAUSE_NS_MAX) } else { None };
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

fn start_thread(sampler: Box<Sampler>) {
    carry::through(|| start_thread_now(sampler));
}

/// False: no thread is to be had now.
fn start_thread_now(sampler: Box<Sampler>) -> bool {
    extern "C" fn body(sampler: *mut c_void) -> *mut c_void {
        // SAFETY: the address comes from `Box::into_raw` below, for this thread alone. Never freed: a handler that was held
        // up in the middle of its walk may still read the tables, however the sampler ended.
        let sampler: &'static mut Sampler = unsafe { &mut *sampler.cast::<Sampler>() };
        // SAFETY: names the calling thread.
        unsafe { libc::prctl(libc::PR_SET_NAME, c"genba".as_ptr()) };
        prompt::ask();
        let address: *mut Sampler = sampler;
        let life = || arena::as_sampler(|| sampler.run());
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(life)) {
            // A fork that did not wait for it has given it up.
            Ok(Left::Parked) if OWNER.load(SeqCst) == 0 => {}
            Ok(Left::Parked) => PARKED.store(address, SeqCst),
            Ok(Left::Ended) => ENDED.store(address, SeqCst),
            // Whatever went wrong, nobody is asked any more and the program does not wait for a report.
            Err(_) => {
                arena::no_sampler();
                SHARED.pid.store(0, SeqCst);
                control::report(Done::Ended);
            }
        }
        core::ptr::null_mut()
    }
    control::give(Order::Run);
    control::report(Done::Running);
    // The number of the sampler before, in a forked child of another process.
    SAMPLER_TID.store(0, SeqCst);
    let sampler = Box::into_raw(sampler);
    // SAFETY: plain pthread calls; all memory is on this stack or passed by `into_raw`. All signals are blocked while the
    // thread is made, so that it inherits a mask in which only faults get through.
    unsafe {
        let (all, mut before) = (signals::all_but_faults(), core::mem::zeroed::<libc::sigset_t>());
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setstacksize(&raw mut attributes, STACK_BYTES);
        let mut thread: libc::pthread_t = 0;
        let failed = libc::pthread_create(&raw mut thread, &raw const attributes, body, sampler.cast());
        libc::pthread_attr_destroy(&raw mut attributes);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, core::ptr::null_mut());
        if failed == 0 {
            THREAD.store(thread, SeqCst);
        } else {
            // No thread to be had now: the next fork or the end tries again.
            PARKED.store(sampler, SeqCst);
            THREAD.store(0, SeqCst);
        }
        failed == 0
    }
}

/// False: the thread hangs in the kernel, and is left for good.
fn join() -> bool {
    let thread = THREAD.swap(0, SeqCst);
    if thread == 0 {
        return true;
    }
    // A seccomp filter may forbid the clock; then an end far away must do.
    let at_ns = proc::clock_ns(libc::CLOCK_REALTIME).map_or(i64::MAX as u64, |now_ns| now_ns + PARK_NS_MAX);
    let at = libc::timespec { tv_sec: (at_ns / 1_000_000_000) as i64, tv_nsec: (at_ns % 1_000_000_000) as i64 };
    // SAFETY: made by `start_thread`, joined once: the swap gave it to us alone. It has reported its end.
    if unsafe { libc::pthread_timedjoin_np(thread, core::ptr::null_mut(), &raw const at) } == 0 {
        return true;
    }
    HANGS.store(true, SeqCst);
    false
}

/// Starts a parked sampler's thread again.
fn unpark() {
    let parked = PARKED.swap(core::ptr::null_mut(), SeqCst);
    if !parked.is_null() {
        // SAFETY: put there by `into_raw`; the swap gave it to us alone.
        start_thread(unsafe { Box::from_raw(parked) });
    }
}

extern "C" fn before_fork() {
    let errno = proc::errno();
    if OWNER.load(SeqCst) == proc::own_pid() {
        park(carry::Receiver::if_lost);
    }
    set_errno(errno);
}

/// Ends the sampler's thread. `receiver`: for its descriptors, if they are to be kept.
fn park(receiver: impl FnOnce() -> Option<carry::Receiver>) {
    // Kept until after the fork, in both processes, also when there is nothing to park: nobody may start a sampler meanwhile.
    if let Some(turn) = control::turn(PARK_NS_MAX) {
        turn.keep();
    }
    if THREAD.load(SeqCst) != 0 && control::reported() != Done::Ended {
        let receiver = receiver();
        control::give(Order::Park);
        if control::await_report(Done::Ended, PARK_NS_MAX) {
            join();
            if let Some(receiver) = receiver {
                receiver.take();
            }
        } else {
            // It hangs in the kernel (a dead file server). The child must not use what the sampler may have locked.
            OWNER.store(0, SeqCst);
        }
    }
}

extern "C" fn after_fork_parent() {
    let errno = proc::errno();
    if !PARKED.load(SeqCst).is_null() && (other_threads() || !later::run(unpark_later)) {
        unpark();
    }
    control::Turn::give_back();
    set_errno(errno);
}

extern "C" fn after_fork_child() {
    let errno = proc::errno();
    control::Turn::nobody_has_it();
    signals::forked();
    room::forked();
    arena::no_sampler();
    POOL.forget_walkers();
    let parked = PARKED.swap(core::ptr::null_mut(), SeqCst);
    THREAD.store(0, SeqCst);
    HANGS.store(false, SeqCst);
    control::pause(false);
    if !parked.is_null() && FOLLOW_CHILDREN.load(SeqCst) {
        OWNER.store(proc::own_pid(), SeqCst);
        leaving::watch();
        // SAFETY: put there by `into_raw` before the fork; this is the child's own copy, and the swap gave it to us alone.
        let mut sampler = unsafe { Box::from_raw(parked) };
        // The rest of its birth takes memory, and happens in its own thread.
        sampler.is_born(Birth::now());
        start_thread(sampler);
    } else {
        carry::leave();
        OWNER.store(0, SeqCst);
    }
    set_errno(errno);
}

/// After a fork Python warns when the process has other threads; with none the sampler starts when that is over.
fn unpark_later() {
    let errno = proc::errno();
    if OWNER.load(SeqCst) == proc::own_pid() {
        let _turn = control::turn(END_NS_MAX);
        unpark();
    }
    set_errno(errno);
}

/// Whether the program has a thread beside the calling one, while the sampler is parked.
fn other_threads() -> bool {
    threads().is_none_or(|threads| threads > 1)
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
    let mut recorder = Recorder::new(crate::sampler::random_key(), start);
    recorder.set_file(Descriptor::open_at(None, &out, libc::O_WRONLY | libc::O_APPEND).ok());
    without_file_size_signal(|| recorder.announce());
}

/// A write beyond the file-size limit sends SIGXFSZ to the thread that writes: it must not end the program.
fn without_file_size_signal(write: impl FnOnce()) {
    // SAFETY: masks on this stack; the signal is taken back before it is unblocked.
    unsafe {
        let (mut limit, mut before): (libc::sigset_t, libc::sigset_t) = (core::mem::zeroed(), core::mem::zeroed());
        libc::sigemptyset(&raw mut limit);
        libc::sigaddset(&raw mut limit, libc::SIGXFSZ);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const limit, &raw mut before);
        write();
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        libc::sigtimedwait(&raw const limit, core::ptr::null_mut(), &raw const at_once);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, core::ptr::null_mut());
    }
}

pub fn set_errno(errno: i32) {
    // SAFETY: the address of this thread's errno is always valid.
    unsafe { *libc::__errno_location() = errno };
}
