//! Threads of a program that genba is in, sent one after the other through the agent's function that gives each an alternate stack for signals
//! (crates/agent/src/doors/visited.rs). It may be any thread at any instruction: the function runs on a stack of its own, and the thread finds
//! back by itself, so genba may be killed at each step.
//! Owns: one thread's stop for that, and that never two are on the way. Never: stops two threads at a time, waits for one without end,
//! interrupts a restartable sequence.
//! Sources: ptrace(2); Linux kernel/ptrace.c (a tracer that ends lets go); Linux include/uapi/linux/rseq.h.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use genba_process::files;
use genba_process::maps;
use genba_process::memory::Remote;
use genba_process::symbols::RemoteSymbols;
use genba_process::threads;
use genba_process::tracer::in_own_thread;
use nix::errno::Errno;
use nix::libc::{c_int, user_regs_struct};
use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;

use crate::Door;
use crate::code::vector_state_bytes;
use crate::filters::Filters;
use crate::place::{is_in_sequence, sequence_offset};
use crate::spot::{going_on, is_in_call};
use crate::stop::{
    LOOKED_EVERY, STAYS_MAX, Stand, begin_wait_anew, detach, end_own_mask, how_it_stands, is_expected, is_to_handle,
    registers_of, text_of, thread_ids,
};
use crate::unstopped::Unstopped;

/// What the agent calls its words.
pub const WORDS: &str = "genba_visit_words";
/// The agent's own threads have this name, and all signals blocked.
const OWN_THREADS: &str = "genba";
/// Until then a thread's stop is waited for without sleeping.
const ARRIVAL_MAX: Duration = Duration::from_millis(20);
/// After that the next look goes on: genba has more to do than to send threads that hardly get a CPU.
const LOOK_MAX: Duration = Duration::from_millis(500);
/// A thread on the way needs 50 µs of a CPU.
const VISIT_MAX: Duration = Duration::from_millis(500);
/// One that could not be sent is tried again after such a time, and after twice as long each time.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);
const PLACES_MAX: u32 = 4096;
const NOT_FITTED: u32 = 0;

/// The agent's words (`visited::Words`), in this order.
const WORDS_COUNT: usize = 6;
/// Of those that are filled in (`visited::Filled`), by their offsets.
const STATE: u64 = 24;
/// `fitted::Table`.
const TABLE_HEAD_BYTES: u64 = 8;
const PLACE_BYTES: usize = 16;
const NOT_THERE: u32 = 0;
const THROUGH: u32 = 2;
/// And no other one may come.
const THROUGH_AS_LAST: u32 = 3;
/// A thread that was to be sent by a genba that was killed, and that is elsewhere so often, was not sent.
const LOOKS_ELSEWHERE: u32 = 3;

/// The visits of one process.
pub struct Visits {
    pid: u32,
    memory: Remote,
    program: File,
    words_at: u64,
    words: [u64; WORDS_COUNT],
    filled_at: u64,
    code: Range<u64>,
    stack: Range<u64>,
    table_at: u64,
    sequence_offset: Option<u64>,
    filters: Filters,
    /// What is known of the threads that are there.
    threads: BTreeMap<i32, Known>,
    /// How often the thread that another genba was to send was seen elsewhere.
    elsewhere: u32,
    /// For how long a thread was stopped, at most.
    pub longest: Duration,
}

struct Known {
    /// As the process counts.
    own_tid: u32,
    is_agents: bool,
    is_forbidden: bool,
    /// It is not sent before that, and the time after which it is tried again then.
    not_before: Instant,
    pause: Duration,
}

impl Known {
    fn is_tried_later(&mut self) {
        self.not_before = Instant::now() + self.pause;
        self.pause = (2 * self.pause).min(PAUSE_MAX);
    }
}

/// How a visit went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Visited {
    Through,
    /// It is left as it is, or gets no CPU.
    NotNow,
    /// Its filters forbid it. Each stop may make its wait begin anew, so it is not stopped again.
    Forbidden,
}

/// A thread in a stop of this tracer's.
struct Stopped {
    thread: Pid,
    registers: user_regs_struct,
    /// It gets this when it goes on. 0: nothing.
    signal: c_int,
}

impl Visits {
    /// `words_at`: where the agent has its words in that process. None: its threads need not come by, or it has ended.
    #[must_use]
    pub fn of(pid: u32, words_at: u64) -> Option<Visits> {
        let memory = Remote::new(pid);
        let words = words_in(&memory, words_at)?;
        let [filled_at, code, code_end, stack, stack_bytes, table_at] = words;
        let maps = maps::read(pid).ok()?;
        let mapped = files::mapped(&maps);
        let linker = RemoteSymbols::of(pid, &memory, &mapped, |name| name.starts_with("ld-")).files;
        let visits = Visits {
            pid,
            program: OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem")).ok()?,
            words_at,
            words,
            filled_at,
            code: code..code_end,
            stack: stack..stack.checked_add(stack_bytes)? & !63,
            table_at,
            sequence_offset: sequence_offset(&memory, &linker),
            filters: Filters::unasked(pid, Door::Attached),
            threads: BTreeMap::new(),
            elsewhere: 0,
            longest: Duration::ZERO,
            memory,
        };
        (visits.head()?.1 != 0 && !has_shadow_stacks(pid)).then_some(visits)
    }

    /// Sends all threads that have not been there. False: the agent is not in this process any more.
    pub fn look(&mut self) -> bool {
        let Some((used, were_here)) = self.fitted() else { return false };
        self.list();
        let now = Instant::now();
        let is_new = |known: &Known| {
            !known.is_agents && !known.is_forbidden && known.not_before <= now && !were_here.contains(&known.own_tid)
        };
        let mut new: Vec<(&i32, &Known)> = self.threads.iter().filter(|(_, known)| is_new(known)).collect();
        // One that could not be sent is behind those that wait for their turn.
        new.sort_by_key(|(_, known)| known.not_before);
        let new: Vec<(i32, u32)> = new.into_iter().map(|(&tid, known)| (tid, known.own_tid)).collect();
        if new.is_empty() || (used >= PLACES_MAX && were_here.len() >= PLACES_MAX as usize) {
            return true;
        }
        self.send(&new).is_some()
    }

    /// None: the agent's words are not there.
    fn send(&mut self, new: &[(i32, u32)]) -> Option<()> {
        let began = Instant::now();
        for &(tid, own_tid) in new {
            if began.elapsed() >= LOOK_MAX {
                break;
            }
            let visited = self.visit_alone(tid, own_tid)?;
            match self.threads.get_mut(&tid) {
                Some(known) if visited == Visited::NotNow => known.is_tried_later(),
                Some(known) if visited == Visited::Forbidden => known.is_forbidden = true,
                _ => {}
            }
        }
        Some(())
    }

    /// By a tracer of its own: one that did not stop in time would stop later, and wait until all others had been there.
    fn visit_alone(&mut self, tid: i32, own_tid: u32) -> Option<Visited> {
        let _unstopped = Unstopped::begin();
        let visit = || Some(if self.is_free()? { self.visit(tid, own_tid) } else { Visited::NotNow });
        in_own_thread(visit).flatten()
    }

    /// How many places of the table were used, and the threads that have come by.
    fn fitted(&self) -> Option<(u32, BTreeSet<u32>)> {
        let (used, _) = self.head()?;
        let bytes = u64::from(used.min(PLACES_MAX)) * PLACE_BYTES as u64;
        let places = self.memory.copy_from(self.table_at + TABLE_HEAD_BYTES, bytes);
        let half = |place: &[u8], at: usize| place[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let fitted = places.chunks_exact(PLACE_BYTES).filter(|place| half(place, 4) != NOT_FITTED);
        Some((used, fitted.map(|place| half(place, 0)).collect()))
    }

    fn list(&mut self) {
        let tids: BTreeSet<i32> = thread_ids(self.pid).into_iter().collect();
        self.threads.retain(|tid, _| tids.contains(tid));
        for tid in tids {
            let pid = self.pid;
            if let Entry::Vacant(place) = self.threads.entry(tid)
                && let Some(task) = threads::task(pid, tid.cast_unsigned())
            {
                place.insert(Known {
                    own_tid: task.own_tid,
                    is_agents: task.name == OWN_THREADS,
                    is_forbidden: false,
                    not_before: Instant::now(),
                    pause: PAUSE_MIN,
                });
            }
        }
    }

    /// How many places of the table were used, and whether threads need to come by.
    fn head(&self) -> Option<(u32, u32)> {
        let mut head = [0; TABLE_HEAD_BYTES as usize];
        self.memory.forget();
        self.memory.read(self.table_at, &mut head).ok()?;
        let (used, is_needed) = (head.first_chunk::<4>()?, head.last_chunk::<4>()?);
        Some((u32::from_le_bytes(*used), u32::from_le_bytes(*is_needed)))
    }

    /// Whether the function is nobody's: another genba may have sent a thread there, and been killed. None: another program runs here now.
    fn is_free(&mut self) -> Option<bool> {
        words_in(&self.memory, self.words_at).filter(|words| *words == self.words)?;
        let (state, own_tid) = self.told()?;
        let last = self.threads.iter().find(|(_, known)| own_tid != 0 && known.own_tid == own_tid).map(|(&tid, _)| tid);
        let Some(last) = last.filter(|_| state != THROUGH) else { return Some(state != THROUGH_AS_LAST) };
        if state != NOT_THERE {
            return Some(false);
        }
        let Ok(mut stopped) = self.stop(last) else { return Some(false) };
        let _ = self.ask_filters(&mut stopped);
        let registers = stopped.registers;
        stopped.let_go();
        if self.code.contains(&registers.rip) || self.stack.contains(&registers.rsp) || registers.rsp == self.stack.end
        {
            return Some(false);
        }
        self.elsewhere += 1;
        Some(self.elsewhere >= LOOKS_ELSEWHERE)
    }

    /// The state, and who was sent last.
    fn told(&self) -> Option<(u32, u32)> {
        let mut told = [0; 8];
        self.memory.forget();
        self.memory.read(self.filled_at + STATE, &mut told).ok()?;
        let (state, own_tid) = (told.first_chunk::<4>()?, told.last_chunk::<4>()?);
        Some((u32::from_le_bytes(*state), u32::from_le_bytes(*own_tid)))
    }

    /// One thread goes there.
    fn visit(&mut self, tid: i32, own_tid: u32) -> Visited {
        let Ok(mut stopped) = self.stop(tid) else { return Visited::NotNow };
        let began = Instant::now();
        let may_call = self.ask_filters(&mut stopped);
        let fs_base = stopped.registers.fs_base;
        if !may_call {
            stopped.let_go();
            return Visited::Forbidden;
        }
        let is_in_call = is_in_call(&stopped.registers);
        let is_made_again = going_on(&stopped.registers).rip != stopped.registers.rip;
        if is_in_call && is_made_again && stopped.signal == 0 {
            end_own_mask(stopped.thread);
        }
        // A handler has to end the call: sent away, the thread would make the call again after it.
        let is_due = is_in_call && is_to_handle(self.pid, tid);
        if stopped.signal != 0
            || is_due
            || is_in_sequence(&self.memory, self.sequence_offset, fs_base)
            || !has_storage(&self.memory, fs_base)
        {
            stopped.let_go();
            return Visited::NotNow;
        }
        let next = going_on(&stopped.registers);
        let mut words = Vec::with_capacity(32);
        words.extend(next.rip.to_le_bytes());
        words.extend(next.rsp.to_le_bytes());
        words.extend(u64::from(vector_state_bytes()).to_le_bytes());
        words.extend(NOT_THERE.to_le_bytes());
        words.extend(own_tid.to_le_bytes());
        let mut there = next;
        (there.rip, there.rsp) = (self.code.start, self.stack.end);
        self.elsewhere = 0;
        let is_written = self.program.write_all_at(&words, self.filled_at).is_ok();
        let is_sent = is_written && ptrace::setregs(stopped.thread, there).is_ok();
        stopped.let_go();
        self.longest = self.longest.max(began.elapsed());
        if !is_sent {
            let _ = self.program.write_all_at(&[0; 8], self.filled_at + STATE);
            return Visited::NotNow;
        }
        while began.elapsed() < VISIT_MAX {
            match self.told() {
                Some((THROUGH | THROUGH_AS_LAST, _)) => return Visited::Through,
                Some(_) => std::thread::yield_now(),
                None => return Visited::NotNow,
            }
        }
        Visited::NotNow
    }

    /// Whether the agent's function may make its system calls there. Of threads that began since the entry nobody has asked the filters yet, and one
    /// that goes on may set another between the question and its stop. A wait begins anew where its own call to go on is forbidden.
    fn ask_filters(&mut self, stopped: &mut Stopped) -> bool {
        let said = self.filters.ask(stopped.thread.as_raw());
        if !said.may_restart {
            begin_wait_anew(stopped.thread, &mut stopped.registers);
        }
        said.calls.is_ok()
    }

    fn stop(&self, tid: i32) -> Result<Stopped, Errno> {
        let thread = Pid::from_raw(tid);
        ptrace::seize(thread, Options::empty())?;
        ptrace::interrupt(thread)?;
        self.memory.forget();
        stop_of(self.pid, thread)
    }
}

/// A thread that was interrupted stops. Without a tracer its wait would return EINTR then, so one that gets no CPU is waited for.
fn stop_of(pid: u32, thread: Pid) -> Result<Stopped, Errno> {
    let asked = Instant::now();
    loop {
        let signal = match how_it_stands(thread) {
            Stand::Stopped => 0,
            Stand::WithSignal(signal) => signal,
            Stand::WithAll => return Err(Errno::EAGAIN),
            Stand::Gone => return Err(Errno::ESRCH),
            Stand::Seized | Stand::Asked if asked.elapsed() < ARRIVAL_MAX => {
                std::thread::yield_now();
                continue;
            }
            Stand::Seized | Stand::Asked if asked.elapsed() < STAYS_MAX && is_expected(pid, thread.as_raw()) => {
                std::thread::sleep(LOOKED_EVERY);
                continue;
            }
            Stand::Seized | Stand::Asked => return Err(Errno::EAGAIN),
        };
        return Ok(Stopped { thread, registers: registers_of(thread)?, signal });
    }
}

impl Stopped {
    fn let_go(self) {
        detach(self.thread, self.signal);
    }
}

/// The last instruction of the function would not go through with them. Source: Documentation/arch/x86/shstk.rst.
fn has_shadow_stacks(pid: u32) -> bool {
    let status = text_of(&format!("/proc/{pid}/status"));
    let features = status.lines().find_map(|line| line.strip_prefix("x86_Thread_features:"));
    features.is_some_and(|features| features.contains("shstk"))
}

/// Whether libc made the thread, and so there is room for the agent's words below its thread pointer. Its head tells where it is twice
/// (`tcbhead_t`).
fn has_storage(memory: &Remote, fs_base: u64) -> bool {
    let mut head = [0; 24];
    let word = |head: &[u8; 24], at: usize| head[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    memory.read(fs_base, &mut head).is_ok() && [0, 16].iter().all(|&at| word(&head, at) == fs_base)
}

fn words_in(memory: &Remote, at: u64) -> Option<[u64; WORDS_COUNT]> {
    let mut bytes = [0; 8 * WORDS_COUNT];
    memory.forget();
    memory.read(at, &mut bytes).ok()?;
    let words = bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
    words.collect::<Vec<u64>>().try_into().ok()
}
