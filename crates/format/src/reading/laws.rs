//! The two laws of the accounting, checked over a recording. Owns: what they say. Never: repairs or hides a number.
//! Law 1, per block: ticks = sampled + dropped + refused, and sampled is the sum of the samples' ticks.
//! Law 2, per process and measure: what was counted exactly = genba's own + sampled + not sampled, none negative; waiting uses no CPU.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::framing::{ProcessKey, QUANTUM_NS};
use crate::measure::{self, Measure};
use crate::proto;
use crate::reading::block::ReadBlock;
use crate::reading::columns::Samples;
use crate::reading::fault::BlockName;
use crate::reading::recording::Recording;
use crate::state::WAITING_MIN;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Law {
    /// Law 1.
    TicksAddUp,
    /// Law 2, of every measure.
    TimeIsConserved,
}

/// A place where a law does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub law: Law,
    /// Where the block begins in the file.
    pub byte: u64,
    /// Number of the block in `Recording::blocks`.
    pub block: u64,
    pub owner: BlockName,
    pub field: String,
    pub expected: String,
    pub found: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let law = match self.law {
            Law::TicksAddUp => "law 1 (ticks add up)",
            Law::TimeIsConserved => "law 2 (time is conserved)",
        };
        write!(
            f,
            "{law} does not hold at byte {} (block {}, field `{}`): expected {}, found {}",
            self.byte, self.block, self.field, self.expected, self.found
        )
    }
}

/// Every violation, in the order of the blocks. The running sum of sampled CPU is compared only where no earlier block
/// of its process is lost.
pub fn check(recording: &Recording) -> Vec<Violation> {
    let incomplete: HashMap<ProcessKey, u64> =
        recording.lost.iter().rev().map(|lost| (lost.process_key, lost.sequence_first)).collect();
    let mut sampled: HashMap<(ProcessKey, Measure), u128> = HashMap::new();
    let mut uncertain: HashSet<ProcessKey> = HashSet::new();
    let mut violations = Vec::new();
    for (number, read) in (0u64..).zip(&recording.blocks) {
        let key = read.header.process_key;
        if incomplete.get(&key).is_some_and(|first_lost| *first_lost < read.header.sequence) {
            uncertain.insert(key);
        }
        if let Some(samples) = &read.samples {
            let cpu_ns = samples.cpu_quanta.sum() * u128::from(QUANTUM_NS);
            *sampled.entry((key, Measure::Cpu)).or_default() += cpu_ns;
        }
        for weights in &read.block.weights {
            let weight: u128 = weights.weight.iter().copied().map(u128::from).sum();
            *sampled.entry((key, Measure::from_stored(weights.kind))).or_default() += weight;
        }
        let is_certain = !uncertain.contains(&key);
        let running_sum = |measure| is_certain.then(|| sampled.get(&(key, measure)).copied().unwrap_or(0));
        Check { number, read, violations: &mut violations }.block(running_sum);
    }
    violations
}

struct Check<'a> {
    number: u64,
    read: &'a ReadBlock,
    violations: &'a mut Vec<Violation>,
}

impl Check<'_> {
    fn block(&mut self, running_sum: impl Fn(Measure) -> Option<u128>) {
        let samples = self.read.samples.as_ref();
        if let Some(samples) = samples {
            self.samples(samples);
        }
        let Some(accounting) = &self.read.block.accounting else {
            if samples.is_some_and(|samples| !samples.is_empty()) {
                let found = "none".to_owned();
                self.violated(Law::TicksAddUp, "accounting", "one beside samples".to_owned(), found);
            }
            return;
        };
        let ticks_of = |counts: &[proto::Count]| counts.iter().map(|count| u128::from(count.ticks)).sum::<u128>();
        let sampled = samples.map_or(0, |samples| samples.ticks.sum());
        self.equal(Law::TicksAddUp, "accounting.sampled", sampled, accounting.sampled);
        let ticks = u128::from(accounting.sampled) + ticks_of(&accounting.dropped) + ticks_of(&accounting.refused);
        self.equal(Law::TicksAddUp, "accounting.ticks", ticks, accounting.ticks);

        for (measure, totals) in measure::totals(accounting) {
            let (exact, sampled) = match measure {
                Measure::Cpu => ("accounting.cpu_process_ns".to_owned(), "accounting.cpu_sampled_ns".to_owned()),
                other => {
                    let kind = other.stored();
                    (
                        format!("accounting.measures.exact of kind {kind}"),
                        format!("accounting.measures.sampled of kind {kind}"),
                    )
                }
            };
            let parts = u128::from(totals.genba) + u128::from(totals.sampled) + u128::from(totals.not_sampled);
            self.equal(Law::TimeIsConserved, &exact, parts, totals.exact);
            if let Some(expected) = running_sum(measure) {
                self.equal(Law::TimeIsConserved, &sampled, expected, totals.sampled);
            }
        }
    }

    fn samples(&mut self, samples: &Samples) {
        for (row, ticks) in samples.ticks.iter().enumerate() {
            if ticks == 0 {
                let field = format!("samples.ticks[{row}]");
                self.violated(Law::TicksAddUp, &field, "at least 1".to_owned(), "0".to_owned());
            }
        }
        if samples.state.max() < WAITING_MIN {
            return;
        }
        for (row, (state, quanta)) in samples.state.iter().zip(samples.cpu_quanta.iter()).enumerate() {
            if state >= WAITING_MIN && quanta > 0 {
                let field = format!("samples.cpu_quanta[{row}]");
                let expected = format!("0 in state {state}");
                self.violated(Law::TimeIsConserved, &field, expected, format!("{quanta}"));
            }
        }
    }

    fn equal(&mut self, law: Law, field: &str, expected: u128, found: u64) {
        if expected != u128::from(found) {
            self.violated(law, field, format!("{expected}"), format!("{found}"));
        }
    }

    fn violated(&mut self, law: Law, field: &str, expected: String, found: String) {
        self.violations.push(Violation {
            law,
            byte: self.read.offset,
            block: self.number,
            owner: self.read.name(),
            field: field.to_owned(),
            expected,
            found,
        });
    }
}
