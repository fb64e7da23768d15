//! The table of (clock, state, question): what a look does with a thread.
//! Owns: which look asks, reads from outside, or takes a question back. Never: makes a system call.

use crate::system::proc::{Call, Doing};
use genba_format::state::State;
use genba_signal::rows::Registers;

const FUTEX: u32 = libc::SYS_futex as u32;

#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// It runs: a signal asks it for its stack.
    Ask,
    /// It runs, and its question is open: that one counts this tick, too.
    AskOn,
    /// Its clock stands still, though it could run. An open question stays open.
    Queued,
    /// It sleeps: an open question is taken back, and its stack is read from outside.
    Asleep { state: State, call: Option<Call>, registers: Option<Registers> },
}

/// `moved`: the thread's clock moved since the look before. `is_asked`: its question is open. `is_gil`: whether a GIL is at an address.
pub fn action(moved: bool, doing: Doing, is_asked: bool, is_gil: impl FnOnce(u64) -> bool) -> Action {
    match doing {
        Doing::Runnable if moved && is_asked => Action::AskOn,
        Doing::Runnable if moved => Action::Ask,
        Doing::Runnable => Action::Queued,
        Doing::Asleep { call, rsp, rip } => {
            let state = match call {
                Some(Call { number: FUTEX, arguments: [address, _] }) if is_gil(address) => State::WaitingForGil,
                Some(call) => State::InSystemCall(call.number, None),
                None => State::Asleep,
            };
            Action::Asleep { state, call, registers: Some(Registers { rip, rsp, rbp: None }) }
        }
        Doing::AsleepUnseen => Action::Asleep { state: State::Asleep, call: None, registers: None },
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, FUTEX, action};
    use crate::system::proc::{Call, Doing};

    const GIL: u64 = 0x7000;

    /// In words.
    fn word(moved: bool, doing: Doing, is_asked: bool) -> String {
        match action(moved, doing, is_asked, |address| address == GIL) {
            Action::Ask => "ask".to_owned(),
            Action::AskOn => "ask on".to_owned(),
            Action::Queued => "queued".to_owned(),
            Action::Asleep { state, call, registers } => {
                let seen = if registers.is_some() { "seen" } else { "unseen" };
                format!("{seen} {state:?} {}", call.map_or("-".to_owned(), |call| call.number.to_string()))
            }
        }
    }

    #[test]
    fn each_row_of_the_table() {
        let in_call = |number, address| {
            let call = Some(Call { number, arguments: [address, 0] });
            Doing::Asleep { call, rsp: 1, rip: 2 }
        };
        let page_fault = Doing::Asleep { call: None, rsp: 1, rip: 2 };
        assert_eq!(word(true, Doing::Runnable, false), "ask");
        assert_eq!(word(true, Doing::Runnable, true), "ask on");
        for is_asked in [false, true] {
            assert_eq!(word(false, Doing::Runnable, is_asked), "queued");
            // Who sleeps is never sent a signal, whether the clock moved or not.
            for moved in [false, true] {
                let word = |doing| word(moved, doing, is_asked);
                assert_eq!(word(in_call(7, GIL)), "seen InSystemCall(7, None) 7");
                assert_eq!(word(in_call(FUTEX, GIL)), format!("seen WaitingForGil {FUTEX}"));
                assert_eq!(word(in_call(FUTEX, GIL + 8)), format!("seen InSystemCall({FUTEX}, None) {FUTEX}"));
                assert_eq!(word(page_fault), "seen Asleep -");
                assert_eq!(word(Doing::AsleepUnseen), "unseen Asleep -");
            }
        }
    }
}
