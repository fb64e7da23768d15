//! The way into a running program: one of its own threads makes a thread, which loads the agent and calls its entry.
//! Owns: when and where that may be done, and what is written into the program for it. Never: maps memory there, runs the dynamic linker or
//! malloc on a thread of the program's, leaves something that must be put back: at each step genba may be killed.
//!
//! 1. Find the functions of the program's libc, and room for 0.7 kB of code and for the words (room.rs). Nothing is written yet.
//! 2. Stop all threads (stop.rs): while the agent is loaded no thread forks, since a child would inherit the linker's lock. Ask the program's
//!    seccomp filters whether they allow the agent's system calls (filters.rs): before the stop, and within it as far as time allows.
//! 3. Choose a thread that holds no lock of libc's (spot.rs). None: let all go on, and try again.
//! 4. Write code and words. Set that thread's registers, in one call. It goes on by itself: it makes the thread, gives way until the agent
//!    has begun, and jumps to where it was with everything as it was (code.rs).
//! 5. Let the others go on: when the agent has begun, or after a bounded time.
//!
//! In builds whose threads need a stack for signals each thread is then sent to the agent once, one after the other (visit.rs).

mod asked;
pub mod code;
pub mod filters;
mod place;
pub mod room;
pub mod spot;
mod stop;
pub mod unstopped;
pub mod visit;
mod words;

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use genba_process::c_stack::{Modules, Source};
use genba_process::files::Loaded;
use genba_process::maps::{self, Mapping};
use genba_process::memory::Remote;
use genba_process::symbols::RemoteSymbols;
use genba_process::tracer::in_own_thread;
use genba_process::{facts::Facts, files, threads};
use nix::errno::Errno;
use nix::unistd::Pid;

pub use asked::{Asked, Entered, Held, NotEntered};
use code::{Slots, State, vector_state_bytes};
use filters::{Filtered, Filters};
use place::{Known, Surroundings};
use room::{Room, is_lasting, is_libc};
use spot::Unusable;
use stop::Stop;
use unstopped::Unstopped;
use words::{SENT, STATE_BYTES};

/// The function of the agent that the new thread calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Door {
    /// Begins a recording.
    Attached,
    /// Begins a walk over the heap.
    Heap,
}

impl Door {
    #[must_use]
    pub const fn function(self) -> &'static str {
        match self {
            Door::Attached => "genba_attached",
            Door::Heap => "genba_heap",
        }
    }
}

/// The others are let go after so long, begun or not.
const HELD_MAX: Duration = Duration::from_millis(50);
/// The thread that made the other one gives way so often: at least as long as the others are held.
const YIELDS_MAX: u64 = 100_000;
const BETWEEN_TRIES: Duration = Duration::from_millis(5);
/// For so long in all the tries may wait for threads that stop late, beside the time that is given.
const STAYED_MAX: Duration = Duration::from_secs(2);
/// So long in a stop threads are looked at until one can be used. The next stop goes on with the others.
const LOOKED_MAX: Duration = Duration::from_millis(20);
/// So long in a stop threads are asked for their filters: several hundred of them.
const ASKED_MAX: Duration = Duration::from_millis(5);
const POLLED_EVERY: Duration = Duration::from_micros(100);

/// Enters.
///
/// # Errors
/// As `NotEntered` says.
pub fn enter(asked: &Asked) -> Result<Entered, NotEntered> {
    let filters = Filters::look(asked.pid, asked.door).map_err(NotEntered::Filtered)?;
    Entry::find(asked, filters)?.run()
}

/// Where a file begins in a process, and which one.
type Place = (u64, (u32, u32, u64));

struct Entry<'a> {
    asked: &'a Asked,
    memory: Remote,
    maps: Vec<Mapping>,
    surroundings: Surroundings,
    slots: Slots,
    words: Vec<u8>,
    room: Room,
    /// Where the files lie that are called, and whose room is used.
    places: Vec<Option<Place>>,
    modules: RefCell<Modules>,
    filters: Filters,
    /// The thread at which the last stop ended its looks, by its number: the next one goes on there. 0: it looked at all.
    looks_from: i32,
}

impl<'a> Entry<'a> {
    fn find(asked: &'a Asked, filters: Filters) -> Result<Entry<'a>, NotEntered> {
        let maps = maps::read(asked.pid).map_err(|_| NotEntered::Ended)?;
        let memory = Remote::new(asked.pid);
        let mapped = files::mapped(&maps);
        let libc = RemoteSymbols::of(asked.pid, &memory, &mapped, is_libc).files;
        let function = |name: &'static str| {
            libc.iter().find_map(|file| file.symbol(name.as_bytes())).ok_or(NotEntered::NoFunction(name))
        };
        let mut slots = Slots {
            back_to: 0,
            stack_pointer: 0,
            vector_state_bytes: u64::from(vector_state_bytes()),
            state: 0,
            errno_location: function("__errno_location")?,
            pthread_create: function("pthread_create")?,
            pthread_self: function("pthread_self")?,
            pthread_detach: function("pthread_detach")?,
            dlopen: function("dlopen")?,
            dlsym: function("dlsym")?,
            agent: asked.function.unwrap_or(0),
            library_path: 0,
            function_name: 0,
            session: 0,
            yields_max: YIELDS_MAX,
        };
        let libraries: Vec<Loaded> = mapped
            .iter()
            .filter(|file| is_lasting(file))
            .filter_map(|file| file.open(asked.pid, &memory).ok())
            .collect();
        // The state word and the thread that is sent, then the texts.
        let mut words = vec![0; STATE_BYTES as usize];
        let mut text = |text: &str| {
            let at = words.len() as u64;
            words.extend(text.as_bytes());
            words.push(0);
            at
        };
        let texts = [text(&asked.library), text(asked.door.function()), text(&asked.session)];
        let code_bytes = code::with(&slots).len() as u64;
        let room = room::find(&libraries, code_bytes, words.len() as u64).ok_or(NotEntered::NoRoom)?;
        [slots.library_path, slots.function_name, slots.session] = texts.map(|at| room.words_at + at);
        slots.state = room.words_at;
        words[..4].copy_from_slice(&State::MAKING.to_le_bytes());
        let linker = RemoteSymbols::of(asked.pid, &memory, &mapped, |name| name.starts_with("ld-")).files;
        let surroundings = Surroundings::of(asked.pid, &memory, &maps, &mapped, &libc, &linker);
        // Stacks are walked while all threads are stopped: tables are read between two stops, and only those at which a walk ended.
        let mut modules = Modules::default();
        modules.shut();
        let modules = RefCell::new(modules);
        let places = places(&maps, &slots, room);
        let looks_from = 0;
        Ok(Entry { asked, memory, maps, surroundings, slots, words, room, places, modules, filters, looks_from })
    }

    fn run(mut self) -> Result<Entered, NotEntered> {
        let program = OpenOptions::new().read(true).write(true).open(format!("/proc/{}/mem", self.asked.pid));
        let program = program.map_err(|error| unopened(&error))?;
        let mut held = Held::default();
        let mut last = None;
        let mut deadline = Instant::now() + self.asked.tried_max;
        let mut may_stay = STAYED_MAX;
        let mut fewest_unasked = self.filters.count_unasked();
        while Instant::now() < deadline && !self.is_given_up() {
            let is_late = deadline.saturating_duration_since(Instant::now()) < self.asked.tried_max / 2;
            // Before they stop: threads have come and gone since.
            self.maps = maps::read(self.asked.pid).map_err(|_| NotEntered::Ended)?;
            self.filters.look_again().map_err(NotEntered::Filtered)?;
            let unstopped = Unstopped::begin();
            // With that thread's end the kernel lets go of whatever is still traced.
            let tried = in_own_thread(|| self.stop_and_send(&program, is_late));
            drop(unstopped);
            let Stopped { sent, began, threads, stopped, stayed } = tried.unwrap_or(Err(NotEntered::Ended))?;
            held.stops += 1;
            held.threads = threads;
            held.stopped += stopped;
            held.longest = held.longest.max(stopped);
            let unasked = self.filters.count_unasked();
            self.asked.unasked.store(unasked, Ordering::Relaxed);
            match sent {
                Ok(state) => return self.answer(state, held, began),
                Err(Unsent::Unusable(why)) => last = why.or(last),
                Err(Unsent::Failed(why)) => return Err(why),
            }
            let stayed = stayed.min(may_stay);
            may_stay -= stayed;
            deadline += stayed;
            let began = Instant::now();
            let source = Source { pid: self.asked.pid, memory: &self.memory, maps: &self.maps, core: None };
            if self.modules.borrow_mut().open_missed(source) {
                // Each file is read once, so this has an end.
                deadline += began.elapsed();
            }
            if unasked < fewest_unasked {
                // On a busy machine a stop asks few of many threads. Fewer are left each time, so this has an end.
                fewest_unasked = unasked;
                // It may take many stops, so the program runs for as long as it was held.
                std::thread::sleep(stopped);
                deadline = deadline.max(Instant::now() + self.asked.tried_max);
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
        // No thread ever stopped, or not all could be asked: nobody knows what its filters say, whatever the way in.
        Err(if self.filters.are_unread() {
            NotEntered::Filtered(Filtered::Unasked)
        } else {
            NotEntered::NoMoment(last, held)
        })
    }

    /// Only while threads are to be asked, which may take long.
    fn is_given_up(&self) -> bool {
        self.filters.are_unread() && self.asked.asked_to_end.load(Ordering::Relaxed)
    }

    /// One try.
    fn stop_and_send(&mut self, program: &File, is_late: bool) -> Result<Stopped, NotEntered> {
        let began = Instant::now();
        let may_not_restart = self.filters.are_unread() || !self.filters.may_restart();
        let mut stop = Stop::all(self.asked.pid, may_not_restart).map_err(refused)?;
        let threads = stop.threads();
        let is_changed = !self.is_as_found();
        if is_changed {
            // Nobody asked the filters of what it is now.
            stop.begin_waits_anew();
        }
        let sent = match self.check_filters(&stop) {
            _ if is_changed => Err(Unsent::Failed(NotEntered::Changed)),
            Ok(true) => self.send_one(&mut stop, program, is_late),
            Ok(false) => Err(Unsent::Unusable(Some(Unusable::Unseen))),
            Err(why) => Err(Unsent::Failed(NotEntered::Filtered(why))),
        };
        let sent = sent.map(|()| self.hold(HELD_MAX));
        let stopped = stop.release();
        Ok(Stopped { sent, began, threads, stopped, stayed: began.elapsed().saturating_sub(stopped) })
    }

    /// Whether the addresses still mean what they did. A thread that has stopped calls no exec; one that was asked and has not stopped yet may
    /// (`send_one` looks again then). The maps were read between the two looks at the program: if it is the same one in both, they are its own.
    fn is_as_found(&self) -> bool {
        let pid = self.asked.pid;
        let now = || maps::read(pid).is_ok_and(|maps| places(&maps, &self.slots, self.room) == self.places);
        let is_at_its_place = match self.asked.identity.tells_programs() {
            true => places(&self.maps, &self.slots, self.room) == self.places,
            false => now(),
        };
        is_at_its_place && self.asked.identity.is_still()
    }

    /// All threads that have stopped: genba's handler runs in each of them. Those that ran may have set a filter since the look, so they come first.
    fn check_filters(&mut self, stop: &Stop) -> Result<bool, Filtered> {
        let stopped = stop.registers();
        let (waiting, running): (Vec<_>, Vec<_>) =
            stopped.iter().partition(|(_, registers)| spot::is_in_call(registers));
        let tids: Vec<i32> = running.into_iter().chain(waiting).map(|&(tid, _)| tid).collect();
        let checked = self.filters.check_all(&tids, ASKED_MAX);
        // Behind one that forbids, or when the time is over, nobody is asked.
        if checked != Ok(true) || !self.filters.may_restart() {
            stop.begin_waits_anew();
        }
        checked
    }

    /// One thread goes to the entry, if one can. `is_late`: signals may come all the time.
    fn send_one(&mut self, stop: &mut Stop, program: &File, is_late: bool) -> Result<(), Unsent> {
        let mut threads = stop.standing();
        let first = threads.iter().position(|(tid, _)| *tid >= self.looks_from).unwrap_or(0);
        threads.rotate_left(first);
        let code = self.room.code_at..self.room.code_at + code::with(&self.slots).len() as u64;
        if stop.is_with_all() {
            return Err(Unsent::Failed(NotEntered::Stopped));
        }
        if stop.is_about_to_stop() {
            return Err(Unsent::Unusable(Some(Unusable::Handler)));
        }
        if words::is_in_use(stop, &self.memory, self.room.words_at, &code) {
            return Err(Unsent::Unusable(None));
        }
        let mut last = threads.is_empty().then_some(Unusable::Uninterruptible);
        let began = Instant::now();
        for (tid, registers) in threads {
            self.looks_from = tid;
            if began.elapsed() >= LOOKED_MAX {
                return Err(Unsent::Unusable(last.or(Some(Unusable::Unseen))));
            }
            let place = Known {
                pid: stop.pid(),
                tid,
                memory: &self.memory,
                maps: &self.maps,
                surroundings: &self.surroundings,
                modules: &self.modules,
            };
            self.memory.forget();
            let next = match spot::usable(&registers, &place) {
                Ok(next) => next,
                Err(why) => {
                    last = Some(why);
                    // The others have that file among their callers, too: they need not be held while each is walked.
                    if self.modules.borrow().has_missed() {
                        return Err(Unsent::Unusable(last));
                    }
                    continue;
                }
            };
            if spot::is_in_call(&registers) {
                // A call that is over returns with EINTR: then the handler has to run before, as the call's mask lets it.
                if next.rip != registers.rip {
                    stop::end_own_mask(Pid::from_raw(tid));
                }
                // A handler is due, and has to end the call: sent away, the thread would make the call again after it. Without a mask of the call's
                // own the signal might have come just before the call.
                if (!is_late || spot::has_mask(&registers)) && stop::is_to_handle(stop.pid(), tid) {
                    last = Some(Unusable::Handler);
                    continue;
                }
            }
            let Some(task) = threads::task(stop.pid(), tid.cast_unsigned()) else { continue };
            // The others may have been asked just before the stop; the new thread has the filters of this one.
            let could_restart = self.filters.may_restart();
            let checked = self.filters.check(tid);
            if checked.is_err() || self.filters.may_restart() != could_restart {
                stop.begin_waits_anew();
                // In the next stop this thread's wait begins anew, too.
                let again = Unsent::Unusable(Some(Unusable::Unseen));
                return Err(checked.map_or_else(|why| Unsent::Failed(NotEntered::Filtered(why)), |()| again));
            }
            let own_tid = task.own_tid;
            self.words[SENT..][..4].copy_from_slice(&own_tid.to_le_bytes());
            (self.slots.back_to, self.slots.stack_pointer) = (next.rip, next.rsp);
            let code = code::with(&self.slots);
            let written = program
                .write_all_at(&self.words, self.room.words_at)
                .and_then(|()| program.write_all_at(&code, self.room.code_at));
            written.map_err(|error| match error.raw_os_error() {
                Some(errno) => Unsent::Failed(refused(Errno::from_raw(errno))),
                // Not one byte was taken: that memory is nobody's any more.
                None => Unsent::Failed(self.gone()),
            })?;
            // The bytes went to the memory that was opened: an exec leaves that one behind.
            if !stop.is_whole() && !self.is_as_found() {
                return Err(Unsent::Failed(NotEntered::Changed));
            }
            let mut registers = next;
            registers.rip = self.room.code_at;
            // Below the red zone, as the ABI wants it before a push of 16 words.
            registers.rsp = (next.rsp - 128) & !63;
            return stop.send(tid, registers).map_err(|errno| Unsent::Failed(refused(errno)));
        }
        self.looks_from = 0;
        Err(Unsent::Unusable(last))
    }

    /// Waits until the agent has begun, at most so long. The last that it saw: the next look may already meet another program.
    fn hold(&self, at_most: Duration) -> State {
        let deadline = Instant::now() + at_most;
        loop {
            let state = self.state();
            if state != State::Beginning || Instant::now() >= deadline {
                return state;
            }
            std::thread::sleep(POLLED_EVERY);
        }
    }

    /// `state`: as the others were let go. `began`: the stop before that. The sent one gives way until the agent has begun.
    fn answer(&self, state: State, held: Held, began: Instant) -> Result<Entered, NotEntered> {
        let (state, gave_way) = match state {
            State::Beginning => (self.hold(self.asked.patience), began.elapsed()),
            state => (state, Duration::ZERO),
        };
        match state {
            State::Answered(answer) => Ok(Entered { answer, words: self.words_left(), held, gave_way }),
            State::NotLoaded => Err(NotEntered::NotLoaded),
            State::NoFunction => Err(NotEntered::NotTheAgent),
            State::NoThread => Err(NotEntered::NoThread),
            State::Beginning if Facts::of(self.asked.pid).is_ok_and(|facts| is_stopped(&facts)) => {
                Err(NotEntered::Stopped)
            }
            State::Beginning => Err(NotEntered::Late),
            State::Free => Err(self.gone()),
        }
    }

    /// Of words that are not there any more: with an exec the agent goes, too.
    fn gone(&self) -> NotEntered {
        let identity = &self.asked.identity;
        if !maps::has_any(self.asked.pid) || !identity.is_same_process() {
            NotEntered::Ended
        } else if identity.tells_programs() && identity.is_still() {
            NotEntered::Overwritten
        } else {
            NotEntered::Changed
        }
    }

    fn words_left(&self) -> String {
        let text = self.memory.copy_from(self.slots.session, self.asked.session.len() as u64);
        String::from_utf8_lossy(text.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
    }

    fn state(&self) -> State {
        words::state(&self.memory, self.room.words_at)
    }
}

/// By the beginning of the file, not of the mapping: a page of it may get other rights meanwhile.
fn places(maps: &[Mapping], slots: &Slots, room: Room) -> Vec<Option<Place>> {
    let place = |address: u64| {
        let mapping = maps.iter().find(|mapping| mapping.contains(address))?;
        Some((mapping.start.wrapping_sub(mapping.offset), mapping.file()?))
    };
    let called = [
        slots.errno_location,
        slots.pthread_create,
        slots.pthread_self,
        slots.pthread_detach,
        slots.dlopen,
        slots.dlsym,
        slots.agent,
        room.code_at,
    ];
    called.into_iter().map(place).collect()
}

/// Of the memory of a process. A process that has ended has no such file, and one that is about to has no memory behind it.
fn unopened(error: &std::io::Error) -> NotEntered {
    match Errno::from_raw(error.raw_os_error().unwrap_or(0)) {
        Errno::ENOENT | Errno::ESRCH => NotEntered::Ended,
        errno => NotEntered::NotPermitted(errno),
    }
}

/// What a try came to.
struct Stopped {
    /// What the words said last.
    sent: Result<State, Unsent>,
    began: Instant,
    threads: usize,
    stopped: Duration,
    /// After that, for threads that stopped late.
    stayed: Duration,
}

/// Why no thread was sent.
enum Unsent {
    Unusable(Option<Unusable>),
    Failed(NotEntered),
}

/// Of a thread's tracing.
const fn refused(errno: Errno) -> NotEntered {
    match errno {
        Errno::ESRCH => NotEntered::Ended,
        errno => NotEntered::NotPermitted(errno),
    }
}

/// Whether none of its threads goes on by itself.
#[must_use]
pub fn is_stopped(facts: &Facts) -> bool {
    facts.state == 'T' || facts.state == 't' && threads::stays_stopped(facts.pid)
}

#[cfg(test)]
mod tests;
