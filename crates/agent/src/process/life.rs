//! The life of the process's sampler, as one word, and who may change it.
//! Owns: the word, and whose it is. Never: waits. Partners: lifecycle.rs (the program's threads), sampler/parking.rs (the sampler's own).
//!
//! | from     | to      | by           | when                                                                           |
//! |----------|---------|--------------|--------------------------------------------------------------------------------|
//! | Absent   | Running | program      | a recording begins                                                             |
//! | Ended    | Running | program      | the next recording begins, in the memory of the last one                       |
//! | Running  | Parking | program      | a fork, or a call that demands a single thread, waits for the sampler to park  |
//! | Parking  | Parked  | sampler      | its last act: whoever has the turn may start it again, in a new thread         |
//! | Parking  | HeldUp  | program      | it waited for as long as it may, and goes on without                           |
//! | HeldUp   | Running | sampler      | it goes on, too, and says so in the recording                                  |
//! | Parked   | Running | program      | after the fork, in both processes                                              |
//! | Running  | Parked  | program      | it could make no thread                                                        |
//! | Parked   | Ended   | program      | a thread of the program wrote the last block, or a child is not to be recorded |
//! | Running, Parking, HeldUp | Ended | sampler | its last block is written, or cannot be                             |
//! | Running, Parking, HeldUp | Absent | program | a forked child whose parent's sampler was not parked                    |
//!
//! "program" is a thread that has the turn (control.rs), or a forked child's only one. Both sides change the word by compare-and-swap, so
//! of "parked" and "waited for no longer", which may come at the same moment, one is true for both.

use crate::system::proc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum State {
    /// There is none, or what there is belongs to another process.
    Absent,
    Running,
    Parking,
    /// No thread runs it.
    Parked,
    /// A fork did not wait for it: it hangs in the kernel, or gets no CPU.
    HeldUp,
    Ended,
}

use State::{Absent, Ended, HeldUp, Parked, Parking, Running};

const STATES: [State; 6] = [Absent, Running, Parking, Parked, HeldUp, Ended];

/// The table above.
const STEPS: [(State, State); 15] = [
    (Absent, Running),
    (Ended, Running),
    (Running, Parking),
    (Parking, Parked),
    (Parking, HeldUp),
    (HeldUp, Running),
    (Parked, Running),
    (Running, Parked),
    (Parked, Ended),
    (Running, Ended),
    (Parking, Ended),
    (HeldUp, Ended),
    (Running, Absent),
    (Parking, Absent),
    (HeldUp, Absent),
];

/// The process whose sampler this is. In a vfork child it is another one's.
pub static OWNER: AtomicU32 = AtomicU32::new(0);

/// Whether this process has a sampler, running or parked.
#[must_use]
pub fn is_recording() -> bool {
    is_owner() && LIFE.is_recording()
}

#[must_use]
pub fn is_owner() -> bool {
    OWNER.load(SeqCst) == proc::own_pid()
}

/// The recording was begun by `genba run`, not by a call.
static BY_COMMAND: AtomicBool = AtomicBool::new(false);

pub fn set_by_command(is_by_command: bool) {
    BY_COMMAND.store(is_by_command, SeqCst);
}

#[must_use]
pub fn is_by_command() -> bool {
    BY_COMMAND.load(SeqCst)
}

pub struct Life(AtomicU32);

/// Forks that did not wait for the sampler since it last said so.
static WITHOUT: AtomicU32 = AtomicU32::new(0);

pub fn went_without() {
    WITHOUT.fetch_add(1, SeqCst);
}

/// How many forks did without it since the last call.
#[must_use]
pub fn take_without() -> u32 {
    WITHOUT.swap(0, SeqCst)
}

/// This process's sampler.
pub static LIFE: Life = Life(AtomicU32::new(Absent as u32));

impl Life {
    #[must_use]
    pub fn state(&self) -> State {
        // SeqCst: pairs with the swaps in `step` and `end`.
        STATES[self.0.load(SeqCst) as usize]
    }

    /// False: it is not in `from` any more.
    #[must_use]
    pub fn step(&self, from: State, to: State) -> bool {
        debug_assert!(STEPS.contains(&(from, to)), "{from:?} to {to:?}");
        self.0.compare_exchange(from as u32, to as u32, SeqCst, SeqCst).is_ok()
    }

    /// To `to` from whatever state the table has such a step for. False: it is in none of them.
    pub fn step_if_any(&self, to: State) -> bool {
        let next = |from: u32| STEPS.contains(&(STATES[from as usize], to)).then_some(to as u32);
        self.0.fetch_update(SeqCst, SeqCst, next).is_ok()
    }

    /// The sampler's thread is about to return. One that has parked has not ended.
    pub fn thread_leaves(&self) {
        let next = |from: u32| {
            (from != Parked as u32 && STEPS.contains(&(STATES[from as usize], Ended))).then_some(Ended as u32)
        };
        let _ = self.0.fetch_update(SeqCst, SeqCst, next);
    }

    /// There is a recording, whether or not somebody runs it at this moment.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.state() == Parked || self.has_thread()
    }

    /// A thread runs the sampler, or is about to.
    #[must_use]
    pub fn has_thread(&self) -> bool {
        matches!(self.state(), Running | Parking | HeldUp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(state: State) -> Life {
        Life(AtomicU32::new(state as u32))
    }

    #[test]
    fn the_table_above_is_the_one_that_is_kept() {
        let state = |name: &str| STATES.into_iter().find(|state| format!("{state:?}") == name.trim());
        let rows = include_str!("life.rs").lines().filter_map(|line| line.strip_prefix("//! |"));
        let described: Vec<(State, State)> = rows
            .flat_map(|row| {
                let (from, rest) = row.split_once('|').unwrap();
                let to = state(rest.split_once('|').unwrap().0);
                from.split(',').filter_map(move |from| Some((state(from)?, to?))).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(described.len(), STEPS.len());
        assert!(STEPS.iter().all(|step| described.contains(step)), "{described:?}");
    }

    #[test]
    fn every_state_is_reached_and_has_a_way_to_the_end() {
        let reached = |from: State| {
            let mut reached = vec![from];
            while let Some(&(_, to)) = STEPS.iter().find(|(from, to)| reached.contains(from) && !reached.contains(to)) {
                reached.push(to);
            }
            reached
        };
        assert_eq!(reached(Absent).len(), STATES.len());
        for state in STATES {
            assert!(reached(state).contains(&Ended), "{state:?}");
            // Nothing that is parked or held up stays so because nobody may start it.
            assert!(reached(state).contains(&Running), "{state:?}");
        }
    }

    #[test]
    fn a_step_is_taken_from_its_state_only() {
        for (from, to) in STEPS {
            for state in STATES {
                let life = at(state);
                assert_eq!(life.step(from, to), state == from, "{state:?}: {from:?} to {to:?}");
                assert_eq!(life.state(), if state == from { to } else { state });
            }
        }
    }

    #[test]
    fn a_thread_that_leaves_ends_the_recording_unless_it_has_parked() {
        let after = STATES.map(|state| {
            let life = at(state);
            life.thread_leaves();
            life.state()
        });
        assert_eq!(after, [Absent, Ended, Ended, Parked, Ended, Ended]);
    }

    #[test]
    fn of_parked_and_held_up_one_is_true() {
        for _ in 0..1000 {
            let life = at(Parking);
            let (parked, held_up) = std::thread::scope(|scope| {
                let sampler = scope.spawn(|| life.step(Parking, Parked));
                (life.step(Parking, HeldUp), sampler.join().unwrap())
            });
            assert!(parked != held_up);
        }
    }
}
