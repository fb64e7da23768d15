//! The life of the process's sampler, as one word, and who may change it.
//! Owns: the word, whose it is, and what else is known about the sampler. Never: waits. Partners: lifecycle.rs (the program's threads), sampler/parking.rs (the sampler's own).
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
//! "program" is a thread that has the turn (mailbox.rs), or a forked child's only one. Both sides change the word by compare-and-swap, so
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

/// What is known about the process's sampler. Every field is one word: the program's threads and the sampler's read and write it at any time.
pub struct Life {
    state: AtomicU32,
    /// The process whose sampler this is; 0: none. In a vfork child it is another process.
    owner: AtomicU32,
    /// `genba run` began the recording, not a call.
    is_by_command: AtomicBool,
    /// Forks that did not wait for the sampler since it last said so.
    forks_without: AtomicU32,
    /// The thread that `genba attach` made to begin the recording, as long as it may be there; 0: none.
    visitor: AtomicU32,
    /// The thread that the process began with is gone; others went on.
    first_thread_ended: AtomicBool,
    /// The sampler looks at nothing, because the program wants none of it. Only the sampler changes this while there is one.
    stands_by: AtomicBool,
}

/// This process's sampler.
pub static LIFE: Life = Life::new(Absent);

/// Whether this process has a sampler, running or parked.
#[must_use]
pub fn is_recording() -> bool {
    is_owner() && LIFE.is_recording()
}

#[must_use]
pub fn is_owner() -> bool {
    LIFE.owner.load(SeqCst) == proc::own_pid()
}

impl Life {
    pub const fn new(state: State) -> Life {
        Life {
            state: AtomicU32::new(state as u32),
            owner: AtomicU32::new(0),
            is_by_command: AtomicBool::new(false),
            forks_without: AtomicU32::new(0),
            visitor: AtomicU32::new(0),
            first_thread_ended: AtomicBool::new(false),
            stands_by: AtomicBool::new(false),
        }
    }

    #[must_use]
    pub fn state(&self) -> State {
        // SeqCst: pairs with the swaps in `step` and `thread_leaves`.
        STATES[self.state.load(SeqCst) as usize]
    }

    /// False: it is not in `from` any more.
    #[must_use]
    pub fn step(&self, from: State, to: State) -> bool {
        debug_assert!(STEPS.contains(&(from, to)), "{from:?} to {to:?}");
        self.state.compare_exchange(from as u32, to as u32, SeqCst, SeqCst).is_ok()
    }

    /// To `to` from whatever state the table has such a step for. False: it is in none of them.
    pub fn step_if_any(&self, to: State) -> bool {
        let next = |from: u32| STEPS.contains(&(STATES[from as usize], to)).then_some(to as u32);
        self.state.fetch_update(SeqCst, SeqCst, next).is_ok()
    }

    /// The sampler's thread is about to return. One that has parked has not ended.
    pub fn thread_leaves(&self) {
        let next = |from: u32| {
            (from != Parked as u32 && STEPS.contains(&(STATES[from as usize], Ended))).then_some(Ended as u32)
        };
        let _ = self.state.fetch_update(SeqCst, SeqCst, next);
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

    /// From now on the sampler is this process's.
    pub fn take_over(&self) {
        self.owner.store(proc::own_pid(), SeqCst);
    }

    /// This process has no sampler any more.
    pub fn disown(&self) {
        self.owner.store(0, SeqCst);
    }

    pub fn set_by_command(&self, is_by_command: bool) {
        self.is_by_command.store(is_by_command, SeqCst);
    }

    #[must_use]
    pub fn is_by_command(&self) -> bool {
        self.is_by_command.load(SeqCst)
    }

    pub fn set_visitor(&self, tid: u32) {
        self.visitor.store(tid, SeqCst);
    }

    #[must_use]
    pub fn visitor(&self) -> u32 {
        self.visitor.load(SeqCst)
    }

    /// A fork did not wait for the sampler.
    pub fn went_without(&self) {
        self.forks_without.fetch_add(1, SeqCst);
    }

    /// How many forks did not wait since the last call.
    #[must_use]
    pub fn take_without(&self) -> u32 {
        self.forks_without.swap(0, SeqCst)
    }

    pub fn set_first_thread_ended(&self, ended: bool) {
        self.first_thread_ended.store(ended, SeqCst);
    }

    pub fn set_stands_by(&self, stands_by: bool) {
        self.stands_by.store(stands_by, SeqCst);
    }

    #[must_use]
    pub fn stands_by(&self) -> bool {
        self.stands_by.load(SeqCst)
    }

    #[must_use]
    pub fn has_first_thread_ended(&self) -> bool {
        self.first_thread_ended.load(SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of the table in this file's header.
    fn described() -> Vec<(State, State)> {
        let state = |name: &str| STATES.into_iter().find(|state| format!("{state:?}") == name.trim());
        let rows = include_str!("life.rs").lines().filter_map(|line| line.strip_prefix("//! |"));
        rows.flat_map(|row| {
            let (from, rest) = row.split_once('|').unwrap();
            let to = state(rest.split_once('|').unwrap().0);
            from.split(',').filter_map(move |from| Some((state(from)?, to?))).collect::<Vec<_>>()
        })
        .collect()
    }

    #[test]
    fn of_all_pairs_of_states_those_in_the_header_are_steps() {
        let described = described();
        assert_eq!(described.len(), STEPS.len());
        for from in STATES {
            for to in STATES {
                let life = Life::new(from);
                let is_described = described.contains(&(from, to));
                assert_eq!(life.step_if_any(to), is_described, "{from:?} to {to:?}");
                assert_eq!(life.state(), if is_described { to } else { from });
            }
        }
    }

    #[test]
    fn the_map_has_the_same_table() {
        let cells = |row: &str| row.split('|').map(str::trim).collect::<Vec<_>>().join("|");
        let map: Vec<String> = include_str!("../../../../ARCHITECTURE.md").lines().map(cells).collect();
        let rows: Vec<String> = include_str!("life.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("//! "))
            .filter(|line| line.starts_with('|'))
            .map(cells)
            .collect();
        let beginning = map.iter().position(|row| *row == rows[0]).expect("ARCHITECTURE.md has the table");
        // The second row is the line below the names of the columns.
        assert_eq!(map[beginning..][2..rows.len()], rows[2..]);
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
                let life = Life::new(state);
                assert_eq!(life.step(from, to), state == from, "{state:?}: {from:?} to {to:?}");
                assert_eq!(life.state(), if state == from { to } else { state });
            }
        }
    }

    #[test]
    fn a_thread_that_leaves_ends_the_recording_unless_it_has_parked() {
        let after = STATES.map(|state| {
            let life = Life::new(state);
            life.thread_leaves();
            life.state()
        });
        assert_eq!(after, [Absent, Ended, Ended, Parked, Ended, Ended]);
    }

    #[test]
    fn of_parked_and_held_up_one_is_true() {
        for _ in 0..1000 {
            let life = Life::new(Parking);
            let (parked, held_up) = std::thread::scope(|scope| {
                let sampler = scope.spawn(|| life.step(Parking, Parked));
                (life.step(Parking, HeldUp), sampler.join().unwrap())
            });
            assert!(parked != held_up);
        }
    }
}
