//! The mailbox: orders from the program's threads to the sampler, and its answers. It holds one order at a time.
//! Owns: the word that both sides change, what travels with an order, whose turn it is to give one. Never: waits without end, waits for a lock.
//! Partner: sampler.rs takes the orders, in one `match`.
//!
//! The word holds the order's number, its kind, and whether it is answered:
//!
//! | from     | to       | by      | when                                                                                      |
//! |----------|----------|---------|-------------------------------------------------------------------------------------------|
//! | empty    | asked    | program | a thread that has the turn gives an order                                                 |
//! | answered | asked    | program | the next order                                                                            |
//! | asked    | answered | sampler | it has done what was asked                                                                |
//! | asked    | empty    | program | nobody waits any longer: the order is taken back, unless `Order::stays`                   |
//! | asked, answered | empty | program | `Order::HoldStill` is over                                                             |
//! | any      | empty    | either  | the sampler's thread ends, or a new one begins; in a forked child                         |
//!
//! "program" is a thread that has the turn. Each order has a number of its own, and both sides change the word by compare-and-swap. So of
//! "answered" and "taken back" one is true for both sides, and no answer is ever taken for another order's.

use crate::process::bells::{self, Rest};
use crate::process::life::{LIFE, Life};
use crate::system::proc::{monotonic_ns, own_tid};
use crate::system::signals::mask;
use genba_bells::futex::{self, Reach};
use genba_format::{ProcessKey, proto};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// What the sampler shall do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Order {
    /// Say that it is there: a recording has begun.
    Greet = 1,
    /// Take back all questions, and after the answer ask nobody until the order is over: a signal handler is about to change.
    HoldStill = 2,
    /// Write what there is, behind a mark, and go on.
    Flush = 3,
    /// The same, after a look at the thread that gives the order.
    OwnStack = 4,
    /// Look at nothing until `ComeBack`; other orders are done meanwhile.
    StandBy = 5,
    ComeBack = 6,
    /// End the thread, keep everything: the process is about to fork.
    Park = 7,
    /// Write the last block and end.
    End = 8,
}

const ORDERS: [Order; 8] = [
    Order::Greet,
    Order::HoldStill,
    Order::Flush,
    Order::OwnStack,
    Order::StandBy,
    Order::ComeBack,
    Order::Park,
    Order::End,
];

impl Order {
    /// The order holds although the caller waits no longer: until `Turn::over`, or for good.
    const fn stays(self) -> bool {
        matches!(self, Order::HoldStill | Order::End)
    }
}

/// What an order came to, for the thread that gave it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The stack: for `Order::OwnStack`, if it could be seen.
    Done(Option<Leaf>),
    /// Not in time.
    Late,
    /// There is no sampler's thread that could do it.
    Ended,
}

/// A stack, by its process's key and its leaf node (index + 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    pub process_key: ProcessKey,
    pub node: u32,
}

/// What a flush says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    pub kind: proto::MarkKind,
    pub text: String,
}

impl Mark {
    /// `None`: without memory there is no mark. This runs on the program's threads.
    #[must_use]
    pub fn new(kind: proto::MarkKind, words: &str) -> Option<Mark> {
        let mut text = String::new();
        text.try_reserve_exact(words.len()).ok()?;
        text.push_str(words);
        Some(Mark { kind, text })
    }
}

/// What travels with an order, both ways. Both sides only try the lock.
#[derive(Debug)]
struct Letter {
    /// The order that this belongs to.
    posted: Posted,
    /// The thread that gave it.
    from: u32,
    mark: Option<Mark>,
    found: Option<Leaf>,
}

/// The word of the mailbox with an order in it, not answered: its number and its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Posted(u32);

const KIND: u32 = 0b1111;
const ANSWERED: u32 = 1 << 4;
/// The next number.
const NEXT: u32 = 1 << 5;

impl Posted {
    fn of(word: u32) -> Option<Posted> {
        (word & KIND != 0 && word & ANSWERED == 0).then_some(Posted(word))
    }

    #[must_use]
    pub fn order(self) -> Order {
        ORDERS[(self.0 & KIND) as usize - 1]
    }

    const fn answered(self) -> u32 {
        self.0 | ANSWERED
    }
}

/// The word of an empty mailbox, with the number after that of `word`.
const fn emptied(word: u32) -> u32 {
    (word & !(KIND | ANSWERED)).wrapping_add(NEXT)
}

pub struct Mailbox<'a> {
    life: &'a Life,
    word: AtomicU32,
    letter: Mutex<Letter>,
    /// The thread that has the turn; 0: nobody.
    turn: AtomicU32,
}

/// This process's.
pub static MAILBOX: Mailbox<'static> = Mailbox::new(&LIFE);

/// The side of the program's threads.
impl Mailbox<'_> {
    const fn new(life: &Life) -> Mailbox<'_> {
        let letter = Letter { posted: Posted(0), from: 0, mark: None, found: None };
        Mailbox { life, word: AtomicU32::new(0), letter: Mutex::new(letter), turn: AtomicU32::new(0) }
    }

    /// Waits for the turn, at most `wait_ns_max`. `None` also for a signal handler that interrupted the thread which has it:
    /// then the caller does without.
    #[must_use]
    pub fn turn(&self, wait_ns_max: u64) -> Option<Turn<'_>> {
        let own = own_tid();
        let deadline_ns = monotonic_ns() + wait_ns_max;
        loop {
            let blocked = mask::of_turn() & !mask::in_kernel(libc::SIG_BLOCK, mask::of_turn());
            if self.turn.compare_exchange(0, own, SeqCst, SeqCst).is_ok() {
                return Some(Turn { mailbox: self, blocked });
            }
            mask::in_kernel(libc::SIG_UNBLOCK, blocked);
            let holder = self.turn.load(SeqCst);
            if holder == own || monotonic_ns() >= deadline_ns {
                return None;
            }
            if holder != 0 {
                futex::wait(&self.turn, holder, deadline_ns, Reach::Process);
            }
        }
    }

    /// Ends the turn of this thread, also one that it kept.
    pub fn give_back(&self) {
        self.turn.store(0, SeqCst);
        futex::wake(&self.turn, Reach::Process);
    }

    /// No order, and no thread that waits for an answer: before a sampler's thread begins.
    pub fn empty(&self) {
        let _ = self.word.fetch_update(SeqCst, SeqCst, |word| Some(emptied(word)));
        futex::wake(&self.word, Reach::Process);
    }

    /// In a forked child: whoever had the turn is not there any more, and nobody waits. The letter may be locked for good: then marks
    /// are refused here.
    pub fn forked(&self) {
        self.empty();
        self.turn.store(0, SeqCst);
    }

    /// Leaves an order. `None`: its mark cannot be left. An order to end is never replaced: whoever comes behind it waits for that end.
    fn post(&self, order: Order, mut mark: Option<Mark>) -> Option<Posted> {
        let has_letter = mark.is_some();
        // The sampler's thread may empty the mailbox meanwhile.
        loop {
            let before = self.word.load(SeqCst);
            if let Some(end) = Posted::of(before).filter(|posted| posted.order() == Order::End) {
                return Some(end);
            }
            let posted = Posted(emptied(before) | order as u32);
            if has_letter {
                let mut letter = self.letter.try_lock().ok()?;
                (letter.posted, letter.from, letter.found) = (posted, own_tid(), None);
                letter.mark = mark.take().or_else(|| letter.mark.take());
            }
            if self.word.compare_exchange(before, posted.0, SeqCst, SeqCst).is_ok() {
                bells::ring_own();
                return Some(posted);
            }
        }
    }

    /// What became of an order so far. `None`: nothing yet.
    fn outcome(&self, posted: Posted) -> Option<Answer> {
        let word = self.word.load(SeqCst);
        if word == posted.answered() {
            return Some(Answer::Done(self.found(posted)));
        }
        // SeqCst: a thread that ends changes its life first and the word second. Of an order that it has not seen, one of the two tells.
        (word != posted.0 || !self.life.has_thread()).then_some(Answer::Ended)
    }

    fn found(&self, posted: Posted) -> Option<Leaf> {
        self.letter.try_lock().ok().filter(|letter| letter.posted == posted)?.found.take()
    }

    /// Nobody waits for it any more. `Some`: it was answered just now.
    fn take_back(&self, posted: Posted) -> Option<Answer> {
        if posted.order().stays() {
            return None;
        }
        let taken = self.word.compare_exchange(posted.0, emptied(posted.0), SeqCst, SeqCst).is_ok();
        if !taken {
            return self.outcome(posted);
        }
        if let Some(mut letter) = self.letter.try_lock().ok().filter(|letter| letter.posted == posted) {
            letter.mark = None;
        }
        None
    }
}

/// The sampler's side.
impl Mailbox<'_> {
    /// The order that is to be done.
    #[must_use]
    pub fn order(&self) -> Option<Posted> {
        Posted::of(self.word.load(SeqCst))
    }

    /// Somebody waits for this order, or it holds without that.
    #[must_use]
    pub fn stands(&self, posted: Posted) -> bool {
        self.word.load(SeqCst) == posted.0
    }

    /// It is answered, and not over yet.
    #[must_use]
    pub fn is_held(&self, posted: Posted) -> bool {
        self.word.load(SeqCst) == posted.answered()
    }

    /// Who gave the order, and what a flush says. `None`: the order was taken back.
    #[must_use]
    pub fn open(&self, posted: Posted) -> Option<(u32, Option<Mark>)> {
        let mut letter = self.letter.try_lock().ok().filter(|letter| letter.posted == posted && self.stands(posted))?;
        Some((letter.from, letter.mark.take()))
    }

    /// What was found belongs to the answer.
    pub fn enclose(&self, posted: Posted, leaf: Leaf) {
        if let Some(mut letter) = self.letter.try_lock().ok().filter(|letter| letter.posted == posted) {
            letter.found = Some(leaf);
        }
    }

    /// It is done. False: nobody waits for it any more, and nobody was told.
    pub fn answer(&self, posted: Posted) -> bool {
        let answered = self.word.compare_exchange(posted.0, posted.answered(), SeqCst, SeqCst).is_ok();
        if answered {
            futex::wake(&self.word, Reach::Process);
        }
        answered
    }

    /// The sampler's thread ends, and does no order any more.
    pub fn nobody_listens(&self) {
        self.life.thread_leaves();
        self.empty();
    }

    /// The sampler's sleep: until `deadline_ns` (CLOCK_MONOTONIC) or an order. A killer's question ends it, too.
    pub fn sleep_until(&self, deadline_ns: u64) {
        bells::sleep_until(deadline_ns, || self.order().is_none() && bells::question().is_none());
    }

    /// The same, but the alarm's signal ends it, too (bells.rs).
    pub fn rest_until(&self, deadline_ns: u64) -> Rest {
        bells::rest_until(deadline_ns, || self.order().is_none() && bells::question().is_none())
    }

    /// The sampler's sleep in the middle of an order: until `deadline_ns`, or while `is_so`.
    pub fn sleep_while(&self, deadline_ns: u64, is_so: impl FnOnce() -> bool) {
        bells::sleep_until(deadline_ns, is_so);
    }
}

/// The right to give orders: one thread of the program at a time, so that no order is replaced before it is done. Handlers of the program's
/// wait meanwhile: one that left by `siglongjmp` would leave the turn taken for good.
pub struct Turn<'a> {
    mailbox: &'a Mailbox<'a>,
    /// What waits for the turn alone. The rest of the mask may change meanwhile: SIGURG's does when genba gives it up.
    blocked: u64,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.mailbox.give_back();
        mask::in_kernel(libc::SIG_UNBLOCK, self.blocked);
    }
}

impl Turn<'_> {
    /// Gives an order and waits for its answer, at most `wait_ns_max`. An order that is late is taken back, unless `Order::stays`.
    #[must_use]
    pub fn ask(&self, order: Order, mark: Option<Mark>, wait_ns_max: u64) -> Answer {
        let deadline_ns = monotonic_ns() + wait_ns_max;
        let Some(posted) = self.mailbox.post(order, mark) else { return Answer::Late };
        loop {
            match self.mailbox.outcome(posted) {
                // The sampler that is there next must not find it.
                Some(Answer::Ended) => return self.mailbox.take_back(posted).unwrap_or(Answer::Ended),
                Some(answer) => return answer,
                None if monotonic_ns() >= deadline_ns => return self.mailbox.take_back(posted).unwrap_or(Answer::Late),
                None => futex::wait(&self.mailbox.word, posted.0, deadline_ns, Reach::Process),
            }
        }
    }

    /// `Order::HoldStill` is over, answered or not.
    pub fn over(&self) {
        let is_end = |word: u32| Posted::of(word).is_some_and(|posted| posted.order() == Order::End);
        let _ = self.mailbox.word.fetch_update(SeqCst, SeqCst, |word| (!is_end(word)).then_some(emptied(word)));
        bells::ring_own();
    }

    /// Keeps the turn until `give_back` by the same thread, whose handlers of signals run again.
    pub fn keep(self) {
        mask::in_kernel(libc::SIG_UNBLOCK, self.blocked);
        std::mem::forget(self);
    }
}

#[cfg(test)]
mod tests;
