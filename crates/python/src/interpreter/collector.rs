//! Where the garbage collector's state lies in an interpreter, and the check before its first use (I-10).
//! Owns: the offsets, and which collector a version has. Never: changes anything; trusts a list that does not close.
//! Sources: CPython 3.11.7, 3.12.1, 3.13.0, 3.14.10, 3.15.2, Include/internal/pycore_gc.h and pycore_interp_structs.h; 3.14.4's.

use crate::layout::Layout;
use crate::memory::{Address, Fault, Memory};

pub const GENERATIONS: u64 = 3;
/// `next`, `prev`, `threshold`, `count`.
const GENERATION_BYTES: u64 = 24;
const PREVIOUS: u64 = 8;
const THRESHOLD: u64 = 16;
const COUNT: u64 = 20;
/// The two low bits of a link are flags of the collector's.
const LINK: u64 = !3;

/// `Py_Version` of 3.14.0 to 3.14.4: a collection looks at a part of the objects.
pub const IN_INCREMENTS: core::ops::Range<u32> = 0x030e_0000..0x030e_05f0;

/// How a collector goes through its objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Generational,
    /// 3.14.0 to 3.14.4: a collection of generation 1 is an increment.
    Incremental,
}

/// Offsets from the beginning of the collector's state, and where that lies in an interpreter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Collector {
    pub kind: Kind,
    pub state: u64,
    pub generations: u64,
    pub collecting: u64,
    pub callbacks: u64,
    /// Objects that the last full collection left, and those that collections of the middle generation added since.
    pub long_lived_total: Option<u64>,
    pub long_lived_pending: Option<u64>,
}

impl Collector {
    /// `version`: as `Py_Version` has it.
    #[must_use]
    pub fn of(layout: &Layout, version: u32) -> Option<Collector> {
        let incremental = IN_INCREMENTS.contains(&version);
        let (generations, collecting, callbacks, total, pending) = match layout.minor {
            11..=13 => (24, 200, 216, 224, 232),
            14 => (24, 192, 208, 240, 248),
            15 => (8, 112, 136, 152, 160),
            _ => return None,
        };
        Some(Collector {
            kind: if incremental { Kind::Incremental } else { Kind::Generational },
            state: layout.runtime.gc_collecting.checked_sub(collecting)?,
            generations,
            collecting,
            callbacks,
            long_lived_total: (!incremental).then_some(total),
            long_lived_pending: (!incremental).then_some(pending),
        })
    }

    /// The main interpreter's collector.
    ///
    /// # Errors
    /// The runtime cannot be read, or has no interpreter yet.
    pub fn address<M: Memory>(&self, memory: &M, layout: &Layout) -> Result<Address, Fault> {
        let head = Address(layout.runtime.address).at(layout.runtime.interpreters_head);
        // The main interpreter follows the list's head.
        let interpreter = memory.address(head.at(8))?;
        if interpreter.is_null() { Err(Fault) } else { Ok(interpreter.at(self.state)) }
    }

    /// Whether each generation is a list that closes, and the flag says what it can say. Call it with the GIL: the lists change otherwise.
    ///
    /// # Errors
    /// Something cannot be read: then it is not what it must be, either.
    pub fn fits<M: Memory>(&self, memory: &M, collector: Address) -> Result<bool, Fault> {
        if memory.half(collector.at(self.collecting))? > 1 {
            return Ok(false);
        }
        for generation in 0..GENERATIONS {
            let head = collector.at(self.generations + generation * GENERATION_BYTES);
            let next = Address(memory.word(head)? & LINK);
            let last = Address(memory.word(head.at(PREVIOUS))? & LINK);
            if memory.word(next.at(PREVIOUS))? & LINK != head.0 || memory.word(last)? & LINK != head.0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The youngest generation's threshold.
    #[must_use]
    pub const fn threshold(&self) -> u64 {
        self.generations + THRESHOLD
    }

    /// What the youngest generation's counter has reached.
    #[must_use]
    pub const fn young(&self) -> u64 {
        self.generations + COUNT
    }
}

#[cfg(test)]
mod tests {
    use super::{Collector, GENERATION_BYTES, Kind};
    use crate::find::BASE;
    use crate::layout::{Layout, Runtime};
    use crate::memory::{Address, Fault, Memory};

    const STATE: u64 = 0x1000;

    struct Words(Vec<u64>);

    impl Memory for Words {
        fn word(&self, address: Address) -> Result<u64, Fault> {
            let index = address.0.checked_sub(STATE).ok_or(Fault)? / 8;
            self.0.get(index as usize).copied().ok_or(Fault)
        }
    }

    fn collector(minor: u8, version: u32) -> Collector {
        let runtime = Runtime { gc_collecting: 7600, ..BASE.runtime };
        Collector::of(&Layout { minor, runtime, ..BASE }, version).unwrap()
    }

    #[test]
    fn a_version_tells_which_collector_it_has() {
        let kinds = [(11, 0x030b_07f0), (14, 0x030e_00f0), (14, 0x030e_04f0), (14, 0x030e_05f0), (15, 0x030f_02f0)]
            .map(|(minor, version)| collector(minor, version).kind);
        assert_eq!(kinds[1..3], [Kind::Incremental; 2]);
        assert_eq!([kinds[0], kinds[3], kinds[4]], [Kind::Generational; 3]);
        assert_eq!(collector(14, 0x030e_04f0).long_lived_total, None);
        assert_eq!(collector(13, 0x030d_00f0).state, 7400);
    }

    #[test]
    fn lists_that_do_not_close_do_not_fit() {
        let layout = collector(12, 0x030c_01f0);
        let mut words = Words(vec![0; 40]);
        for generation in 0..3 {
            let head = STATE + layout.generations + generation * GENERATION_BYTES;
            let index = ((head - STATE) / 8) as usize;
            (words.0[index], words.0[index + 1]) = (head | 1, head);
        }
        assert_eq!(layout.fits(&words, Address(STATE)), Ok(true));
        words.0[(layout.collecting / 8) as usize] = 2;
        assert_eq!(layout.fits(&words, Address(STATE)), Ok(false), "the flag");
        words.0[(layout.collecting / 8) as usize] = 1;
        words.0[(layout.generations / 8) as usize + 1] = STATE;
        assert_eq!(layout.fits(&words, Address(STATE)), Ok(false), "a link that leads elsewhere");
        words.0[(layout.generations / 8) as usize] = 8;
        assert_eq!(layout.fits(&words, Address(STATE)), Err(Fault), "a link that leads nowhere");
    }
}
