//! The queue of the safe point without an interpreter: who runs, who waits, who is late.

use super::{Cancelled, Outcome, Queue, Task, Work};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

const ABOVE: u64 = 1000;

fn task(work: Work, argument: u64) -> Task {
    Task { work, argument, outside_of: 0, deadline_ns: 100 }
}

fn double(argument: u64) -> u64 {
    argument * 2
}

fn early() -> u64 {
    1
}

fn late() -> u64 {
    100
}

#[test]
fn each_task_runs_once_and_tells_its_result_once() {
    let queue = Queue::<4>::NEW;
    let tickets: Vec<_> = (1..=4).map(|argument| queue.add(task(double, argument)).unwrap()).collect();
    assert_eq!(queue.add(task(double, 5)), None, "the queue is full");
    assert_eq!(queue.take(tickets[0]), Outcome::Open);
    assert!(!queue.run(ABOVE, early));
    assert!(!queue.run(ABOVE, early));
    for (ticket, result) in tickets.iter().zip([2, 4, 6, 8]) {
        assert_eq!(queue.take(*ticket), Outcome::Done(result));
        assert_eq!(queue.take(*ticket), Outcome::Gone);
    }
    assert!(queue.add(task(double, 5)).is_some(), "there is room again");
}

#[test]
fn cancelled_and_late_tasks_do_not_run() {
    static RAN: AtomicU64 = AtomicU64::new(0);
    fn count(_: u64) -> u64 {
        RAN.fetch_add(1, SeqCst)
    }
    let queue = Queue::<2>::NEW;
    let (first, second) = (queue.add(task(count, 0)).unwrap(), queue.add(task(count, 0)).unwrap());
    assert_eq!(queue.cancel(first), Cancelled::BeforeItRan);
    queue.run(ABOVE, late);
    assert_eq!((queue.take(first), queue.take(second)), (Outcome::Gone, Outcome::Late));
    assert_eq!(RAN.load(SeqCst), 0);
}

#[test]
fn a_task_that_nobody_asks_for_leaves_its_place() {
    let queue = Queue::<1>::NEW;
    let ticket = queue.add(task(double, 1)).unwrap();
    queue.leave(ticket);
    queue.run(ABOVE, early);
    assert!(queue.add(task(double, 2)).is_some());
}

#[test]
fn a_task_waits_until_the_call_it_was_posted_from_is_over() {
    let queue = Queue::<1>::NEW;
    let ticket = queue.add(Task { outside_of: ABOVE, ..task(double, 1) }).unwrap();
    assert!(queue.run(ABOVE - 1, early), "still within");
    assert_eq!(queue.take(ticket), Outcome::Open);
    assert!(!queue.run(ABOVE, early));
    assert_eq!(queue.take(ticket), Outcome::Done(2));
    // On a greenlet's stack nothing is outside.
    let ticket = queue.add(Task { outside_of: ABOVE, ..task(double, 1) }).unwrap();
    while queue.run(ABOVE - 1, early) {}
    assert_eq!(queue.take(ticket), Outcome::Done(2));
}

#[test]
fn a_task_that_panics_has_failed() {
    fn fails(_: u64) -> u64 {
        panic!("a task")
    }
    let queue = Queue::<1>::NEW;
    let ticket = queue.add(task(fails, 0)).unwrap();
    queue.run(ABOVE, early);
    assert_eq!(queue.take(ticket), Outcome::Failed);
}

#[test]
fn a_forked_child_has_an_empty_queue() {
    let queue = Queue::<2>::NEW;
    let ticket = queue.add(task(double, 1)).unwrap();
    queue.forget();
    queue.run(ABOVE, early);
    assert_eq!(queue.take(ticket), Outcome::Gone);
    assert_eq!(queue.cancel(ticket), Cancelled::TooLate);
}
