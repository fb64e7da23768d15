//! Threads of a program that leave stacks by themselves: one writer a buffer (I-05), nothing written over that was not taken.

use genba_python::stack::walked::PythonEnd;
use genba_python::thread_states::{States, ThreadHints};
use genba_signal::deposits::{DEPOSITS, NotLeft, POOL, leave};
use genba_signal::request::{Cause, Question, Reading};
use genba_signal::rows::Registers;
use genba_signal::unwind::NativeEnd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

const THREADS: usize = 4;
const EACH: usize = 20_000;

fn question() -> Question {
    Question {
        thread: ThreadHints { pid: std::process::id(), tid: 1, states: States::EMPTY },
        native: true,
        counts_beyond: false,
        reading: Reading::ByKernel,
    }
}

/// Takes all that were left; how many.
fn take() -> usize {
    let left = (0..DEPOSITS).filter_map(|index| POOL.left_at(index));
    left.filter(|&ticket| {
        let answer = POOL.answered(ticket).expect("left");
        // No table is published in this process: nothing was read, and that is what the answer says.
        assert_eq!((answer.native_end, answer.python_end), (NativeEnd::NoModule, PythonEnd::NoThreadState));
        POOL.done(ticket);
        POOL.answered(ticket).is_none()
    })
    .count()
}

/// One test: the pool is the process's.
#[test]
fn each_is_left_and_taken_once_or_finds_no_room() {
    let registers = Registers { rip: 1, rsp: 8, rbp: Some(0) };
    assert_eq!(take(), 0);
    for _ in 0..2 * DEPOSITS {
        assert_eq!(leave(|| None, registers, Cause::NONE), Err(NotLeft::NotNow), "its buffer is given back");
    }
    let tickets: Vec<_> =
        (0..DEPOSITS).map(|_| leave(|| Some(question()), registers, Cause::NONE).expect("a free buffer")).collect();
    assert_eq!(leave(|| Some(question()), registers, Cause::NONE), Err(NotLeft::NoBuffer), "all are in use");
    assert!(!POOL.cancel(tickets[0]), "nobody asked for it");
    assert!(POOL.nobody_walks());
    assert_eq!(take(), DEPOSITS);
    assert!(POOL.answered(tickets[0]).is_none());

    let (no_room, running) = (AtomicUsize::new(0), AtomicBool::new(true));
    let taken = std::thread::scope(|scope| {
        let threads = [(); THREADS].map(|()| {
            scope.spawn(|| {
                for _ in 0..EACH {
                    if leave(|| Some(question()), registers, Cause::NONE).is_err() {
                        no_room.fetch_add(1, SeqCst);
                    }
                }
            })
        });
        let sampler = scope.spawn(|| {
            let mut taken = 0;
            while running.load(SeqCst) {
                taken += take();
            }
            taken + take()
        });
        threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
        running.store(false, SeqCst);
        sampler.join().expect("the sampler")
    });
    assert_eq!(taken + no_room.load(SeqCst), THREADS * EACH);
}
