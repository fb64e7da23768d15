//! What both sides of the mailbox may rely on, mostly without a second thread.
//! Owns: the orders of events that went wrong, or could. Never: waits for a sampler.

use super::*;
use crate::process::life::State;

const DONE: Option<Answer> = Some(Answer::Done(None));

fn running() -> Life {
    Life::new(State::Running)
}

fn mark(text: &str) -> Option<Mark> {
    Mark::new(proto::MarkKind::Program, text)
}

/// As the sampler does an order that asks for nothing in particular.
fn do_one(mailbox: &Mailbox) -> Order {
    let posted = mailbox.order().unwrap();
    assert!(mailbox.answer(posted));
    posted.order()
}

#[test]
fn the_number_of_an_order_tells_its_kind() {
    for (number, order) in (1..).zip(ORDERS) {
        assert_eq!((order as u32, Posted(order as u32 + 3 * NEXT).order()), (number, order));
    }
}

#[test]
fn coming_back_is_not_answered_by_what_was_done_in_a_pause() {
    let life = running();
    let mailbox = Mailbox::new(&life);
    // pause(), then snapshot(), or a fork and the sampler's next thread; then resume().
    for (between, begins_anew) in [(Order::OwnStack, false), (Order::Flush, false), (Order::Park, true)] {
        let stand_by = mailbox.post(Order::StandBy, None).unwrap();
        assert_eq!(do_one(&mailbox), Order::StandBy);
        let posted = mailbox.post(between, mark("")).unwrap();
        assert_eq!(do_one(&mailbox), between);
        assert_eq!(mailbox.outcome(posted), DONE);
        if begins_anew {
            mailbox.empty();
        }
        let come_back = mailbox.post(Order::ComeBack, None).unwrap();
        assert_eq!(mailbox.outcome(come_back), None, "after {between:?}");
        assert!(!mailbox.answer(posted) && !mailbox.answer(stand_by));
        assert_eq!(mailbox.outcome(come_back), None);
        assert_eq!(do_one(&mailbox), Order::ComeBack);
        assert_eq!(mailbox.outcome(come_back), DONE);
    }
}

#[test]
fn a_late_answer_is_not_the_next_order_s() {
    let life = running();
    let mailbox = Mailbox::new(&life);
    let late = mailbox.post(Order::OwnStack, mark("late")).unwrap();
    assert_eq!(mailbox.take_back(late), None);
    assert_eq!(mailbox.open(late), None, "its mark is told by nobody");
    let next = mailbox.post(Order::OwnStack, mark("next")).unwrap();
    mailbox.enclose(late, Leaf { process_key: [1; 16], node: 1 });
    assert!(!mailbox.answer(late));
    assert_eq!(mailbox.outcome(next), None);
    assert_eq!(mailbox.open(next), Some((own_tid(), mark("next"))));
    let leaf = Leaf { process_key: [2; 16], node: 2 };
    mailbox.enclose(next, leaf);
    assert!(mailbox.answer(next));
    assert_eq!(mailbox.outcome(next), Some(Answer::Done(Some(leaf))));
}

#[test]
fn of_answered_and_taken_back_one_is_true() {
    let life = running();
    let mailbox = Mailbox::new(&life);
    for _ in 0..1000 {
        let posted = mailbox.post(Order::StandBy, None).unwrap();
        let (taken_back, answered) = std::thread::scope(|scope| {
            let sampler = scope.spawn(|| mailbox.answer(posted));
            (mailbox.take_back(posted), sampler.join().unwrap())
        });
        assert_eq!(taken_back, answered.then_some(Answer::Done(None)));
    }
}

#[test]
fn an_order_to_end_stays_and_whoever_comes_behind_it_waits_for_the_end() {
    let life = running();
    let mailbox = Mailbox::new(&life);
    let turn = mailbox.turn(0).unwrap();
    assert_eq!(turn.ask(Order::End, None, 0), Answer::Late);
    assert_eq!(turn.ask(Order::Flush, mark(""), 0), Answer::Late);
    turn.over();
    assert_eq!(mailbox.order().map(Posted::order), Some(Order::End));
    mailbox.nobody_listens();
    assert_eq!((mailbox.order(), life.state()), (None, State::Ended));
    assert_eq!(turn.ask(Order::Flush, mark(""), u64::MAX / 2), Answer::Ended);
    assert_eq!(mailbox.order(), None, "nothing is left for the next sampler");
}

#[test]
fn a_thread_that_ends_ends_the_wait_for_its_answer() {
    let life = running();
    let mailbox = Mailbox::new(&life);
    let turn = mailbox.turn(0).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while mailbox.order().is_none() {
                std::hint::spin_loop();
            }
            mailbox.nobody_listens();
        });
        assert_eq!(turn.ask(Order::StandBy, None, u64::MAX / 2), Answer::Ended);
    });
}

#[test]
fn a_sampler_holds_still_until_the_change_is_over() {
    let life = running();
    let mailbox = Mailbox::new(&life);
    let turn = mailbox.turn(0).unwrap();
    for is_in_time in [true, false] {
        let posted = mailbox.post(Order::HoldStill, None).unwrap();
        if is_in_time {
            assert!(mailbox.answer(posted));
        } else {
            assert_eq!(mailbox.take_back(posted), None);
        }
        assert_eq!((mailbox.is_held(posted), mailbox.stands(posted)), (is_in_time, !is_in_time));
        turn.over();
        assert!(!mailbox.is_held(posted) && !mailbox.stands(posted) && !mailbox.answer(posted));
    }
}

#[test]
fn a_forked_child_finds_neither_an_order_nor_a_turn_in_any_state() {
    let life = running();
    let mailbox = Mailbox::new(&life);
    for order in ORDERS {
        for is_answered in [false, true] {
            mailbox.turn(0).unwrap().keep();
            assert!(mailbox.turn(u64::MAX / 2).is_none(), "the thread that has it does without, and does not wait");
            let posted = mailbox.post(order, None).unwrap();
            let _ = is_answered && mailbox.answer(posted);
            mailbox.forked();
            assert_eq!((mailbox.order(), mailbox.is_held(posted)), (None, false));
            assert!(mailbox.turn(0).is_some() && !mailbox.answer(posted));
        }
    }
}
