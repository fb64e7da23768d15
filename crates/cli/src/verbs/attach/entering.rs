//! The agent is brought into a process, and why it is not.
//! Owns: the words for that, and which agent is in the process already. Never: traces by itself (crates/entry does).

use std::cell::Cell;
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use genba_entry::filters::{Action, Filtered, Filters};
use genba_entry::spot::Unusable;
use genba_entry::{Asked, Door, Entered, Held, NotEntered};
use genba_process::interpreter::Interpreter;
use genba_process::maps::Mapping;
use genba_process::refusal::Refusal;
use genba_process::threads;
use genba_profile::figures;

use super::remote_exec;
use crate::recording::agent_file;
use crate::words::failure::Failure;
use crate::words::refused::refused;

const ALREADY_TRIES: u32 = 4;
/// The agent asks for the lock of its command 20 times a second.
const ENDS_WITHIN: Duration = Duration::from_millis(100);
/// How long a thread is looked for that can be used.
const TRIED_MAX: Duration = Duration::from_secs(2);
/// In a build by BOLT only threads in system calls are: the other way in may be nearer.
const TRIED_MAX_BEFORE_ASKING: Duration = Duration::from_millis(100);
/// The agent reads the tables of all loaded files before it says that it has begun; a process that hardly gets a CPU needs long for that.
const PATIENCE: Duration = Duration::from_secs(10);
/// The agent's answers (crates/agent/src/doors/api.rs).
const DONE: u8 = 0;
const ALREADY: u8 = 2;
const LATE: u8 = 4;

/// How the agent came in.
pub enum Way {
    Entered(Entered),
    /// By `sys.remote_exec`; the words are those of `Entered`. Its threads were held if genba looked for one of them before.
    Asked {
        words: String,
        held: Held,
    },
}

/// What is the same for each process that is entered.
pub struct Entering {
    /// As the processes see it.
    pub library: String,
    pub door: Door,
    pub session: OsString,
    /// Threads of one of them need a stack for signals (visiting.rs).
    pub has_bolted: Cell<bool>,
    /// One of them ended while it was entered.
    pub has_met_end: Cell<bool>,
    /// The last one had no libc, or none yet.
    pub has_no_libc: Cell<bool>,
    /// By Ctrl-C.
    pub asked_to_end: Arc<AtomicBool>,
    /// Of the process that is being entered: how many threads have filters that nobody has read.
    pub unasked: Arc<AtomicUsize>,
}

impl Entering {
    /// An agent whose command has just ended ends, too, in a moment.
    pub fn enter(&self, interpreter: &Interpreter) -> Result<Way, Failure> {
        for _ in 0..ALREADY_TRIES {
            if let Some(way) = self.enter_once(interpreter)? {
                self.has_bolted.set(self.has_bolted.get() || interpreter.is_bolted());
                return Ok(way);
            }
            std::thread::sleep(ENDS_WITHIN);
        }
        let pid = interpreter.facts.pid;
        Err(Failure::no(format!("process {pid} is being recorded already"))
            .detail("by genba run, by another genba attach, or by itself (import genba)")
            .hint("end that recording first"))
    }

    /// `None`: the agent is at it already.
    pub fn enter_once(&self, interpreter: &Interpreter) -> Result<Option<Way>, Failure> {
        let pid = interpreter.facts.pid;
        let session = self.session.to_str().ok_or_else(|| Failure::ours("the session is not UTF-8"))?.to_owned();
        let function = loaded(interpreter, self.door)?;
        let can_be_asked = remote_exec::is_possible(interpreter);
        let tried_max = if can_be_asked && interpreter.is_bolted() { TRIED_MAX_BEFORE_ASKING } else { TRIED_MAX };
        let asked = Asked {
            pid,
            identity: interpreter.identity,
            library: self.library.clone(),
            door: self.door,
            function,
            session,
            tried_max,
            asked_to_end: Arc::clone(&self.asked_to_end),
            unasked: Arc::clone(&self.unasked),
            patience: PATIENCE,
        };
        let (answer, way) = match genba_entry::enter(&asked) {
            Ok(entered) => (entered.answer, Way::Entered(entered)),
            // The agent would meet the same filters, and without ptrace nobody can read them.
            Err(NotEntered::NotPermitted(errno))
                if can_be_asked && Filters::look(pid, self.door).map_or(true, |filters| filters.are_unread()) =>
            {
                return Err(filtered(pid, Filtered::Unread(errno)));
            }
            // Nobody else could give its threads a stack for signals.
            Err(NotEntered::NotPermitted(_))
                if can_be_asked && interpreter.is_bolted() && self.door == Door::Attached =>
            {
                return Err(without_stacks(pid));
            }
            Err(why @ (NotEntered::NotPermitted(_) | NotEntered::NoMoment(..))) if can_be_asked => {
                if !interpreter.identity.is_still() {
                    return Err(not_entered(pid, &NotEntered::Changed));
                }
                let held = if let NotEntered::NoMoment(_, held) = why { held } else { Held::default() };
                let (answer, words) = remote_exec::enter(interpreter, &self.library, self.door, &asked.session)
                    .map_err(|failure| if held.stops == 0 { failure } else { failure.detail(held_before(&held)) })?;
                (answer, Way::Asked { words, held })
            }
            Err(why) => {
                self.has_no_libc.set(matches!(why, NotEntered::NoFunction(_)));
                self.has_met_end.set(self.has_met_end.get() || matches!(why, NotEntered::Ended));
                let tracer = threads::tracer(pid).filter(|_| matches!(why, NotEntered::NotPermitted(_)));
                return Err(
                    tracer.map_or_else(|| not_entered(pid, &why), |tracer| refused(&Refusal::Traced { pid, tracer }))
                );
            }
        };
        match answer {
            DONE => Ok(Some(way)),
            ALREADY => Ok(None),
            LATE => Err(Failure::no(format!("the agent in process {pid} did not answer in time"))
                .detail("the process gets hardly any CPU")
                .hint("try it again")),
            _ => Err(Failure::no(format!("the agent cannot record process {pid}"))
                .detail(match way {
                    Way::Entered(Entered { words, .. }) | Way::Asked { words, .. } => words,
                })
                .hint(format!("genba doctor {pid} says what is allowed there"))),
        }
    }
}

/// What genba does meanwhile.
pub fn words_meanwhile(unasked: usize) -> String {
    match unasked {
        0 => "entering the process".to_owned(),
        _ => format!("asking its threads for their seccomp filters, {} to go", figures::count(unasked as u64)),
    }
}

/// Where the agent's function is, if this genba's agent is in the process from an earlier time.
fn loaded(interpreter: &Interpreter, door: Door) -> Result<Option<u64>, Failure> {
    let Some((first, is_this)) = agent_in(&interpreter.maps) else { return Ok(None) };
    if !is_this {
        return Err(Failure::no(format!("another version of genba is loaded in process {}", interpreter.facts.pid))
            .detail(first.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default())
            .hint("use that version, or start the process anew"));
    }
    Ok(Some(first.start + agent_file::offset_of(door.function())?))
}

/// Where the file of this genba's agent begins in a process, as mapped.
pub fn agent_at(maps: &[Mapping]) -> Option<u64> {
    agent_in(maps).filter(|(_, is_this)| *is_this).map(|(first, _)| first.start)
}

/// The beginning of an agent's file, and whether it is this genba's.
fn agent_in(maps: &[Mapping]) -> Option<(&Mapping, bool)> {
    maps.iter().find_map(|mapping| {
        let name = mapping.path.as_ref()?.file_name()?.to_str()?;
        let is_this = name.trim_end_matches(" (deleted)") == agent_file::name() && mapping.offset == 0;
        name.starts_with("genba-agent-").then_some((mapping, is_this))
    })
}

/// BOLT makes functions that a signal's frame overwrites what they keep.
fn without_stacks(pid: u32) -> Failure {
    Failure::no(format!("the Python of process {pid} does not bear signals everywhere"))
        .detail("BOLT made it: its threads need a stack for signals, which ptrace could give them, and that is forbidden or taken")
        .hint(format!("genba doctor {pid} says what would allow it; genba run app.py needs no ptrace"))
}

/// What can be known before the process is touched.
pub fn check(interpreter: &Interpreter) -> Result<(), Failure> {
    let facts = &interpreter.facts;
    let pid = facts.pid;
    if facts.tracer != 0 && !remote_exec::is_possible(interpreter) {
        return Err(refused(&Refusal::Traced { pid, tracer: facts.tracer }));
    }
    if genba_entry::is_stopped(facts) {
        return Err(match facts.tracer {
            0 => not_entered(pid, &NotEntered::Stopped),
            tracer => stopped(pid, &format!("by process {tracer}, which traces it"))
                .hint("let it go on there, or end that one"),
        });
    }
    if threads::is_in_memory_of(pid, facts.parent) {
        return Err(Failure::no(format!(
            "process {pid} still has the memory of process {}, which started it",
            facts.parent
        ))
        .detail("it is the child of a vfork, and about to start its program")
        .hint("try it again in a moment"));
    }
    Ok(())
}

impl Way {
    /// `recording process 4711: 12 threads were held for 0.4 ms`
    /// `longest`: for which each thread was held once more, where that was needed.
    pub fn words(&self, pid: u32, longest: Duration) -> String {
        let (how, held) = match self {
            Way::Entered(entered) => (entered_words(entered), "and each again"),
            Way::Asked { held, .. } if held.stops > 0 => {
                (format!("it was asked by sys.remote_exec; {}", held_before(held)), "and each again")
            }
            Way::Asked { .. } => ("it was asked by sys.remote_exec".to_owned(), "each thread was held"),
        };
        let once_more = match self {
            _ if !longest.is_zero() => format!(", {held} for up to {} to get a stack for signals", time(longest)),
            Way::Asked { held, .. } if held.stops == 0 => ", no thread was held".to_owned(),
            Way::Entered(_) | Way::Asked { .. } => String::new(),
        };
        format!("recording process {pid}: {how}{once_more}; Ctrl-C ends the recording")
    }

    /// For how long its threads stood still.
    pub const fn stopped(&self) -> Duration {
        match self {
            Way::Entered(Entered { held, .. }) | Way::Asked { held, .. } => held.stopped,
        }
    }
}

fn entered_words(entered: &Entered) -> String {
    let gave_way = if entered.gave_way.is_zero() {
        String::new()
    } else {
        format!(", and the one that genba used for no longer than {}", time(entered.gave_way))
    };
    format!("{}{gave_way}", held_words(&entered.held))
}

/// `12 threads were held for 0.4 ms`
fn held_words(held: &Held) -> String {
    let threads = figures::counted(held.threads as u64, "thread", "threads");
    let were = if held.threads == 1 { "was" } else { "were" };
    let longest = if held.stops > 1 {
        format!(" in {} stops, {} the longest", held.stops, time(held.longest))
    } else {
        String::new()
    };
    format!("{threads} {were} held for {}{longest}", time(held.stopped))
}

/// Of looks that found no thread.
fn held_before(held: &Held) -> String {
    format!("{} before, as genba looked for one that it can use", held_words(held))
}

fn time(time: Duration) -> String {
    figures::duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn stopped(pid: u32, by: &str) -> Failure {
    Failure::no(format!("process {pid} is stopped")).detail(format!("{by}: none of its threads runs"))
}

fn not_entered(pid: u32, why: &NotEntered) -> Failure {
    let failed = |detail: String| Failure::no(format!("cannot enter process {pid}")).detail(detail);
    match why {
        NotEntered::Ended => Failure::no(format!("process {pid} has ended")).hint("genba ps lists the Python processes"),
        NotEntered::Changed => Failure::no(format!("process {pid} runs another program now"))
            .detail("it became that while genba looked at it, or its number went to another process; nothing was written there")
            .hint("try it again; genba ps lists the Python processes"),
        NotEntered::Overwritten => failed("something in it overwrote the words by which genba's library tells that it has begun".to_owned())
            .hint("try it again; what has begun meanwhile ends by itself"),
        NotEntered::NotPermitted(errno) => failed(format!("the kernel does not let genba trace it: {errno}"))
            .hint(format!("genba doctor {pid} says why, and what would allow it")),
        NotEntered::Filtered(why) => filtered(pid, *why),
        NotEntered::NoFunction(name) => failed(format!("its libc does not export {name}"))
            .hint("genba knows programs that are linked with glibc dynamically"),
        NotEntered::NoRoom => failed("none of its libraries has room for genba's code behind its own".to_owned())
            .hint("start the program with it: genba run app.py"),
        NotEntered::Stopped => stopped(pid, "by a signal (Ctrl-Z, SIGSTOP) or a debugger")
            .hint(format!("kill -CONT {pid} lets it go on")),
        NotEntered::NoMoment(last, held) => failed(format!("in two seconds none of its threads was where genba can use it: {}", words_of(*last)))
            .detail(held_words(held))
            .hint("try it again; genba dump shows what its threads do"),
        NotEntered::NotLoaded => failed("its dynamic linker does not load genba's library".to_owned())
            .detail("its /tmp is mounted noexec, or a seccomp filter or a security module forbids it")
            .hint("start the program with it: genba run app.py"),
        NotEntered::NotTheAgent => failed("what its dynamic linker loaded is not genba's library".to_owned()).hint("try it again"),
        NotEntered::NoThread => failed("it can make no more threads".to_owned())
            .detail("RLIMIT_NPROC, the container's limit, or a seccomp filter forbids it")
            .hint("raise that limit, or start the program with it: genba run app.py"),
        NotEntered::Late => failed("its dynamic linker has not loaded genba's library in ten seconds: another thread holds its lock, or it gets no CPU".to_owned())
            .hint("it may still load it; nothing is recorded then"),
    }
}

/// `genba run` is no way out: the agent makes the same system calls there.
fn filtered(pid: u32, why: Filtered) -> Failure {
    let detail = match why {
        Filtered::Strict => "seccomp's strict mode ends a thread that does more than read, write and exit".to_owned(),
        Filtered::Unread(errno) => format!("it has seccomp filters that genba cannot read: {errno}"),
        Filtered::Untold(errno) => format!("genba cannot tell whether it has seccomp filters: {errno}"),
        Filtered::Unasked => {
            "it has seccomp filters, and not all of its threads could be stopped and asked for them in time".to_owned()
        }
        Filtered::Call { number, name, action } => {
            let action = words_of_action(action);
            format!("genba's library makes system call {number} ({name}), and a seccomp filter {action}")
        }
    };
    let hint = match why {
        Filtered::Unread(_) => {
            "run genba as root and outside of containers; the kernel needs CONFIG_CHECKPOINT_RESTORE".to_owned()
        }
        Filtered::Untold(_) => format!("genba doctor {pid} says what is allowed there"),
        Filtered::Unasked => format!("try it again; genba dump {pid} makes no call in the process"),
        Filtered::Strict => format!("genba dump {pid} makes no call in the process"),
        Filtered::Call { .. } => {
            format!("let the filter allow it or answer with an error; genba dump {pid} makes no call in the process")
        }
    };
    Failure::no(format!("cannot enter process {pid}")).detail(detail).hint(hint)
}

fn words_of_action(action: Action) -> &'static str {
    match action {
        Action::EndsProcess => "would end the process",
        Action::EndsThread => "would end the thread",
        Action::RaisesSigsys => "would raise SIGSYS",
        Action::AsksSupervisor => "would ask a supervisor",
        Action::AsksTracer => "would ask a tracer",
    }
}

fn words_of(why: Option<Unusable>) -> String {
    match why {
        Some(Unusable::Call(number)) => format!("in system call {number}"),
        Some(Unusable::Code) => "in the C library, the linker or an allocator".to_owned(),
        Some(Unusable::Handler) => "in a signal handler, or about to run one".to_owned(),
        Some(Unusable::Sequence) => "in a restartable sequence".to_owned(),
        Some(Unusable::Stack) => "with too little stack, or on one of its own".to_owned(),
        Some(Unusable::Uninterruptible) => "in uninterruptible sleep".to_owned(),
        Some(Unusable::Unseen) => "one of more threads than a stop has time for".to_owned(),
        None => "still in the code of another genba that enters".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Entered, Filtered, Held, NotEntered, Way, not_entered};
    use std::time::Duration;

    const ZERO: Duration = Duration::ZERO;

    #[test]
    fn each_stop_is_in_the_line() {
        let ms = Duration::from_millis;
        let held = Held { stopped: ms(40), longest: ms(25), stops: 3, threads: 2 };
        let entered = |gave_way| Way::Entered(Entered { answer: 0, words: String::new(), held, gave_way });
        let asked = |held| Way::Asked { words: String::new(), held };
        let check = |way: &Way, longest, words: &str| {
            assert_eq!(way.words(7, longest), format!("recording process 7: {words}; Ctrl-C ends the recording"));
        };
        let stops = "2 threads were held for 40.0 ms in 3 stops, 25.0 ms the longest";
        check(&entered(ZERO), ZERO, stops);
        check(&entered(ms(312)), ZERO, &format!("{stops}, and the one that genba used for no longer than 312 ms"));
        check(&entered(ZERO), ms(1), &format!("{stops}, and each again for up to 1.00 ms to get a stack for signals"));
        check(&asked(Held::default()), ZERO, "it was asked by sys.remote_exec, no thread was held");
        let before =
            format!("it was asked by sys.remote_exec; {stops} before, as genba looked for one that it can use");
        check(&asked(held), ZERO, &before);
        let failure = not_entered(7, &NotEntered::NoMoment(None, held)).to_string();
        assert!(failure.contains(stops), "{failure}");
    }

    #[test]
    fn where_time_was_too_short_for_the_filters_other_rights_are_no_remedy() {
        let failure = not_entered(7, &NotEntered::Filtered(Filtered::Unasked)).to_string();
        assert!(failure.contains("asked for them in time") && failure.contains("try it again"), "{failure}");
        assert!(!failure.contains("root"), "{failure}");
    }
}
