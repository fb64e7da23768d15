//! Asking and answering: one writer a buffer (I-05), nothing answered twice or late, whatever order signals arrive in.

use genba_python::memory::{Address, Fault, Memory};
use genba_python::stack::walked::{PythonEnd, PythonEntry, PythonWord};
use genba_python::thread_states::{States, ThreadHints};
use genba_signal::handler::{Arrival, SAMPLE_CODE, SHARED, answer};
use genba_signal::memory::{Blocks, ByKernel};
use genba_signal::request::{POOL, Phase, Question, Reading, Ticket};
use genba_signal::rows::Registers;
use genba_signal::unwind::NativeEnd;
use std::sync::atomic::Ordering::SeqCst;

const PID: u32 = 4711;

fn question() -> Question {
    Question {
        thread: ThreadHints { pid: std::process::id(), tid: 1, states: States::EMPTY },
        native: true,
        counts_beyond: false,
        reading: Reading::ByKernel,
    }
}

fn arrival(ticket: Ticket) -> Arrival {
    SHARED.pid.store(PID, SeqCst);
    Arrival {
        code: SAMPLE_CODE,
        pid: PID,
        value: ticket.to_value(),
        registers: Registers { rip: 1, rsp: 8, rbp: Some(0) },
        faults_welcome: false,
    }
}

#[test]
fn a_question_is_answered_once() {
    let ticket = POOL.ask(0, question()).expect("free");
    assert!(POOL.ask(0, question()).is_none(), "the buffer is in use");
    assert!(POOL.answered(ticket).is_none());
    assert!(answer(&arrival(ticket)));
    let seen = POOL.answered(ticket).expect("answered");
    // No table is published in this process: nothing was read, and that is what the answer says.
    assert_eq!((seen.native_end, seen.python_end), (NativeEnd::NoModule, PythonEnd::NoThreadState));
    assert!(!POOL.cancel(ticket), "too late to take it back");
    POOL.done(ticket);
    assert_eq!(POOL.phase(0), Phase::Free);
}

#[test]
fn a_late_signal_finds_another_generation_and_changes_nothing() {
    let ticket = POOL.ask(1, question()).expect("free");
    assert!(POOL.cancel(ticket));
    assert!(answer(&arrival(ticket)), "it is genba's signal all the same");
    assert_eq!(POOL.phase(1), Phase::Free);
    let next = POOL.ask(1, question()).expect("free again");
    assert!(answer(&arrival(ticket)));
    assert_eq!(POOL.phase(1), Phase::Asked, "only the newest ticket opens the buffer");
    assert!(POOL.cancel(next));
}

#[test]
fn foreign_signals_are_not_believed() {
    let ticket = POOL.ask(2, question()).expect("free");
    let ours = arrival(ticket);
    assert!(!answer(&Arrival { code: 0, ..ours }), "sent by kill");
    assert!(!answer(&Arrival { code: -1, ..ours }), "sent by sigqueue");
    assert!(!answer(&Arrival { pid: PID + 1, ..ours }), "sent by another process");
    assert_eq!(POOL.phase(2), Phase::Asked);
    assert!(POOL.cancel(ticket));
}

#[test]
fn tickets_and_words_keep_what_they_are_given() {
    let ticket = Ticket { index: 63, generation: (1 << 58) - 1 };
    assert_eq!(Ticket::from_value(ticket.to_value()), ticket);
    for entry in [
        PythonEntry::Known { code: (1 << 30) - 1, instruction: u32::MAX },
        PythonEntry::InTail { position: 0, instruction: 7 },
        PythonEntry::Shim { address: 0x7fff_ffff_fff0 },
        PythonEntry::NoRoom,
    ] {
        assert_eq!(PythonWord::new(entry).entry(), entry);
    }
}

#[test]
fn the_kernel_reads_what_is_there_and_nothing_else() {
    let blocks = Blocks::zeroed();
    let memory = ByKernel::new(std::process::id(), &blocks);
    let words: Vec<u64> = (0..200).collect();
    let first = words.as_ptr() as u64;
    for n in 0..200 {
        assert_eq!(memory.word(Address(first + 8 * n)), Ok(n));
    }
    // Unaligned, also over the border of a block.
    for n in 0..199 {
        assert_eq!(memory.word(Address(first + 8 * n + 4)), Ok(n >> 32 | (n + 1) << 32));
    }
    assert_eq!(memory.byte(Address(first + 8)), Ok(1));
    assert_eq!(memory.half(Address(first + 8)), Ok(1));
    assert_eq!(memory.word(Address(8)), Err(Fault));
    assert_eq!(memory.word(Address(u64::MAX - 4)), Err(Fault));
    assert_eq!(memory.word(Address(first)), Ok(0), "a fault leaves the other blocks alone");
}
