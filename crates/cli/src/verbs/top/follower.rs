//! The thread that follows the recording: reads new blocks and makes a picture of them. Another one finds names meanwhile.
//! Owns: when that happens. Never: draws, knows of keys, judges in which state the recording is (state.rs does).
//! Keeps: at most four pictures a second, and pauses so long that they take a twentieth of a CPU.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use genba_profile::build::Additions;
use genba_profile::cpu_over_time::SECOND_NS;
use genba_profile::growing::Growing;
use genba_profile::hits::{Hits, hits};
use genba_profile::live::{Live, Rows, live};
use genba_profile::reading::Reading;
use genba_profile::weight::Weight;

use super::source::Following;
use super::state::{Known, QUIET_SECONDS, Recorded, State};
use crate::files::growing_file::Fate;
use crate::finish::{self, Root};

/// How often the file is asked for new bytes, and how often a picture is made at most.
const EVERY: Duration = Duration::from_millis(250);
/// A picture may take this part of the time: one over it.
const PICTURES_COST: u32 = 20;
/// Names are looked for so often at most, and what the samples hit takes this part of the time: one over it.
const NAMES_EVERY: Duration = Duration::from_secs(1);
const NAMES_COST: u32 = 50;

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
    /// Of the newest picture.
    known: Known,
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
            known: Known::default(),
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
        self.known = Known::of(&profile);
        self.status.state = self.known.state(self.following.file.quiet_seconds(), Recorded::runs);
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
            // Nothing new makes a picture, and a process may have been killed since the last one.
            self.status.state = self.known.state(quiet_seconds, Recorded::runs);
        }
        news.send(News::Status(self.status.clone())).is_ok()
    }
}

/// Cores that were busy, in hundredths.
pub const fn core_hundredths(second_ns: u64) -> u64 {
    second_ns.saturating_mul(100) / SECOND_NS
}
