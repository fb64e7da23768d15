//! Both laws over the table of (clock, state, answer): a program's life in values, and a book that adds up what is written.
//! Over 500 lines: one life and one book, for all tables.

use super::{Extension, Found, Ledger, Moment, RUNS, Unsampled, WAITS, WaitingSample, Why};
use crate::writing::outcomes::{Dropped, Refused};
use crate::writing::recorder::Sample;
use genba_format::QUANTUM_NS;
use genba_format::state::State;
use proptest::collection::vec;
use proptest::prelude::*;

const START_NS: u64 = 7_000_000_123;
/// About one: whole quanta, so that nothing is carried where that is not the question.
const MILLISECOND_NS: u64 = 1_000_000 / QUANTUM_NS * QUANTUM_NS;
const RUNNING: State = State::Running;
const WAITING_FOR_CPU: State = State::WaitingForCpu;
const ASLEEP: State = State::Asleep;

/// What a recorder adds up.
#[derive(Default)]
struct Book {
    looks: u64,
    samples: Vec<Sample>,
    lost: Vec<(Why, u64)>,
    wall_not_sampled_ns: u64,
    /// Samples of this block begin here.
    block: usize,
}

impl Book {
    fn unsampled(&mut self, unsampled: Unsampled) {
        self.lost.push((unsampled.why, unsampled.ticks));
        self.wall_not_sampled_ns += unsampled.wall_ns;
    }

    fn extend(&mut self, extension: Option<Extension>) {
        let Some(Extension { position, more }) = extension else { return };
        let sample = &mut self.samples[self.block + position];
        sample.ticks += more.ticks;
        sample.cpu_quanta += more.cpu_quanta;
        sample.wall_quanta += more.wall_quanta;
        sample.end_ns = more.end_ns.unwrap_or(sample.end_ns);
    }

    fn sum(&self, of: impl Fn(&Sample) -> u64) -> u64 {
        self.samples.iter().map(of).sum()
    }
}

/// A thread, its two clocks, and the sampler's side of its looks.
struct Life {
    book: Book,
    ledger: Ledger,
    now_ns: u64,
    cpu_ns: u64,
    /// In no sample: of threads before, and of pauses.
    cpu_elsewhere_ns: u64,
    cpu_ended_ns: u64,
    open: Option<(Moment, u32)>,
    wall_from_ns: u64,
    /// Told of threads before.
    wall_before_ns: u64,
    /// The moment of the last look that has ended.
    looked_ns: u64,
}

impl Life {
    fn new(cpu_ns: u64) -> Life {
        Life {
            book: Book::default(),
            ledger: Ledger::new(START_NS, cpu_ns),
            now_ns: START_NS,
            cpu_ns,
            cpu_elsewhere_ns: 0,
            cpu_ended_ns: 0,
            open: None,
            wall_from_ns: START_NS.next_multiple_of(QUANTUM_NS),
            wall_before_ns: 0,
            looked_ns: 0,
        }
    }

    fn passes(&mut self, wall_ns: u64, cpu_ns: u64) {
        self.now_ns += wall_ns;
        self.cpu_ns += cpu_ns;
    }

    fn look(&mut self) -> Option<u64> {
        self.book.looks += 1;
        self.ledger.advance(self.cpu_ns)
    }

    /// A look at a thread that runs: the question is left open, or has one tick more.
    fn ask(&mut self) {
        self.look();
        self.end_wait();
        let at = Moment::new(self.now_ns, self.cpu_ns);
        self.open = Some(self.open.map_or((at, 1), |(at, ticks)| (at, ticks + 1)));
    }

    fn answer(&mut self, waited: bool) {
        let Some((at, ticks)) = self.open.take() else { return };
        let state = if waited { WAITING_FOR_CPU } else { RUNNING };
        let extension = if waited { self.ledger.ran_until(at.0[0]) } else { self.ledger.went_on(at) };
        self.book.extend(extension);
        let found = Found { thread: 0, node: 0, state, ticks };
        let sample = self.ledger.sample(if waited { WAITS } else { RUNS }, at, found);
        self.looked_ns = self.looked_ns.max(at.0[1]);
        self.book.samples.push(sample);
        if !waited {
            self.ledger.ran_at(self.book.samples.len() - 1 - self.book.block, at);
        }
    }

    fn take_back(&mut self) {
        if let Some((_, ticks)) = self.open.take() {
            let unsampled = self.ledger.lose(Why::Refused(Refused::Unanswered), u64::from(ticks), self.now_ns);
            self.looked_ns = self.now_ns;
            self.book.unsampled(unsampled);
        }
    }

    fn waits(&mut self, state: State) {
        if self.look() != Some(0) {
            self.end_wait();
        }
        self.take_back();
        let extension = self.ledger.ran_until(self.ledger.cpu_ns());
        self.book.extend(extension);
        if self.ledger.still().is_some_and(|still| still.state != state) {
            self.end_wait();
        }
        if self.ledger.still().is_none() {
            let (began_ns, end_ns) = (self.now_ns, self.now_ns);
            let (on, lock_owner, node, context_version) = (None, None, 0, 0);
            let (ticks, wall_quanta) = (0, 0);
            let still = WaitingSample {
                state,
                on,
                lock_owner,
                node,
                ticks,
                wall_quanta,
                end_ns,
                began_ns,
                context_version,
                cut_at: None,
            };
            self.ledger.wait(still);
        }
        self.ledger.waits_until(self.now_ns);
        self.looked_ns = self.now_ns;
    }

    /// A glance found the clock standing still, and becomes a look.
    fn glance(&mut self) {
        if self.ledger.still().is_some() {
            self.ledger.waits_until(self.now_ns);
            self.book.looks += 1;
        }
    }

    fn lose(&mut self, why: Why, ticks: u64) {
        self.book.looks += ticks;
        let unsampled = self.ledger.lose(why, ticks, self.now_ns);
        self.looked_ns = self.now_ns;
        self.book.unsampled(unsampled);
    }

    fn end_wait(&mut self) {
        self.book.samples.extend(self.ledger.end_wait().map(|still| still.sample(0)));
    }

    fn flush(&mut self) {
        let still = self.ledger.still();
        self.end_wait();
        self.ledger.end_block(still);
        self.book.block = self.book.samples.len();
    }

    /// The whole process was stopped: counted as one look, and no time of it is in a sample.
    fn stop(&mut self, wall_ns: u64) {
        self.glance();
        self.end_wait();
        let extension = self.ledger.ran_until(self.ledger.cpu_ns());
        self.book.extend(extension);
        self.passes(wall_ns, 0);
        self.lose(Why::Dropped(Dropped::Stopped), 1);
    }

    fn pause(&mut self, wall_ns: u64, cpu_ns: u64) {
        self.take_back();
        self.flush();
        self.passes(wall_ns, cpu_ns);
        self.cpu_elsewhere_ns += self.ledger.cpu_carried_ns() + (self.cpu_ns - self.ledger.cpu_ns());
        self.book.wall_not_sampled_ns += self.ledger.skip(self.now_ns, self.cpu_ns);
        self.looked_ns = self.now_ns;
        self.ledger.forget_wait();
    }

    /// The thread ends between two looks, and another one gets its id. What the first one did after its last look nobody knows.
    fn is_replaced(&mut self, cpu_ns: u64) {
        self.end_wait();
        self.take_back();
        self.cpu_ended_ns += self.ledger.cpu_ns();
        self.cpu_elsewhere_ns += self.ledger.cpu_not_sampled_ns();
        self.wall_before_ns = self.wall_told_ns();
        self.wall_from_ns = self.now_ns.next_multiple_of(QUANTUM_NS);
        self.ledger = Ledger::new(self.now_ns, 0);
        self.cpu_ns = cpu_ns;
        self.book.block = self.book.samples.len();
    }

    /// It tells its clock when it ends, and another thread gets its id.
    fn tells_its_end(&mut self) {
        self.end_wait();
        self.take_back();
        self.ledger.advance(self.cpu_ns);
        let extension = self.ledger.ended(Moment::new(self.now_ns, self.cpu_ns), 1);
        self.book.looks += u64::from(extension.is_some());
        self.book.extend(extension);
        self.laws_hold();
        self.is_replaced(0);
    }

    fn wall_told_ns(&self) -> u64 {
        let still = self.ledger.still().map_or(0, |still| still.wall_quanta);
        (self.book.sum(|sample| sample.wall_quanta) + still) * QUANTUM_NS + self.book.wall_not_sampled_ns
    }

    fn laws_hold(&self) {
        let ended: u64 = self.book.lost.iter().map(|(_, ticks)| ticks).sum();
        let still = self.ledger.still().filter(|still| still.ticks > 0);
        let pending =
            still.map_or(0, |still| u64::from(still.ticks)) + self.open.map_or(0, |(_, ticks)| u64::from(ticks));
        let sampled = self.book.sum(|sample| u64::from(sample.ticks));
        assert_eq!(self.book.looks, sampled + ended + pending, "law 1");
        let cpu_ns = self.book.sum(|sample| sample.cpu_quanta) * QUANTUM_NS;
        let carried_ns = self.ledger.cpu_not_sampled_ns() + self.cpu_elsewhere_ns;
        assert_eq!(self.cpu_ended_ns + self.ledger.cpu_ns(), cpu_ns + carried_ns, "law 2");
        let wall_ns = self.wall_told_ns() - self.wall_before_ns;
        assert_eq!(self.wall_from_ns + wall_ns, self.ledger.credited[1], "the wall time");
        assert!(self.ledger.credited[1] + QUANTUM_NS > self.looked_ns, "all time up to a look is told");
        assert!(
            self.ledger.credited[1] <= self.now_ns.max(self.wall_from_ns),
            "no time is credited before it has passed"
        );
    }
}

#[test]
fn seen_running_twice_the_time_between_is_shared() {
    let mut life = Life::new(0);
    for _ in 0..2 {
        life.passes(4 * MILLISECOND_NS, 3 * MILLISECOND_NS);
        life.ask();
        life.laws_hold();
        life.answer(false);
        life.laws_hold();
    }
    let cpu_ns = |sample: &Sample| sample.cpu_quanta * QUANTUM_NS;
    let all: Vec<u64> = life.book.samples.iter().map(cpu_ns).collect();
    assert_eq!(all, [MILLISECOND_NS * 9 / 2, MILLISECOND_NS * 3 / 2]);
    assert_eq!(life.ledger.cpu_not_sampled_ns(), 0);
}

#[test]
fn of_the_wall_time_between_two_samples_each_has_its_half() {
    let mut life = Life::new(0);
    let from_ns = START_NS.next_multiple_of(QUANTUM_NS) - START_NS;
    life.passes(from_ns, 0);
    for _ in 0..2 {
        life.passes(4 * MILLISECOND_NS, 3 * MILLISECOND_NS);
        life.ask();
        life.answer(false);
    }
    let told = |sample: &Sample| (sample.wall_quanta * QUANTUM_NS, sample.end_ns - START_NS - from_ns);
    let all: Vec<_> = life.book.samples.iter().map(told).collect();
    assert_eq!(all, [(6 * MILLISECOND_NS, 6 * MILLISECOND_NS), (2 * MILLISECOND_NS, 8 * MILLISECOND_NS)]);
}

#[test]
fn what_is_skipped_is_added_to_no_sample() {
    let mut life = Life::new(0);
    life.passes(MILLISECOND_NS, MILLISECOND_NS);
    life.ask();
    life.answer(false);
    life.passes(MILLISECOND_NS, MILLISECOND_NS);
    life.ledger.skip(life.now_ns, life.cpu_ns);
    assert!(life.ledger.ran_until(life.cpu_ns + MILLISECOND_NS).is_none());
}

#[test]
fn what_was_run_before_a_wait_belongs_to_the_sample_that_ran() {
    let mut life = Life::new(0);
    life.passes(MILLISECOND_NS, MILLISECOND_NS);
    life.ask();
    life.answer(false);
    life.passes(MILLISECOND_NS, MILLISECOND_NS / 2);
    life.waits(ASLEEP);
    life.passes(MILLISECOND_NS, 0);
    life.waits(ASLEEP);
    life.flush();
    life.laws_hold();
    let all: Vec<_> = life.book.samples.iter().map(|sample| (sample.state, sample.ticks, sample.cpu_quanta)).collect();
    let quanta = |ns: u64| ns / QUANTUM_NS;
    assert_eq!(all, [(RUNNING, 1, quanta(MILLISECOND_NS * 3 / 2)), (ASLEEP, 2, 0)]);
}

#[test]
fn of_a_thread_that_waited_for_a_cpu_no_cpu_is_in_its_sample() {
    let mut life = Life::new(0);
    life.passes(5 * MILLISECOND_NS, 2 * MILLISECOND_NS);
    life.ask();
    life.answer(true);
    life.laws_hold();
    assert_eq!((life.book.samples[0].cpu_quanta, life.ledger.cpu_not_sampled_ns()), (0, 2 * MILLISECOND_NS));
    // It is carried to the next one.
    life.passes(MILLISECOND_NS, MILLISECOND_NS);
    life.ask();
    life.answer(false);
    assert_eq!(life.ledger.cpu_not_sampled_ns(), 0);
    life.laws_hold();
}

#[test]
fn a_lost_look_carries_its_cpu_and_tells_its_wall_time() {
    for why in [Why::Dropped(Dropped::NoBuffer), Why::Refused(Refused::Moved), Why::Refused(Refused::Unreadable)] {
        let mut life = Life::new(0);
        life.passes(10 * MILLISECOND_NS, 6 * MILLISECOND_NS);
        life.ledger.advance(life.cpu_ns);
        life.lose(why, 1);
        life.laws_hold();
        let carried_ns = (life.ledger.cpu_not_sampled_ns(), life.ledger.cpu_carried_ns());
        assert_eq!(carried_ns, (6 * MILLISECOND_NS, 6 * MILLISECOND_NS));
        assert!(life.book.wall_not_sampled_ns > 10 * MILLISECOND_NS - 2 * QUANTUM_NS);
    }
}

#[test]
fn what_a_thread_runs_that_cannot_be_asked_is_in_no_later_sample() {
    for why in [Refused::SignalTaken, Refused::NoSignalStack, Refused::Masked].map(Why::Refused) {
        let mut life = Life::new(0);
        life.passes(MILLISECOND_NS, MILLISECOND_NS);
        life.ask();
        life.answer(false);
        assert!(!life.ledger.gave_up());
        for _ in 0..5 {
            life.passes(10 * MILLISECOND_NS, 6 * MILLISECOND_NS);
            life.ledger.advance(life.cpu_ns);
            life.lose(why, 1);
            life.laws_hold();
        }
        let carried_ns = (life.ledger.cpu_not_sampled_ns(), life.ledger.cpu_carried_ns());
        assert_eq!((life.ledger.gave_up(), carried_ns), (true, (30 * MILLISECOND_NS, 0)));
        // Then it can be asked again.
        life.passes(2 * MILLISECOND_NS, 2 * MILLISECOND_NS);
        life.ask();
        life.answer(false);
        let cpu_ns: Vec<u64> = life.book.samples.iter().map(|sample| sample.cpu_quanta * QUANTUM_NS).collect();
        assert_eq!(cpu_ns, [MILLISECOND_NS, 2 * MILLISECOND_NS]);
        life.laws_hold();
    }
}

#[test]
fn what_was_run_until_the_end_belongs_to_the_sample_that_ran() {
    let mut life = Life::new(0);
    life.passes(MILLISECOND_NS, MILLISECOND_NS);
    life.ask();
    life.answer(false);
    life.passes(2 * MILLISECOND_NS, MILLISECOND_NS);
    life.tells_its_end();
    let told = life.book.samples.iter().map(|it| (it.ticks, it.cpu_quanta * QUANTUM_NS, it.end_ns - START_NS));
    assert_eq!(told.collect::<Vec<_>>(), [(2, 2 * MILLISECOND_NS, 3 * MILLISECOND_NS)]);
    // The next one has no sample: nothing tells its end.
    life.passes(MILLISECOND_NS, MILLISECOND_NS);
    life.tells_its_end();
    assert_eq!((life.book.samples.len(), life.cpu_elsewhere_ns), (1, MILLISECOND_NS));
    life.laws_hold();
}

#[test]
fn a_question_counts_each_tick_that_finds_it_open() {
    let mut life = Life::new(0);
    for _ in 0..3 {
        life.passes(MILLISECOND_NS, MILLISECOND_NS);
        life.ask();
        life.laws_hold();
    }
    life.answer(false);
    life.laws_hold();
    assert_eq!(life.book.samples[0].ticks, 3);
    // The answer is of the moment of the question: what was run since is carried.
    assert_eq!(life.ledger.cpu_not_sampled_ns(), 2 * MILLISECOND_NS);
    life.take_back();
    life.laws_hold();
}

#[test]
fn a_block_takes_what_there_is_of_a_wait_and_adds_to_no_sample_before() {
    let mut life = Life::new(0);
    life.passes(MILLISECOND_NS, MILLISECOND_NS);
    life.ask();
    life.answer(false);
    life.flush();
    life.passes(MILLISECOND_NS, MILLISECOND_NS);
    let before = life.book.samples[0];
    life.waits(ASLEEP);
    assert_eq!(life.book.samples[0].cpu_quanta, before.cpu_quanta);
    assert_eq!(life.ledger.cpu_not_sampled_ns(), MILLISECOND_NS);
    let began_ns = life.now_ns;
    life.flush();
    // Nothing new: nothing is written.
    life.flush();
    assert_eq!(life.book.samples.len(), 2);
    let still = life.ledger.still().unwrap();
    assert_eq!((still.ticks, still.wall_quanta, still.began_ns), (0, 0, began_ns));
    life.laws_hold();
}

#[test]
fn a_wait_that_a_block_leaves_out_is_whole_in_the_next_one() {
    let mut life = Life::new(0);
    life.passes(MILLISECOND_NS, MILLISECOND_NS);
    life.ask();
    life.answer(false);
    life.passes(MILLISECOND_NS, 0);
    life.waits(ASLEEP);
    life.passes(MILLISECOND_NS, 0);
    life.waits(ASLEEP);
    life.ledger.end_block_in_wait();
    life.book.block = life.book.samples.len();
    life.laws_hold();
    // What ran before it is written.
    assert!(life.ledger.ran_until(life.ledger.cpu_ns() + MILLISECOND_NS).is_none());
    life.passes(MILLISECOND_NS, 0);
    life.waits(ASLEEP);
    life.flush();
    assert_eq!((life.book.samples.len(), life.book.samples[1].ticks), (2, 3));
    life.laws_hold();
}

#[test]
fn a_wait_goes_on_whose_context_is_forgotten() {
    let mut life = Life::new(0);
    // Nothing waits.
    life.ledger.forget_context();
    assert!(life.ledger.still().is_none());
    life.waits(ASLEEP);
    let still = life.ledger.still().unwrap();
    life.ledger.wait(WaitingSample { context_version: 7, ..still });
    life.passes(MILLISECOND_NS, 0);
    life.waits(ASLEEP);
    life.flush();
    assert_eq!(life.ledger.still().unwrap().context_version, 7, "a block ends no wait");
    life.ledger.forget_context();
    life.passes(MILLISECOND_NS, 0);
    life.waits(ASLEEP);
    let still = life.ledger.still().unwrap();
    assert_eq!((still.context_version, still.state, still.ticks), (0, ASLEEP, 1));
    assert_eq!(still.wall_quanta, MILLISECOND_NS / QUANTUM_NS);
    life.laws_hold();
}

#[test]
fn a_stop_and_a_pause_are_in_no_sample() {
    for stopped in [true, false] {
        let mut life = Life::new(0);
        life.passes(MILLISECOND_NS, MILLISECOND_NS);
        life.ask();
        life.answer(false);
        let before = life.book.sum(|sample| sample.wall_quanta);
        if stopped {
            life.stop(3_000 * MILLISECOND_NS);
        } else {
            life.pause(3_000 * MILLISECOND_NS, 100 * MILLISECOND_NS);
        }
        life.laws_hold();
        life.passes(MILLISECOND_NS, MILLISECOND_NS);
        life.ask();
        life.answer(false);
        life.laws_hold();
        let after_ns = (life.book.sum(|sample| sample.wall_quanta) - before) * QUANTUM_NS;
        assert!(after_ns <= MILLISECOND_NS + QUANTUM_NS, "{after_ns}");
        assert!(life.book.wall_not_sampled_ns > 2_999 * MILLISECOND_NS);
    }
}

#[test]
fn a_clock_that_goes_back_is_another_threads() {
    let mut life = Life::new(9 * MILLISECOND_NS);
    assert_eq!(life.ledger.advance(9 * MILLISECOND_NS), Some(0));
    assert_eq!(life.ledger.advance(9 * MILLISECOND_NS - 1), None);
    // The clock of the thread before stays as its last look left it.
    assert_eq!(life.ledger.cpu_ns(), 9 * MILLISECOND_NS);
    life.is_replaced(MILLISECOND_NS);
    assert_eq!(life.look(), Some(MILLISECOND_NS));
    life.lose(Why::Refused(Refused::Ended), 0);
    assert_eq!(life.ledger.cpu_not_sampled_ns(), MILLISECOND_NS);
}

#[test]
fn what_a_thread_used_before_the_recording_is_in_none_of_it() {
    let credited = |from_ns| {
        let mut ledger = Ledger::new(START_NS, 50);
        ledger.begin_at(from_ns);
        ledger.cpu_not_sampled_ns()
    };
    assert_eq!([u64::MAX, 20, 0].map(credited), [0, 30, 50]);
}

#[test]
fn remainders_are_carried_until_they_are_a_quantum() {
    let mut life = Life::new(0);
    for _ in 0..10 * QUANTUM_NS / 1_000 {
        life.passes(1_000, 1_000);
        life.ask();
        life.answer(false);
        life.laws_hold();
        assert!(life.ledger.cpu_not_sampled_ns() < QUANTUM_NS);
    }
    assert_eq!(life.book.sum(|sample| sample.cpu_quanta), 10);
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Passes(u64, u64),
    Ask,
    Answer(bool),
    TakeBack,
    Waits(State),
    Glance,
    Lose(Why, u64),
    Flush,
    Stop(u64),
    Pause(u64, u64),
    Replaced(u64),
    Ends,
}

fn event() -> impl Strategy<Value = Event> {
    let time = || (0..20 * MILLISECOND_NS, 0..=100_u64);
    prop_oneof![
        6 => time().prop_map(|(ns, percent)| Event::Passes(ns, ns * percent / 100)),
        4 => Just(Event::Ask),
        4 => any::<bool>().prop_map(Event::Answer),
        1 => Just(Event::TakeBack),
        4 => prop_oneof![Just(WAITING_FOR_CPU), Just(ASLEEP)].prop_map(Event::Waits),
        2 => Just(Event::Glance),
        1 => (prop_oneof![Just(Why::Dropped(Dropped::Late)), Just(Why::Refused(Refused::SignalTaken))], 1..5_u64)
            .prop_map(|(why, ticks)| Event::Lose(why, ticks)),
        1 => Just(Event::Flush),
        1 => (0..5_000 * MILLISECOND_NS).prop_map(Event::Stop),
        1 => time().prop_map(|(ns, percent)| Event::Pause(ns, ns * percent / 100)),
        1 => (0..MILLISECOND_NS).prop_map(Event::Replaced),
        1 => Just(Event::Ends),
    ]
}

proptest! {
    #[test]
    fn both_laws_hold_whatever_comes_in_which_order(events in vec(event(), 0..200)) {
        let mut life = Life::new(0);
        for event in events {
            match event {
                Event::Passes(wall_ns, cpu_ns) => life.passes(wall_ns, cpu_ns),
                Event::Ask => life.ask(),
                Event::Answer(waited) => life.answer(waited),
                Event::TakeBack => life.take_back(),
                Event::Waits(state) => life.waits(state),
                Event::Glance => life.glance(),
                Event::Lose(why, ticks) => life.lose(why, ticks),
                Event::Flush => life.flush(),
                Event::Stop(wall_ns) => life.stop(wall_ns),
                Event::Pause(wall_ns, cpu_ns) => life.pause(wall_ns, cpu_ns),
                Event::Replaced(cpu_ns) => life.is_replaced(cpu_ns),
                Event::Ends => life.tells_its_end(),
            }
            life.laws_hold();
        }
    }
}

#[test]
fn a_thread_that_began_since_the_tick_before_has_run_since_then() {
    let met = |begins: bool| {
        let mut ledger = Ledger::new(QUANTUM_NS, 700_000);
        if begins {
            ledger.begins();
        }
        let ran_ns = ledger.advance(700_000);
        (ran_ns, ledger.cpu_not_sampled_ns())
    };
    assert_eq!((met(true), met(false)), ((Some(700_000), 700_000), (Some(0), 700_000)));
}
