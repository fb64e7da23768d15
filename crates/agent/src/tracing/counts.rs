//! One thread's calls: the stack of those that are under way, and what those that have ended add up to.
//! Owns: the arithmetic of calls, primitive calls, own and total time, and of coroutines' waits. Never: reads a clock, takes memory that it can do without.
//! Times are in ticks of whatever clock its caller has (clock.rs).
//!
//! As cProfile counts: a call counts when it ends; a call is primitive when no other one of the same function was under way; only primitive
//! calls add to the total time. Source: CPython Modules/_lsprof.c, `initContext` and `Stop`.

use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// A function's place in the process's table.
pub type Index = u32;

/// A function's place in a thread's table, which has those alone that this thread has called: a process may have thousands of both.
type Place = u32;

/// What the calls of a function, or of a function by one caller, add up to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    pub calls: u64,
    pub recursive_calls: u64,
    pub own_ticks: u64,
    pub total_ticks: u64,
    /// Calls under way.
    depth: u32,
}

impl Totals {
    #[inline]
    fn ends(&mut self, total_ticks: u64, own_ticks: u64) {
        self.calls += 1;
        self.own_ticks += own_ticks;
        self.depth = self.depth.wrapping_sub(1);
        if self.depth == 0 {
            self.total_ticks += total_ticks;
        } else {
            self.recursive_calls += 1;
        }
    }

    pub fn add(&mut self, other: &Totals) {
        self.calls += other.calls;
        self.recursive_calls += other.recursive_calls;
        self.own_ticks += other.own_ticks;
        self.total_ticks += other.total_ticks;
    }
}

/// How long coroutines of one function waited, each from an `await` that did not go on to where it went on. All of a function's coroutines are one
/// sum, so none has to be told from another: the times at which they went on less those at which they began to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waits {
    pub awaits: u64,
    /// Those that wait now.
    pub waiting: u64,
    /// Wraps: less than nothing while some wait.
    pub waited_ticks: u64,
    /// The first place in the function's code at which one of them has waited.
    pub first_place: u32,
}

impl Waits {
    pub fn begin(&mut self, now_ticks: u64, place: u32) {
        self.first_place = if self.awaits == 0 { place } else { self.first_place.min(place) };
        self.awaits += 1;
        self.waiting += 1;
        self.waited_ticks = self.waited_ticks.wrapping_sub(now_ticks);
    }

    /// One that began to wait before anything was counted is passed over where no other one waits.
    pub fn end(&mut self, now_ticks: u64) {
        if self.waiting > 0 {
            self.waiting -= 1;
            self.waited_ticks = self.waited_ticks.wrapping_add(now_ticks);
        }
    }

    /// An exception came from outside to this place. A coroutine that was cancelled before its first step gets it at its very beginning, and did not wait.
    pub fn thrown(&mut self, now_ticks: u64, place: u32) {
        if place >= self.first_place {
            self.end(now_ticks);
        }
    }

    /// As if all that wait had waited until now. The counters of two processors may differ by some ticks.
    pub fn ended(self, now_ticks: u64) -> Waits {
        let waited_ticks = self.waited_ticks.wrapping_add(self.waiting.wrapping_mul(now_ticks));
        Waits { waited_ticks: u64::try_from(waited_ticks.cast_signed()).unwrap_or(0), ..self }
    }

    pub fn add(&mut self, other: &Waits) {
        self.awaits += other.awaits;
        self.waiting += other.waiting;
        self.waited_ticks += other.waited_ticks;
    }
}

/// A function that a thread has called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Called {
    pub function: Index,
    pub totals: Totals,
}

/// A function as one caller called it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    pub caller: Index,
    pub callee: Index,
    /// Of the callee.
    place: Place,
    pub totals: Totals,
}

#[derive(Clone, Copy)]
struct Frame {
    /// Of the function: its code object or its `PyMethodDef`.
    key: u64,
    place: Place,
    /// `NO_PAIR`: nobody that is known called it.
    pair: u32,
    began_ticks: u64,
    callees_ticks: u64,
}

const NO_PAIR: u32 = u32::MAX;

/// Room that a new thread's tables have: for what `threading` calls before and behind a thread's work, and a little of that. Tables that grow so far
/// from nothing are copied four times.
const CALLS_AT_ONCE: usize = 8;
const CALLED: usize = 28;

#[derive(Default)]
pub struct Thread {
    stack: Vec<Frame>,
    functions: Vec<Called>,
    place_of: FxHashMap<Index, Place>,
    pairs: Vec<Pair>,
    /// By the callee's key and the caller's place.
    pair_of: FxHashMap<(u64, Place), u32>,
    root: Root,
}

/// The program's outermost frame. What the interpreter calls when that is left is not the program.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Root {
    /// Another thread than the program's first.
    #[default]
    Without,
    /// It is the next one that is entered.
    Next,
    Key(u64),
    IsLeft,
}

impl Thread {
    /// The thread in which the program begins.
    pub fn first() -> Thread {
        Thread { root: Root::Next, ..Thread::default() }
    }

    /// None: there is no memory for it.
    pub fn with_room(mut self) -> Option<Thread> {
        self.stack.try_reserve(CALLS_AT_ONCE).ok()?;
        self.functions.try_reserve(CALLED).ok()?;
        self.place_of.try_reserve(CALLED).ok()?;
        self.pairs.try_reserve(CALLED).ok()?;
        self.pair_of.try_reserve(CALLED).ok()?;
        Some(self)
    }

    /// Of a caller that has called this function before, as most have: one look at a table. False: it has not, and nothing is counted.
    #[inline(always)]
    pub fn enter_known(&mut self, key: u64, now_ticks: impl FnOnce() -> u64) -> bool {
        self.known(key, now_ticks).is_some()
    }

    /// A program that has ended has no calls under way, and so no caller.
    #[inline(always)]
    fn known(&mut self, key: u64, now_ticks: impl FnOnce() -> u64) -> Option<()> {
        let caller = self.stack.last()?.place;
        let index = *self.pair_of.get(&(key, caller))?;
        let pair = self.pairs.get_mut(index as usize)?;
        let place = pair.place;
        let called = self.functions.get_mut(place as usize)?;
        self.stack.try_reserve(1).ok()?;
        pair.totals.depth += 1;
        called.totals.depth += 1;
        self.stack.push(Frame { key, place, pair: index, began_ticks: now_ticks(), callees_ticks: 0 });
        Some(())
    }

    /// None: there is no memory for it.
    #[inline]
    pub fn enter(&mut self, key: u64, function: Index, now_ticks: impl FnOnce() -> u64) -> Option<()> {
        if self.root != Root::Without && !self.enter_with_root(key) {
            return Some(());
        }
        let (pair, place) = match self.stack.last() {
            Some(caller) => self.begin_pair(caller.place, key, function)?,
            None => (NO_PAIR, self.place(function)?),
        };
        self.functions.get_mut(place as usize)?.totals.depth += 1;
        self.stack.try_reserve(1).ok()?;
        self.stack.push(Frame { key, place, pair, began_ticks: now_ticks(), callees_ticks: 0 });
        Some(())
    }

    /// False: the program has ended.
    fn enter_with_root(&mut self, key: u64) -> bool {
        if self.root == Root::Next {
            self.root = Root::Key(key);
        }
        self.root != Root::IsLeft
    }

    #[inline]
    pub fn leave(&mut self, key: u64, now_ticks: u64) {
        match self.stack.last() {
            Some(top) if top.key == key => self.pop(now_ticks),
            _ => self.leave_below(key, now_ticks),
        }
        if self.stack.is_empty() && self.root == Root::Key(key) {
            self.root = Root::IsLeft;
        }
    }

    /// Events of calls were missed: whatever lies above the one that is left has ended, too. One that is not there began before the first event.
    #[cold]
    fn leave_below(&mut self, key: u64, now_ticks: u64) {
        if self.stack.iter().any(|frame| frame.key == key) {
            while self.stack.last().is_some_and(|top| top.key != key) {
                self.pop(now_ticks);
            }
            self.pop(now_ticks);
        }
    }

    pub fn innermost(&self) -> Option<u64> {
        self.stack.last().map(|frame| frame.key)
    }

    /// As if it had not been called.
    pub fn drop_innermost(&mut self) {
        let Some(frame) = self.stack.pop() else { return };
        if let Some(called) = self.functions.get_mut(frame.place as usize) {
            called.totals.depth = called.totals.depth.saturating_sub(1);
        }
        if let Some(pair) = self.pairs.get_mut(frame.pair as usize) {
            pair.totals.depth = pair.totals.depth.saturating_sub(1);
        }
    }

    #[inline]
    fn pop(&mut self, now_ticks: u64) {
        let Some(frame) = self.stack.pop() else { return };
        let total_ticks = now_ticks.saturating_sub(frame.began_ticks);
        let own_ticks = total_ticks.saturating_sub(frame.callees_ticks);
        if let Some(caller) = self.stack.last_mut() {
            caller.callees_ticks += total_ticks;
        }
        if let Some(called) = self.functions.get_mut(frame.place as usize) {
            called.totals.ends(total_ticks, own_ticks);
        }
        if let Some(pair) = self.pairs.get_mut(frame.pair as usize) {
            pair.totals.ends(total_ticks, own_ticks);
        }
    }

    /// One more call is under way. Gives the pair, and the callee's place.
    #[inline]
    fn begin_pair(&mut self, caller: Place, key: u64, callee: Index) -> Option<(u32, Place)> {
        let index = match self.pair_of.get(&(key, caller)) {
            Some(known) => *known,
            None => self.new_pair(caller, key, callee)?,
        };
        let pair = self.pairs.get_mut(index as usize)?;
        pair.totals.depth += 1;
        Some((index, pair.place))
    }

    #[cold]
    fn new_pair(&mut self, caller_place: Place, key: u64, callee: Index) -> Option<u32> {
        let caller = self.functions.get(caller_place as usize)?.function;
        let place = self.place(callee)?;
        let index = u32::try_from(self.pairs.len()).ok().filter(|index| *index != NO_PAIR)?;
        self.pairs.try_reserve(1).ok()?;
        self.pair_of.try_reserve(1).ok()?;
        self.pairs.push(Pair { caller, callee, place, totals: Totals::default() });
        self.pair_of.insert((key, caller_place), index);
        Some(index)
    }

    /// Looked up for a thread's outermost calls and for new pairs alone: a known pair has it.
    fn place(&mut self, function: Index) -> Option<Place> {
        if let Some(known) = self.place_of.get(&function) {
            return Some(*known);
        }
        let place = Place::try_from(self.functions.len()).ok()?;
        self.functions.try_reserve(1).ok()?;
        self.place_of.try_reserve(1).ok()?;
        self.functions.push(Called { function, totals: Totals::default() });
        self.place_of.insert(function, place);
        Some(place)
    }

    /// In a forked child, where only the thread that forked lives: what was counted is the parent's, and the calls under way began there.
    pub fn forget(&mut self) {
        self.stack.clear();
        for called in &mut self.functions {
            called.totals = Totals::default();
        }
        for pair in &mut self.pairs {
            pair.totals = Totals::default();
        }
    }

    /// As if all calls under way ended now. Where none is, nothing is copied.
    pub fn ended(&self, now_ticks: u64) -> (Cow<'_, [Called]>, Cow<'_, [Pair]>) {
        if self.stack.is_empty() {
            return (Cow::Borrowed(self.functions.as_slice()), Cow::Borrowed(self.pairs.as_slice()));
        }
        let mut thread = Thread {
            stack: self.stack.clone(),
            functions: self.functions.clone(),
            pairs: self.pairs.clone(),
            ..Thread::default()
        };
        while !thread.stack.is_empty() {
            thread.pop(now_ticks);
        }
        (Cow::Owned(thread.functions), Cow::Owned(thread.pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::{CALLED, Called, Cow, Index, Thread, Totals, Waits};

    const ROOT: (u64, u32) = (100, 0);
    const F: (u64, u32) = (101, 1);
    const G: (u64, u32) = (102, 2);

    fn run(thread: &mut Thread, steps: &[((u64, u32), bool)]) {
        for (now_ticks, ((key, function), enters)) in (thread.stack.len() as u64..).zip(steps) {
            match enters {
                true if thread.enter_known(*key, || now_ticks * 10) => {}
                true => thread.enter(*key, *function, || now_ticks * 10).unwrap(),
                false => thread.leave(*key, now_ticks * 10),
            }
        }
    }

    fn totals(calls: u64, recursive_calls: u64, own_ticks: u64, total_ticks: u64) -> Totals {
        Totals { calls, recursive_calls, own_ticks, total_ticks, depth: 0 }
    }

    fn by_function(called: &[Called]) -> Vec<(Index, Totals)> {
        called.iter().map(|called| (called.function, called.totals)).collect()
    }

    #[test]
    fn recursion_is_counted_once_in_the_total_time() {
        let mut thread = Thread::first();
        run(
            &mut thread,
            &[(ROOT, true), (F, true), (G, true), (F, true), (F, false), (G, false), (F, false), (ROOT, false)],
        );
        let (functions, pairs) = thread.ended(70);
        let expected = [(0, totals(1, 0, 20, 70)), (1, totals(2, 1, 30, 50)), (2, totals(1, 0, 20, 30))];
        assert_eq!(by_function(&functions), expected);
        let of: Vec<_> = pairs.iter().map(|pair| (pair.caller, pair.callee, pair.totals)).collect();
        assert_eq!(of, [(0, 1, totals(1, 0, 20, 50)), (1, 2, totals(1, 0, 20, 30)), (2, 1, totals(1, 0, 10, 10))]);
        // What the interpreter runs after the program is not the program.
        run(&mut thread, &[(F, true), (F, false)]);
        assert_eq!(thread.ended(90).0[1].totals.calls, 2);
    }

    #[test]
    fn calls_whose_end_was_missed_end_with_their_caller_and_unknown_ones_are_passed_over() {
        let mut thread = Thread::default();
        run(&mut thread, &[(F, false), (F, true), (G, true), (F, false)]);
        assert_eq!(by_function(&thread.ended(0).0), [(1, totals(1, 0, 10, 20)), (2, totals(1, 0, 10, 10))]);
    }

    /// By its key alone, also where another caller has called it.
    #[test]
    fn a_call_is_known_where_its_caller_has_made_it_before() {
        let mut thread = Thread::default();
        run(&mut thread, &[(F, true)]);
        assert!(!thread.enter_known(G.0, || 10), "a first call");
        run(&mut thread, &[(G, true), (G, false)]);
        assert!(thread.enter_known(G.0, || 20));
        assert!(!thread.enter_known(G.0, || 30), "its first call by itself");
        thread.leave(G.0, 50);
        thread.leave(F.0, 60);
        assert!(!thread.enter_known(F.0, || 70), "nobody that is known calls it");
        let (functions, pairs) = thread.ended(70);
        assert_eq!(functions.iter().map(|called| called.totals.calls).collect::<Vec<_>>(), [1, 2]);
        let of: Vec<_> = pairs.iter().map(|pair| (pair.caller, pair.callee, pair.totals.calls)).collect();
        assert_eq!(of, [(F.1, G.1, 2)]);
    }

    #[test]
    fn a_thread_has_rows_for_what_it_calls_alone() {
        const LATE: (u64, u32) = (103, 4_000_000);
        let mut thread = Thread::default();
        run(&mut thread, &[(LATE, true), (F, true), (F, false), (LATE, false), (LATE, true), (LATE, false)]);
        let (functions, pairs) = thread.ended(0);
        assert_eq!(by_function(&functions), [(LATE.1, totals(2, 0, 30, 40)), (1, totals(1, 0, 10, 10))]);
        let of: Vec<_> = pairs.iter().map(|pair| (pair.caller, pair.callee, pair.totals)).collect();
        assert_eq!(of, [(LATE.1, 1, totals(1, 0, 10, 10))]);
    }

    #[test]
    fn what_most_threads_call_has_room_and_is_not_copied_at_the_end() {
        let mut thread = Thread::default().with_room().unwrap();
        let room = (thread.functions.capacity(), thread.pairs.capacity());
        run(&mut thread, &[(ROOT, true)]);
        for function in (1_u32..).take(CALLED - 1) {
            let call = (u64::from(function), function);
            run(&mut thread, &[(call, true), (call, false)]);
        }
        assert_eq!(thread.functions.len(), CALLED);
        assert_eq!((thread.functions.capacity(), thread.pairs.capacity()), room);
        assert!(matches!(thread.ended(0), (Cow::Owned(_), Cow::Owned(_))));
        run(&mut thread, &[(ROOT, false)]);
        assert!(matches!(thread.ended(0), (Cow::Borrowed(_), Cow::Borrowed(_))));
    }

    #[test]
    fn waits_of_several_coroutines_are_one_sum() {
        let mut waits = Waits::default();
        waits.end(5);
        [(10, 34), (20, 90), (30, 34)].iter().for_each(|(now_ticks, place)| waits.begin(*now_ticks, *place));
        // Whichever goes on: 3 × 100 less 10 + 20 + 30.
        waits.end(100);
        // Of a coroutine that had not begun.
        waits.thrown(50, 4);
        waits.thrown(100, 36);
        assert_eq!(waits.ended(100), Waits { awaits: 3, waiting: 1, waited_ticks: 240, first_place: 34 });
        assert_eq!(waits.ended(110).waited_ticks, 250);
        waits.end(100);
        assert_eq!(waits.ended(900), Waits { awaits: 3, waiting: 0, waited_ticks: 240, first_place: 34 });
        // Begun on a processor whose counter is ahead.
        let mut ahead = Waits::default();
        ahead.begin(52, 8);
        ahead.end(50);
        assert_eq!(ahead.ended(60).waited_ticks, 0);
    }

    #[test]
    fn calls_under_way_end_with_the_count_which_goes_on() {
        let mut thread = Thread::default();
        run(&mut thread, &[(F, true), (G, true)]);
        for _ in 0..2 {
            assert_eq!(by_function(&thread.ended(30).0), [(1, totals(1, 0, 10, 30)), (2, totals(1, 0, 20, 20))]);
        }
        thread.forget();
        thread.leave(F.0, 40);
        assert!(thread.ended(50).0.iter().all(|called| called.totals.calls == 0));
    }
}
