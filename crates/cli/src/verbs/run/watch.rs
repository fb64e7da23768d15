//! What runs below the program, watched from outside: a Python that genba's library is not in is no part of the recording, and nobody else says so.
//! Owns: what it reads of /proc, ten times a second at most and, beyond `LENT`, for at most a hundredth of a CPU. Never: signals, stops or waits for a
//! process; looks into one that has the library.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use genba_format::masking::masked;
use genba_process::facts::Facts;
use genba_process::interpreter::{Search, find_in};
use genba_process::refusal::Refusal;
use genba_profile::not_followed::{DROPPED, FILTERED, NOT_LOADED, REPLACED, RIGHTS};
use rustix::time::{ClockId, clock_gettime};

use crate::recording::monotonic_ns;
use crate::recording::session::Session;

const PAUSE_MIN: Duration = Duration::from_millis(100);
/// Pauses are so many times as long as what it takes of a CPU to look.
const PAUSE_PER_LOOK: u32 = 100;
/// So much CPU may be taken before its pauses: the first look into a Python takes some milliseconds, and what it uses next is not to be missed.
const LENT: Duration = Duration::from_millis(30);
/// A program without a Python may load one later.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// More processes than that are not looked at.
const PROCESSES_MAX: usize = 4_096;
/// More kinds of programs are not remembered.
const PROGRAMS_MAX: usize = 64;
/// What `/proc/PID/stat` counts in.
const HUNDREDTH_NS: u64 = 10_000_000;

/// A Python without genba's library.
#[derive(Clone, Debug)]
pub struct Python {
    /// As it knows itself.
    pub pid: u32,
    pub executable: PathBuf,
    /// Secrets masked.
    pub command: String,
    pub reason: &'static str,
    /// When it was seen to be without, by the clock of recordings. An earlier image of the process may have had it.
    pub seen_ns: u64,
    pub wall_ns: u64,
    pub cpu_ns: u64,
}

#[derive(Debug, Default)]
pub struct Sighted {
    pub pythons: Vec<Python>,
    /// The names of all programs that were seen, as the kernel has them.
    pub programs: BTreeSet<String>,
}

/// The thread that looks.
pub struct Watch {
    end: Sender<()>,
    thread: JoinHandle<Sighted>,
}

impl Watch {
    /// `None`: there is no memory for a thread. Then nothing that is not recorded is seen.
    pub fn begin(pid: u32) -> Option<Watch> {
        let (end, ended) = channel::<()>();
        let look = move || {
            let mut looks = Looks { roots: vec![pid], known: HashMap::new(), sighted: Sighted::default() };
            let (mut pause, mut budget) = (Duration::ZERO, Budget::default());
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let began = cpu_of_this_thread();
                looks.look();
                pause = budget.pause_after(pause, cpu_of_this_thread().saturating_sub(began));
            }
            looks.look();
            looks.sighted
        };
        let thread = std::thread::Builder::new().spawn(look).ok()?;
        Some(Watch { end, thread })
    }

    pub fn end(self) -> Sighted {
        drop(self.end);
        self.thread.join().unwrap_or_default()
    }
}

/// What it took of a CPU to look, and not what was waited for one: beside busy programs it looks as often.
#[derive(Default)]
struct Budget {
    /// CPU that was taken and has not had its pauses.
    owed: Duration,
}

impl Budget {
    /// `paused`: before the look, which took `cpu`.
    fn pause_after(&mut self, paused: Duration, cpu: Duration) -> Duration {
        self.owed = self.owed.saturating_sub(paused / PAUSE_PER_LOOK) + cpu;
        PAUSE_MIN.max(self.owed.saturating_sub(LENT) * PAUSE_PER_LOOK)
    }
}

/// Which program of a process: another one after an `exec`, even of the same file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Image {
    began: u64,
    code: u64,
    environment: u64,
}

enum Standing {
    /// Its loader may be at work.
    New,
    HasLibrary,
    /// No Python, when it was looked at.
    Other(Instant),
    /// Its place in `Sighted::pythons`.
    Python(usize),
}

struct Known {
    image: Image,
    /// When this image began, as far as that was seen, and what the process had used before.
    since_ns: u64,
    cpu_before_ns: u64,
    standing: Standing,
}

struct Looks {
    roots: Vec<u32>,
    known: HashMap<u32, Known>,
    sighted: Sighted,
}

/// Of `/proc/PID/stat`.
struct Stat {
    name: String,
    image: Image,
    cpu_ns: u64,
}

impl Looks {
    fn look(&mut self) {
        let pids = self.descendants();
        self.known.retain(|pid, _| pids.contains(pid));
        for &pid in &pids {
            let Some(stat) = stat(pid) else { continue };
            if self.sighted.programs.len() < PROGRAMS_MAX {
                self.sighted.programs.insert(stat.name.clone());
            }
            let known = match self.known.remove(&pid) {
                Some(known) if known.image == stat.image => self.next(pid, &stat, known),
                before => {
                    // An image that came by an exec goes on with the clocks of the one before it.
                    let is_exec = before.is_some_and(|before| before.image.began == stat.image.began);
                    let (since_ns, cpu_before_ns) =
                        if is_exec { (now_ns(), stat.cpu_ns) } else { (stat.image.began * HUNDREDTH_NS, 0) };
                    Known { image: stat.image, since_ns, cpu_before_ns, standing: Standing::New }
                }
            };
            self.known.insert(pid, known);
        }
        // Those that lost their parent are not below it any more.
        self.roots = pids.into_iter().collect();
    }

    fn next(&mut self, pid: u32, stat: &Stat, known: Known) -> Known {
        let standing = match known.standing {
            Standing::Other(at) if at.elapsed() < AGAIN_AFTER => known.standing,
            Standing::HasLibrary | Standing::Python(_) => known.standing,
            Standing::New | Standing::Other(_) => match library(pid, &stat.name) {
                Library::Inside => Standing::HasLibrary,
                Library::Missing(python) if self.sighted.pythons.len() < PROCESSES_MAX => {
                    self.sighted.pythons.push(python);
                    Standing::Python(self.sighted.pythons.len() - 1)
                }
                Library::Missing(_) | Library::NoPython => Standing::Other(Instant::now()),
            },
        };
        if let Standing::Python(at) = standing
            && let Some(python) = self.sighted.pythons.get_mut(at)
        {
            python.cpu_ns = stat.cpu_ns.saturating_sub(known.cpu_before_ns);
            python.wall_ns = now_ns().saturating_sub(known.since_ns);
        }
        Known { standing, ..known }
    }

    /// The roots that are alive, and all below them.
    fn descendants(&self) -> BTreeSet<u32> {
        let mut open = self.roots.clone();
        let mut found = BTreeSet::new();
        while let Some(pid) = open.pop() {
            if found.len() < PROCESSES_MAX && stat(pid).is_some() && found.insert(pid) {
                open.extend(children(pid));
            }
        }
        found
    }
}

fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let texts = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    texts.flat_map(|text| text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// `None`: it has ended, if it is no zombie.
fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parsed(&String::from_utf8_lossy(&text))
}

fn parsed(text: &str) -> Option<Stat> {
    let (begin, fields) = text.rsplit_once(") ")?;
    let (_, name) = begin.split_once(" (")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    // Their numbers are those of proc(5); the first of these is number 3.
    let field = |number: usize| fields.get(number - 3).and_then(|text| text.parse::<u64>().ok());
    Some(Stat {
        name: name.to_owned(),
        image: Image { began: field(22)?, code: field(26).unwrap_or(0), environment: field(50).unwrap_or(0) },
        cpu_ns: (field(14)? + field(15)?) * HUNDREDTH_NS,
    })
}

enum Library {
    Inside,
    Missing(Python),
    NoPython,
}

fn library(pid: u32, name: &str) -> Library {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok();
    let has = |name: &str, part: &str| {
        let mut words = environment.as_deref().unwrap_or_default().split(|byte| *byte == 0);
        words.any(|word| String::from_utf8_lossy(word).strip_prefix(name).is_some_and(|value| value.contains(part)))
    };
    let has_session = has(Session::VARIABLE, "=");
    let maps = fs::read(format!("/proc/{pid}/maps"));
    let has_library = maps.as_ref().is_ok_and(|maps| String::from_utf8_lossy(maps).contains("/genba-agent-"));
    if has_library && (has_session || environment.is_none()) {
        return Library::Inside;
    }
    let Ok(facts) = Facts::of(pid) else { return Library::NoPython };
    let (executable, command, own_pid) = (facts.executable.clone(), facts.command_line.clone(), facts.own_pid());
    let is_named = executable
        .as_ref()
        .and_then(|path| path.file_name())
        .is_some_and(|name| name.to_string_lossy().starts_with("python"));
    let found = find_in(facts, Search::Likely);
    let is_python = match &found {
        Ok(_) => true,
        Err(refusal) => refusal.is_of_python().unwrap_or(is_named || name.starts_with("python")),
    };
    if !is_python {
        return Library::NoPython;
    }
    let reason = match (&found, &environment) {
        (Err(Refusal::Musl { .. }), _) => "musl",
        (_, None) => RIGHTS,
        _ if has_library => DROPPED,
        _ if !has_session && !has("LD_PRELOAD=", "/genba-agent-") => FILTERED,
        _ if !has("LD_PRELOAD=", "/genba-agent-") => REPLACED,
        _ => NOT_LOADED,
    };
    Library::Missing(Python {
        pid: own_pid,
        executable: executable.unwrap_or_else(|| PathBuf::from(name)),
        command: masked(command.iter().map(String::as_str)).join(" "),
        reason,
        seen_ns: monotonic_ns(),
        wall_ns: 0,
        cpu_ns: 0,
    })
}

/// Of the clock that `/proc/PID/stat` tells beginnings by.
fn now_ns() -> u64 {
    u64::try_from(time_of(ClockId::Boottime).as_nanos()).unwrap_or(u64::MAX)
}

fn cpu_of_this_thread() -> Duration {
    time_of(ClockId::ThreadCPUTime)
}

fn time_of(clock: ClockId) -> Duration {
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Budget, LENT, PAUSE_MIN, PAUSE_PER_LOOK, parsed, stat};

    #[test]
    fn a_look_that_takes_long_delays_none_but_many_of_them_have_their_pauses() {
        let [short, long] = [200, 7_000].map(Duration::from_micros);
        let mut budget = Budget::default();
        assert_eq!([long, short, short].map(|cpu| budget.pause_after(PAUSE_MIN, cpu)), [PAUSE_MIN; 3]);
        let (mut taken, mut passed, mut pause) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        let mut budget = Budget::default();
        for _ in 0..1_000 {
            passed += pause;
            pause = budget.pause_after(pause, long);
            taken += long;
            assert!(taken <= LENT + long + passed / PAUSE_PER_LOOK, "{taken:?} of {passed:?}");
        }
        // And what was not taken is not saved up.
        budget.pause_after(Duration::from_secs(3_600), Duration::ZERO);
        assert_eq!(budget.pause_after(PAUSE_MIN, LENT * 2), LENT * PAUSE_PER_LOOK);
    }

    #[test]
    fn stat_is_read_whatever_the_name() {
        let line = "41 (a) (b) R 1 41 41 0 -1 4194560 100 0 0 0 7 5 0 0 20 0 1 0 900 1 1 1 77 1 1 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 1 1 1 1 1 88 1 1 0";
        let found = parsed(line).expect("a line");
        assert_eq!((found.name.as_str(), found.cpu_ns), ("a) (b", 120_000_000));
        assert_eq!(found.image.began, 900);
        let own = stat(std::process::id()).expect("this process");
        assert!(own.image.began > 0 && own.image.code > 1 && own.image.environment > 1);
    }
}
