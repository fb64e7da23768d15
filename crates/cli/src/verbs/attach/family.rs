//! The process and its descendants, while they are recorded.
//! Owns: which of them genba is in, and which are new. Never: enters by itself (entering.rs does).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use genba_process::facts::{Facts, all_pids};
use genba_process::identity::Identity;
use genba_process::interpreter;
use genba_process::maps;
use genba_process::refusal::Refusal;
use genba_process::threads;
use genba_profile::figures;

use super::entering::Entering;
use super::missed::Missed;

/// What the kernel calls the agent's thread.
const THREAD_NAME: &str = "genba";
/// And the process that is a copy of a heap, while it is walked: nothing runs there but the walk.
const COPY_NAME: &str = "genba-heap";
/// The threads of a process that ends are gone in a moment, if none of them waits for a disk.
const END_MAX: Duration = Duration::from_secs(1);
const END_LOOKED_EVERY: Duration = Duration::from_millis(1);
/// A program that starts has not loaded its Python, or its libc, yet: so many looks it has time for that.
const STARTING_LOOKS: u32 = 10;

pub struct Family {
    pid: u32,
    root: Identity,
    has_children: bool,
    /// Those that genba entered, or that it will not enter, as they were then. Another process may get their numbers, and each may become another
    /// program, which genba is not in.
    known: BTreeMap<u32, Identity>,
    /// Those that may be starting, how often genba looked, and what kept it out.
    starting: BTreeMap<u32, (Identity, u32, String)>,
    /// How many of them ended while genba entered them.
    ended: u64,
    /// The process itself became a program that is no Python.
    has_left: bool,
}

impl Family {
    /// `root` is entered already.
    pub fn of(pid: u32, root: Identity, has_children: bool) -> Family {
        let (known, starting) = (BTreeMap::from([(pid, root)]), BTreeMap::new());
        Family { pid, root, has_children, known, starting, ended: 0, has_left: false }
    }

    /// Enters descendants that were not there before and that no agent of theirs records, and programs that were not. Those that could not be
    /// entered.
    pub fn enter_new(&mut self, entering: &Entering) -> Vec<Missed> {
        self.known.retain(|_, identity| identity.is_same_process());
        self.starting.retain(|_, (identity, ..)| identity.is_same_process());
        let mut all_missed = Vec::new();
        for pid in self.all() {
            if self.is_known(pid) || has_agent_thread(pid) || is_copy_of_heap(pid) {
                continue;
            }
            match interpreter::find(pid) {
                // It is not yet what it will be.
                Ok(interpreter) if threads::is_in_memory_of(interpreter.facts.pid, interpreter.facts.parent) => {}
                Ok(interpreter) => {
                    self.known.insert(pid, interpreter.identity);
                    self.has_left &= pid != self.pid;
                    entering.has_no_libc.set(false);
                    match entering.enter(&interpreter) {
                        Ok(_) => {}
                        Err(_) if has_ended(pid) => self.ended += 1,
                        // It became another program meanwhile, at which the next look is.
                        Err(_) if !interpreter.identity.is_still() => {}
                        Err(failure)
                            if entering.has_no_libc.get()
                                && self.may_be_starting(pid, interpreter.identity, &failure.to_string()) =>
                        {
                            self.known.remove(&pid);
                        }
                        Err(failure) => all_missed.push(Missed { pid, why: failure.to_string() }),
                    }
                }
                // It may be about to become a Python.
                Err(Refusal::NotPython { .. }) => self.has_left |= pid == self.pid,
                Err(Refusal::Ended { .. } | Refusal::NoSuchProcess { .. } | Refusal::Zombie { .. }) => {}
                Err(_) if has_ended(pid) => {}
                Err(refusal @ Refusal::NoSymbols { .. })
                    if self.may_be_starting(pid, Identity::of(pid), &refusal.to_string()) => {}
                Err(refusal) => {
                    self.known.insert(pid, Identity::of(pid));
                    all_missed.push(Missed { pid, why: refusal.to_string() });
                }
            }
        }
        all_missed
    }

    /// How often one program was looked at is counted here.
    fn may_be_starting(&mut self, pid: u32, identity: Identity, why: &str) -> bool {
        let before = self.starting.get(&pid).filter(|(of, ..)| *of == identity).map_or(0, |(_, looks, _)| *looks);
        self.starting.insert(pid, (identity, before + 1, why.to_owned()));
        before < STARTING_LOOKS
    }

    fn is_known(&self, pid: u32) -> bool {
        self.known.get(&pid).is_some_and(Identity::is_still)
    }

    /// The process and, if they are recorded, its descendants: those of its number's next owner are none of them.
    pub fn all(&self) -> Vec<u32> {
        match (self.root.is_same_process(), self.has_children) {
            (false, _) => Vec::new(),
            (true, false) => vec![self.pid],
            (true, true) => std::iter::once(self.pid).chain(descendants(self.pid)).collect(),
        }
    }

    /// What is to be said of those that ended too early.
    pub fn note_of_ended(&self) -> Option<String> {
        let processes = figures::counted(self.ended, "child process", "child processes");
        (self.ended > 0).then(|| format!("not recorded: {processes} that ended while genba entered them"))
    }

    /// What is to be said of those that were not through with it at the end.
    pub fn notes_of_starting(&self) -> Vec<String> {
        let is_out = |(pid, (identity, ..)): &(&u32, &(Identity, u32, String))| {
            !self.is_known(**pid) && identity.is_still() && is_alive(**pid)
        };
        let notes = self.starting.iter().filter(is_out);
        notes.map(|(&pid, (_, _, why))| Missed { pid, why: why.clone() }.words()).collect()
    }

    /// What is to be said of the process itself, if it runs another program.
    pub fn note_of_left(&self) -> Option<String> {
        let words = || format!("process {} became a program that is no Python: it is recorded until then", self.pid);
        self.has_left.then(words)
    }

    /// Whether there is somebody to record.
    pub fn goes_on(&self) -> bool {
        let is_there = |(pid, identity): (&u32, &Identity)| identity.is_same_process() && is_alive(*pid);
        is_there((&self.pid, &self.root)) || self.known.iter().any(is_there)
    }

    /// Whether an agent's thread is in one of them.
    pub fn is_recorded(&self) -> bool {
        let known = self.known.iter().filter(|(_, identity)| identity.is_same_process()).map(|(&pid, _)| pid);
        known.chain(self.all()).any(has_agent_thread)
    }
}

/// Until the last thread of a process that is about to end has ended.
pub fn await_end(pid: u32) {
    let began = Instant::now();
    while (is_alive(pid) || has_agent_thread(pid)) && began.elapsed() < END_MAX {
        std::thread::sleep(END_LOOKED_EVERY);
    }
}

pub fn is_alive(pid: u32) -> bool {
    Facts::of(pid).is_ok_and(|facts| !facts.is_zombie())
}

/// Its memory goes first.
fn has_ended(pid: u32) -> bool {
    let has_memory = match maps::read(pid) {
        Ok(maps) => !maps.is_empty(),
        Err(refusal) => !matches!(refusal, Refusal::Ended { .. } | Refusal::NoSuchProcess { .. }),
    };
    !has_memory || !is_alive(pid)
}

fn has_agent_thread(pid: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks
        .into_iter()
        .any(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim_end() == THREAD_NAME))
}

fn is_copy_of_heap(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == COPY_NAME)
}

/// All that it started, and what those started.
fn descendants(ancestor: u32) -> Vec<u32> {
    // Kernels without CONFIG_PROC_CHILDREN have no such list.
    if !Path::new("/proc/thread-self/children").exists() {
        return by_their_parents(ancestor);
    }
    let mut found = vec![ancestor];
    let mut position = 0;
    while let Some(parent) = found.get(position).copied() {
        let new: Vec<u32> = threads::children(parent).into_iter().filter(|pid| !found.contains(pid)).collect();
        found.extend(new);
        position += 1;
    }
    found.split_off(1)
}

fn by_their_parents(ancestor: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> =
        all_pids().into_iter().filter_map(|pid| Facts::of(pid).ok().map(|facts| (pid, facts.parent))).collect();
    let mut found = vec![ancestor];
    let mut position = 0;
    while let Some(parent) = found.get(position).copied() {
        found.extend(parents.iter().filter(|(pid, of)| *of == parent && *pid != ancestor).map(|(pid, _)| *pid));
        position += 1;
    }
    found.split_off(1)
}

/// Of a recording's name: `app` of `python app.py`, else of the program.
pub fn stem(facts: &Facts) -> String {
    let mut words = facts.command_line.iter().skip(1);
    let mut named = None;
    while let Some(word) = words.next() {
        match word.as_str() {
            "-m" => {
                named = words.next().cloned();
                break;
            }
            "-X" | "-W" => drop(words.next()),
            "-c" => break,
            option if option.starts_with('-') => {}
            file => {
                named = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
                break;
            }
        }
    }
    let is_plain = |stem: &String| !stem.is_empty() && !stem.contains('/') && !stem.starts_with('.');
    named.filter(is_plain).unwrap_or_else(|| "python".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Family, Identity, STARTING_LOOKS};

    #[test]
    fn a_program_that_starts_is_looked_at_again_for_a_while() {
        let pid = std::process::id();
        let own = Identity::of(pid);
        let mut family = Family::of(1, Identity::default(), true);
        for _ in 0..STARTING_LOOKS / 2 {
            assert!(family.may_be_starting(pid, Identity::default(), "no symbols"));
        }
        for _ in 0..STARTING_LOOKS {
            assert!(family.may_be_starting(pid, own, "no libc"), "it is another program now");
        }
        assert_eq!(family.notes_of_starting(), [format!("process {pid} is not recorded: no libc")]);
        assert!(!family.may_be_starting(pid, own, "no libc"));
        family.known.insert(pid, own);
        assert!(family.notes_of_starting().is_empty(), "it is said already, or the program is recorded");
    }
}
