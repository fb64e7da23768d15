//! What is to be said of every address of a file, once and for all: addresses with one answer are one stretch.
//! Owns: where an answer may change. Never: answers differently from `Names::name_of` and `Names::extent_of`.

use super::{CFunction, Names};
use std::collections::BTreeSet;
use std::ops::Range;

/// One answer for all addresses of `stretch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub stretch: Range<u64>,
    /// The code around it as the unwind table has it, or as the symbol has it.
    pub function: Range<u64>,
    /// `None`: a function without a name.
    pub named: Option<CFunction>,
}

impl Names<'_> {
    /// Sorted; stretches do not overlap. What lies in none of them has no name and is no function of the unwind table.
    /// `within`: of stretches that have one of these addresses; `None`: of all.
    pub fn answers(&self, within: Option<&BTreeSet<u64>>) -> Vec<Answer> {
        let mut answers: Vec<Answer> = Vec::new();
        for bounds in self.changes().windows(2) {
            let &[start, end] = bounds else { continue };
            if within.is_some_and(|addresses| addresses.range(start..end).next().is_none()) {
                continue;
            }
            let Some((function, named)) = self.answer_at(start) else { continue };
            match answers.last_mut() {
                Some(last) if last.stretch.end == start && last.function == function && last.named == named => {
                    last.stretch.end = end;
                }
                _ => answers.push(Answer { stretch: start..end, function, named }),
            }
        }
        answers
    }

    /// How many functions the unwind table has.
    pub fn function_count(&self) -> usize {
        self.extents().all().len()
    }

    fn answer_at(&self, address: u64) -> Option<(Range<u64>, Option<CFunction>)> {
        match self.name_of(address) {
            Some(named) => Some((named.start..named.end, Some(named))),
            None => self.extent_of(address).map(|(start, end)| (start..end, None)),
        }
    }

    /// Sorted: where a symbol, a function of the unwind table or a linker's stub begins or ends.
    fn changes(&self) -> Vec<u64> {
        let tables = [Some(self.own_symbols()), self.debug_symbols(), Some(self.dynamic_symbols())];
        let symbols = tables.into_iter().flatten().flat_map(|table| table.bounds());
        let extents = self.extents().all().iter().flat_map(|extent| [extent.start, extent.end]);
        let stubs = self.image.code_sections().filter(|section| section.entry_bytes > 0).flat_map(|section| {
            let end = section.start + section.bytes.len() as u64;
            let entry_bytes = usize::try_from(section.entry_bytes).unwrap_or(usize::MAX);
            (section.start..end).step_by(entry_bytes).chain([end])
        });
        let mut changes: Vec<u64> = symbols.chain(extents).chain(stubs).collect();
        changes.sort_unstable();
        changes.dedup();
        changes
    }
}
