//! The collections that have ended and that the sampler has not taken yet.
//! Owns: a ring of static room. Never: waits, allocates; overwrites what was not taken: what finds no room is counted. Keeps: I-03.
//!
//! One writer, whoever holds the GIL of the main interpreter, and one reader, the sampler.

use genba_signal::request::Ticket;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// A collection as its own thread saw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Event {
    pub start_ns: u64,
    pub pause_ns: u64,
    pub generation: u32,
    pub tid: u32,
    /// The interpreter ends.
    pub is_finalizing: bool,
    pub examined: Option<u64>,
    pub collected: u64,
    pub uncollectable: u64,
    pub young: u32,
    pub threshold: u32,
    /// Its stack. None: no buffer was free.
    pub stack: Option<Ticket>,
}

const EVENTS: usize = 2048;
const WORDS: usize = 10;
const GENERATIONS: usize = 3;
const FINALIZING: u64 = 1 << 63;

pub static RING: Ring<EVENTS> = Ring::NEW;

pub struct Ring<const N: usize> {
    words: [[AtomicU64; WORDS]; N],
    written: AtomicU64,
    taken: AtomicU64,
    lost: AtomicU64,
    /// Where the events of this recording begin.
    first: AtomicU64,
    /// Collections of each generation before the first event that this process could tell, and events since, lost ones included.
    before: [AtomicU64; GENERATIONS],
    counted: [AtomicU64; GENERATIONS],
}

impl<const N: usize> Ring<N> {
    #[allow(clippy::declare_interior_mutable_const)] // a template for the one static
    const NEW: Ring<N> = Ring {
        words: [const { [const { AtomicU64::new(0) }; WORDS] }; N],
        written: AtomicU64::new(0),
        taken: AtomicU64::new(0),
        lost: AtomicU64::new(0),
        first: AtomicU64::new(0),
        before: [const { AtomicU64::new(0) }; GENERATIONS],
        counted: [const { AtomicU64::new(0) }; GENERATIONS],
    };

    /// A recording begins: the next event is its first. With the GIL.
    pub fn begin(&self, before: [u64; GENERATIONS]) {
        self.first.store(self.written.load(SeqCst), SeqCst);
        self.lost.store(0, SeqCst);
        for ((own, counted), before) in self.before.iter().zip(&self.counted).zip(before) {
            own.store(before, SeqCst);
            counted.store(0, SeqCst);
        }
    }

    /// Only whoever holds the GIL calls this. False: there is no room.
    pub fn add(&self, event: Event) -> bool {
        if let Some(counted) = self.counted.get(event.generation as usize) {
            counted.store(counted.load(SeqCst) + 1, SeqCst);
        }
        let written = self.written.load(SeqCst);
        if written - self.taken.load(SeqCst) >= N as u64 {
            self.lost.fetch_add(1, SeqCst);
            return false;
        }
        let words = [
            event.start_ns,
            event.pause_ns,
            u64::from(event.generation) << 32 | u64::from(event.tid),
            if event.is_finalizing { FINALIZING } else { 0 } | u64::from(event.young),
            event.examined.map_or(0, |examined| examined + 1),
            event.collected,
            event.uncollectable,
            u64::from(event.threshold),
            event.stack.map_or(0, |ticket| ticket.index as u64 + 1),
            event.stack.map_or(0, |ticket| ticket.generation),
        ];
        for (room, word) in self.words[(written % N as u64) as usize].iter().zip(words) {
            room.store(word, SeqCst);
        }
        // Release: pairs with the load in `take`.
        self.written.store(written + 1, SeqCst);
        true
    }

    /// Only the sampler calls this.
    pub fn take(&self) -> Option<Event> {
        let taken = self.taken.load(SeqCst);
        if taken == self.written.load(SeqCst) {
            return None;
        }
        let words: [u64; WORDS] =
            core::array::from_fn(|index| self.words[(taken % N as u64) as usize][index].load(SeqCst));
        self.taken.store(taken + 1, SeqCst);
        Some(Event {
            start_ns: words[0],
            pause_ns: words[1],
            generation: (words[2] >> 32) as u32,
            tid: words[2] as u32,
            is_finalizing: words[3] & FINALIZING != 0,
            young: words[3] as u32,
            examined: words[4].checked_sub(1),
            collected: words[5],
            uncollectable: words[6],
            threshold: words[7] as u32,
            stack: words[8].checked_sub(1).map(|index| Ticket { index: index as usize, generation: words[9] }),
        })
    }

    /// The next event to take is of an earlier recording.
    pub fn is_old(&self) -> bool {
        self.taken.load(SeqCst) < self.first.load(SeqCst)
    }

    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.written.load(SeqCst) - self.taken.load(SeqCst)
    }

    /// Events since the last call for which there was no room.
    pub fn take_lost(&self) -> u64 {
        self.lost.swap(0, SeqCst)
    }

    /// Collections of each generation before the first event of this process.
    pub fn before(&self) -> [u64; GENERATIONS] {
        core::array::from_fn(|generation| self.before[generation].load(SeqCst))
    }

    /// In a forked child: its first event is the next one.
    pub fn forked(&self) {
        self.taken.store(self.written.load(SeqCst), SeqCst);
        self.lost.store(0, SeqCst);
        for (before, counted) in self.before.iter().zip(&self.counted) {
            before.store(before.load(SeqCst) + counted.swap(0, SeqCst), SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Ring};
    use genba_signal::request::Ticket;

    fn event(number: u32) -> Event {
        Event {
            start_ns: u64::from(number),
            pause_ns: 1,
            generation: number % 3,
            tid: u32::MAX,
            is_finalizing: number == 1,
            examined: (number > 0).then_some(u64::from(number)),
            collected: 2,
            uncollectable: 3,
            young: u32::MAX - number,
            threshold: u32::MAX,
            stack: (number > 1).then_some(Ticket { index: 0, generation: 5 }),
        }
    }

    #[test]
    fn events_come_out_as_they_went_in_and_what_has_no_room_is_counted() {
        let ring = Ring::<4>::NEW;
        ring.begin([7, 0, 0]);
        for round in 0..3 {
            assert_eq!(
                (0..5).map(|number| ring.add(event(number))).collect::<Vec<_>>(),
                [true, true, true, true, false]
            );
            assert_eq!(ring.waiting(), 4);
            let taken: Vec<Event> = std::iter::from_fn(|| ring.take()).collect();
            assert_eq!(taken, (0..4).map(event).collect::<Vec<_>>(), "round {round}");
            assert_eq!((ring.take_lost(), ring.take_lost()), (1, 0));
        }
        assert_eq!(ring.before(), [7, 0, 0]);
    }

    #[test]
    fn a_forked_child_begins_with_what_its_parent_has_counted() {
        let ring = Ring::<4>::NEW;
        ring.begin([7, 1, 0]);
        (0..5).for_each(|number| {
            ring.add(event(number));
        });
        ring.forked();
        assert_eq!((ring.take(), ring.take_lost(), ring.before()), (None, 0, [9, 3, 1]));
        ring.add(event(0));
        assert_eq!(ring.take(), Some(event(0)));
    }
}
