//! What a recording measures: kinds, their units, and the totals of each in a block's accounting.
//! Owns: the numbers of the kinds, both ways; which total is which. Never: judges a total (laws.rs).

use crate::proto;

/// One measure: a law, `exact = genba + sampled + not_sampled`, over totals in one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Measure {
    /// Nanoseconds on a CPU. Its weights are `Samples.cpu_quanta`, its totals stand in fields of `Accounting` of their own.
    Cpu,
    /// Bytes copied by memcpy, memmove and their checked forms.
    Copied,
    /// Bytes asked for of CPython's small object allocator, malloc, calloc, realloc and the aligned ones.
    Allocated,
    /// A measure that a newer genba wrote.
    Other(u32),
}

/// Every kind, with its name and unit.
const KINDS: [(u32, Measure, &str, &str); 3] = [
    (0, Measure::Cpu, "CPU", "ns"),
    (1, Measure::Copied, "copied", "bytes"),
    (2, Measure::Allocated, "allocated", "bytes"),
];

/// Totals since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// As something that misses nothing counted it.
    pub exact: u64,
    /// genba's own part.
    pub genba: u64,
    pub sampled: u64,
    pub not_sampled: u64,
}

impl Measure {
    #[must_use]
    pub fn from_stored(stored: u32) -> Measure {
        KINDS.iter().find(|(number, ..)| *number == stored).map_or(Measure::Other(stored), |(_, measure, ..)| *measure)
    }

    #[must_use]
    pub fn stored(self) -> u32 {
        match self {
            Measure::Other(stored) => stored,
            known => KINDS.iter().find(|(_, measure, ..)| *measure == known).map_or(u32::MAX, |(number, ..)| *number),
        }
    }

    /// For a reader: `CPU`. None: of a newer genba.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        KINDS.iter().find(|(_, measure, ..)| *measure == self).map(|(_, _, name, _)| *name)
    }

    #[must_use]
    pub fn unit(self) -> Option<&'static str> {
        KINDS.iter().find(|(_, measure, ..)| *measure == self).map(|(_, _, _, unit)| *unit)
    }
}

/// The totals of every measure that a block tells, CPU first.
pub fn totals(accounting: &proto::Accounting) -> impl Iterator<Item = (Measure, Totals)> + '_ {
    let cpu = Totals {
        exact: accounting.cpu_process_ns,
        genba: accounting.cpu_genba_ns,
        sampled: accounting.cpu_sampled_ns,
        not_sampled: accounting.cpu_not_sampled_ns,
    };
    let others = accounting.measures.iter().map(|told| {
        let &proto::Measure { kind, exact, genba, sampled, not_sampled } = told;
        (Measure::from_stored(kind), Totals { exact, genba, sampled, not_sampled })
    });
    std::iter::once((Measure::Cpu, cpu)).chain(others)
}

/// The totals of a measure other than CPU, as a block stores them.
#[must_use]
pub fn told(measure: Measure, totals: Totals) -> proto::Measure {
    let Totals { exact, genba, sampled, not_sampled } = totals;
    proto::Measure { kind: measure.stored(), exact, genba, sampled, not_sampled }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_is_read_as_it_was_stored() {
        for (number, measure, ..) in KINDS {
            assert_eq!((measure.stored(), Measure::from_stored(number)), (number, measure));
            assert!(measure.name().is_some() && measure.unit().is_some());
        }
        assert_eq!(Measure::from_stored(4_000).stored(), 4_000);
        assert_eq!(Measure::from_stored(4_000).name(), None);
    }
}
