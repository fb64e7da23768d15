//! The thread that follows the recording: reads new blocks and makes a picture of them. Another one finds names meanwhile.
//! Owns: when that happens, and in which state the recording is. Never: draws, or knows of keys. Keeps: at most four pictures a second, and
//! pauses so long that they take a twentieth of a CPU.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use genba_process::threads;
use genba_profile::build::Additions;
use genba_profile::cpu_over_time::SECOND_NS;
use genba_profile::figures;
use genba_profile::growing::Growing;
use genba_profile::hits::{Hits, hits};
use genba_profile::live::{Live, Rows, live};
use genba_profile::profile::{MarkKind, Profile};
use genba_profile::reading::Reading;
use genba_profile::weight::Weight;

use super::source::Following;
use crate::files::growing_file::Fate;
use crate::finish::{self, Root};

/// How often the file is asked for new bytes, and how often a picture is made at most.
const EVERY: Duration = Duration::from_millis(250);
/// A picture may take this part of the time: one over it.
const PICTURES_COST: u32 = 20;
/// Names are looked for so often at most, and what the samples hit takes this part of the time: one over it.
const NAMES_EVERY: Duration = Duration::from_secs(1);
const NAMES_COST: u32 = 50;
/// After so many seconds without a new block it is asked whether the processes are still there.
const QUIET_SECONDS: u64 = 3;
/// How a recording ended whose program's exit code nobody knows.
pub const COMPLETE: &str = "the recording is complete";

/// What the screen wants to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    pub rows: Rows,
    /// None: what suits the recording.
    pub weight: Option<Weight>,
    /// None: since the beginning.
    pub last_ns: Option<u64>,
    /// Nothing new is read.
    pub is_frozen: bool,
}

/// What there is to show.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Of which wish.
    pub wish: Wish,
    pub weight: Weight,
    pub live: Live,
    /// CPU of each second so far, in which `SECOND_NS` is one core.
    pub seconds_ns: Vec<u64>,
    /// What is wrong with the file's content.
    pub faults: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// No block yet.
    #[default]
    Waiting,
    Recording,
    /// No new block for so many seconds.
    Quiet {
        seconds: u64,
    },
    /// The same, and no process of the recording runs here.
    Gone {
        seconds: u64,
    },
    /// In words: `exit code 0`, `the recording is complete`.
    Ended(String),
    /// The program has ended, in words, and so many processes that it left behind go on.
    LeftBehind {
        how: String,
        processes: usize,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    pub state: State,
    pub fate: Fate,
    pub bytes: u64,
    /// The file could not be read on.
    pub error: Option<String>,
}

#[derive(Debug)]
pub enum News {
    Status(Status),
    Picture(Box<Picture>),
}

pub struct Follower {
    pub wishes: Sender<Wish>,
    pub news: Receiver<News>,
    pub thread: JoinHandle<()>,
}

impl Follower {
    pub fn start(following: Following, wish: Wish) -> std::io::Result<Follower> {
        let (wishes, wished) = channel();
        let (send, news) = channel();
        let builder = std::thread::Builder::new().name("genba top".to_owned());
        let names = Namer::start(following.root.clone())?;
        let thread = builder.spawn(move || Course::new(following, wish, names).run(&wished, &send))?;
        Ok(Follower { wishes, news, thread })
    }
}

/// Finds names and sources: the first time it may take seconds.
struct Namer {
    hits: Sender<Hits>,
    found: Receiver<Additions>,
    is_busy: bool,
}

impl Namer {
    fn start(root: Root) -> std::io::Result<Namer> {
        let (hits, hit) = channel();
        let (send, found) = channel();
        std::thread::Builder::new().name("genba names".to_owned()).spawn(move || {
            for hits in hit {
                if send.send(finish::found_of_hits(hits, &root)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Namer { hits, found, is_busy: false })
    }
}

struct Course {
    following: Following,
    growing: Growing,
    wish: Wish,
    additions: Additions,
    namer: Namer,
    status: Status,
    /// Those without an end in the newest picture.
    pids_without_end: Vec<u32>,
    /// Since the newest picture, or since the newest names.
    has_grown: bool,
    has_grown_since_names: bool,
    next_picture: Instant,
    next_names: Instant,
    /// What suits the recording as a whole.
    weight: Weight,
}

impl Course {
    fn new(following: Following, wish: Wish, namer: Namer) -> Course {
        let now = Instant::now();
        Course {
            following,
            growing: Growing::default(),
            wish,
            additions: Additions::default(),
            namer,
            status: Status::default(),
            pids_without_end: Vec::new(),
            has_grown: false,
            has_grown_since_names: false,
            next_picture: now,
            next_names: now,
            weight: Weight::Cpu,
        }
    }

    /// Until nobody wishes or reads any more.
    fn run(&mut self, wished: &Receiver<Wish>, news: &Sender<News>) {
        loop {
            if !self.wish.is_frozen {
                self.advance();
            }
            if !self.wish.is_frozen {
                self.has_grown |= self.take_names();
                self.ask_for_names();
            }
            let is_due = self.has_grown && Instant::now() >= self.next_picture && !self.wish.is_frozen;
            if is_due && !self.send_picture(news) {
                return;
            }
            if !self.send_status(news) {
                return;
            }
            match wished.recv_timeout(EVERY) {
                Ok(wish) => {
                    // Of several, the newest.
                    self.wish = wished.try_iter().last().unwrap_or(wish);
                    if !self.send_picture(news) {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn advance(&mut self) {
        self.status.fate = self.following.file.fate();
        // What was read stays on the screen.
        if self.status.fate == Fate::Truncated {
            return;
        }
        match self.following.advance(&mut self.growing) {
            Ok(has_grown) => {
                self.status.error = None;
                self.has_grown |= has_grown;
                self.has_grown_since_names |= has_grown;
            }
            Err(error) => self.status.error = Some(error.to_string()),
        }
        self.status.bytes = self.following.file.read_bytes();
    }

    /// False: nobody reads any more.
    fn send_picture(&mut self, news: &Sender<News>) -> bool {
        if self.growing.recording().blocks.is_empty() && self.growing.recording().faults.is_empty() {
            return true;
        }
        let begun = Instant::now();
        let profile = match self.wish.last_ns {
            Some(last_ns) => self.growing.profile_of_last(last_ns, &self.additions),
            None => self.growing.profile(&self.additions),
        };
        let faults = profile.faults.clone();
        self.pids_without_end = pids_without_end(&profile);
        self.status.state = state(&profile, self.following.file.quiet_seconds(), runs);
        let reading = Reading::of(profile);
        if self.wish.last_ns.is_none() {
            self.weight = reading.choice.weight;
        }
        let weight = self.wish.weight.unwrap_or(self.weight);
        let live = live(&reading, self.wish.rows, weight);
        let seconds_ns = self.growing.cpu_over_time().whole_seconds_ns();
        self.has_grown = false;
        self.next_picture = Instant::now() + EVERY.max(begun.elapsed() * PICTURES_COST) - EVERY / 2;
        let picture = Picture { wish: self.wish, weight, live, seconds_ns, faults };
        news.send(News::Picture(Box::new(picture))).is_ok()
    }

    /// True: there are new ones.
    fn take_names(&mut self) -> bool {
        let Ok(found) = self.namer.found.try_recv() else { return false };
        self.namer.is_busy = false;
        self.additions = if self.is_named() { Additions::default() } else { found };
        true
    }

    fn ask_for_names(&mut self) {
        if !self.has_grown_since_names || self.namer.is_busy || Instant::now() < self.next_names {
            return;
        }
        self.has_grown_since_names = false;
        if self.is_named() {
            self.additions = Additions::default();
            return;
        }
        let begun = Instant::now();
        let hits = hits(self.growing.recording());
        self.namer.is_busy = self.namer.hits.send(hits).is_ok();
        self.next_names = Instant::now() + NAMES_EVERY.max(begun.elapsed() * NAMES_COST);
    }

    /// A recording that ended has its own names.
    fn is_named(&mut self) -> bool {
        let blocks = &self.growing.recording().blocks;
        blocks.iter().any(|read| read.block.recorder.is_some() || !read.block.c_names.is_empty())
    }

    fn send_status(&mut self, news: &Sender<News>) -> bool {
        let quiet_seconds = self.following.file.quiet_seconds();
        if !self.wish.is_frozen && self.status.state != State::Waiting && quiet_seconds >= QUIET_SECONDS {
            self.status.state = self.quiet_state(quiet_seconds);
        }
        news.send(News::Status(self.status.clone())).is_ok()
    }

    fn quiet_state(&mut self, seconds: u64) -> State {
        match &self.status.state {
            State::Ended(_) => return self.status.state.clone(),
            // One of them may have been killed since.
            State::LeftBehind { how, .. } => return ended(how.clone(), &self.pids_without_end, runs),
            State::Waiting | State::Recording | State::Quiet { .. } | State::Gone { .. } => {}
        }
        let starts = self.growing.recording().blocks.iter().filter_map(|read| read.block.start.as_ref());
        let mut pids = starts.map(|start| start.pid).peekable();
        if pids.peek().is_some() && !pids.any(runs) { State::Gone { seconds } } else { State::Quiet { seconds } }
    }
}

/// A zombie has ended.
fn runs(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists() && !threads::task(pid, pid).is_some_and(|task| task.has_ended())
}

/// `runs`: whether a process runs here.
fn state(profile: &Profile, quiet_seconds: u64, runs: impl Fn(u32) -> bool) -> State {
    if let Some(recorder) = &profile.recorder {
        let how = match (recorder.exit_signal, recorder.exit_code) {
            (Some(signal), _) => format!("signal {signal}"),
            (None, Some(code)) => format!("exit code {code}"),
            // Of a command that does not wait for its program.
            (None, None) => return State::Ended(COMPLETE.to_owned()),
        };
        return ended(how, &pids_without_end(profile), runs);
    }
    // Nothing comes of what was not sampled, or became another program: that may go on all the same.
    let (ends, others): (Vec<_>, Vec<_>) = profile.processes.iter().partition(|process| process.ended.is_some());
    let goes_on = || others.iter().filter_map(|process| process.pid).any(&runs);
    if quiet_seconds >= QUIET_SECONDS && !ends.is_empty() && profile.have_all_ended() && !goes_on() {
        let stopped = profile.marks.iter().any(|mark| mark.kind == MarkKind::Stopped);
        return State::Ended(if stopped { "the recording was stopped" } else { "its processes ended" }.to_owned());
    }
    if quiet_seconds >= QUIET_SECONDS { State::Quiet { seconds: quiet_seconds } } else { State::Recording }
}

/// Of a program that has ended. A process without an end may have been killed.
fn ended(how: String, pids_without_end: &[u32], runs: impl Fn(u32) -> bool) -> State {
    match pids_without_end.iter().filter(|pid| runs(**pid)).count() {
        0 => State::Ended(how),
        processes => State::LeftBehind { how, processes },
    }
}

fn pids_without_end(profile: &Profile) -> Vec<u32> {
    profile.without_end().filter_map(|process| process.pid).collect()
}

/// `2 processes go on`
pub fn left_behind_in_words(processes: usize) -> String {
    figures::counted(processes as u64, "process goes on", "processes go on")
}

/// Cores that were busy, in hundredths.
pub const fn core_hundredths(second_ns: u64) -> u64 {
    second_ns.saturating_mul(100) / SECOND_NS
}

#[cfg(test)]
mod tests {
    use super::{COMPLETE, QUIET_SECONDS, State, state};
    use genba_profile::profile::{Process, Profile, Recorder};

    fn process(pid: u32) -> Process {
        Process { pid: Some(pid), ..Process::default() }
    }

    fn ended(pid: u32) -> Process {
        Process { ended: Some("exit".to_owned()), ..process(pid) }
    }

    fn refused(pid: u32) -> Process {
        Process { refused: Some("unsupported".to_owned()), ..process(pid) }
    }

    /// With processes 1 to 9 running here.
    fn of(recorder: Option<Option<i32>>, processes: Vec<Process>, quiet_seconds: u64) -> State {
        let recorder =
            recorder.map(|exit_code| Recorder { argv: Vec::new(), exit_code, exit_signal: None, wall_ns: 0 });
        let mut profile = Profile { recorder, ..Profile::default() };
        for process in processes {
            profile.processes.push(process);
        }
        state(&profile, quiet_seconds, |pid| pid < 10)
    }

    #[test]
    fn processes_that_the_program_left_behind_are_counted() {
        let how = || "exit code 0".to_owned();
        let after_zero = |processes| of(Some(Some(0)), processes, 0);
        assert_eq!(after_zero(vec![ended(1), ended(2)]), State::Ended(how()));
        assert_eq!(after_zero(vec![ended(1), refused(2)]), State::Ended(how()));
        assert_eq!(after_zero(vec![ended(1), process(2)]), State::LeftBehind { how: how(), processes: 1 });
        // Killed: it has no end, and does not run.
        let killed_too = vec![ended(1), process(2), process(3), process(12)];
        assert_eq!(after_zero(killed_too), State::LeftBehind { how: how(), processes: 2 });
        assert_eq!(after_zero(vec![ended(1), process(12)]), State::Ended(how()));
        assert_eq!(of(Some(None), vec![process(1)], 0), State::Ended(COMPLETE.to_owned()));
    }

    #[test]
    fn without_the_commands_block_processes_have_ended_when_none_goes_on() {
        let quiet = |processes| of(None, processes, QUIET_SECONDS);
        let all_ended = State::Ended("its processes ended".to_owned());
        assert_eq!(quiet(vec![ended(1)]), all_ended);
        assert_eq!(quiet(vec![ended(1), refused(12)]), all_ended);
        for goes_on in [vec![ended(1), refused(2)], vec![ended(1), process(12)], vec![refused(12)], vec![]] {
            assert_eq!(quiet(goes_on), State::Quiet { seconds: QUIET_SECONDS });
        }
        assert_eq!(of(None, vec![ended(1)], 0), State::Recording);
    }
}
