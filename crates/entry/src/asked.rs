//! What an entry is asked for, and how it went.
//! Owns: those types. Never: does anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use genba_process::identity::Identity;
use nix::errno::Errno;

use crate::Door;
use crate::filters::Filtered;
use crate::spot::Unusable;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Asked {
    pub pid: u32,
    /// Of the process and the program that were found there.
    pub identity: Identity,
    /// The agent, as the program names the file.
    pub library: String,
    pub door: Door,
    /// That function in this process, where the agent is loaded already.
    pub function: Option<u64>,
    pub session: String,
    /// For how long threads are looked at until one can be used. Between two looks the program runs. Where threads have filters that nobody has
    /// read, this begins anew with each stop that leaves fewer of those.
    pub tried_max: Duration,
    /// Set by the caller: genba asks no more threads for their filters.
    pub asked_to_end: Arc<AtomicBool>,
    /// Set meanwhile: how many threads have filters that nobody has read.
    pub unasked: Arc<AtomicUsize>,
    /// How long the agent may take to begin.
    pub patience: Duration,
}

/// How it went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entered {
    /// Of the agent's function.
    pub answer: u8,
    /// What it left in the session's place: its reason, if it refused.
    pub words: String,
    pub held: Held,
    /// The thread that was sent gave way for no longer than this, if longer than the others were held. It may have gone on before the answer.
    pub gave_way: Duration,
}

/// How the threads of the program were stopped.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Held {
    /// They stood still for so long in all, in one or more stops; the longest.
    pub stopped: Duration,
    pub longest: Duration,
    pub stops: u32,
    pub threads: usize,
}

/// Why the agent did not begin. The program goes on as before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotEntered {
    Ended,
    /// It has become another program since it was found, or its number went to another process. Nothing was written into what it is now.
    Changed,
    /// Something in the program wrote where genba's words were: whether the agent has begun nobody can tell.
    Overwritten,
    /// By a signal: none of its threads runs.
    Stopped,
    /// The kernel's reason.
    NotPermitted(Errno),
    /// Its seccomp filters would not let the agent work, or nobody can tell.
    Filtered(Filtered),
    /// A function of libc that is needed, by name.
    NoFunction(&'static str),
    NoRoom,
    /// In the time that was given no thread stood where it could be used: the last reason, and what the looks cost.
    NoMoment(Option<Unusable>, Held),
    /// The dynamic linker refused the file.
    NotLoaded,
    /// The file is not genba's agent.
    NotTheAgent,
    /// The program may make no more threads.
    NoThread,
    /// The new thread has not come back yet.
    Late,
}
