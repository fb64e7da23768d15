//! A recording whose blocks come one by one, and a profile of those so far whenever one is wanted.
//! Owns: that a block's samples are added up once, however many profiles are made. Never: reads bytes (genba_format::Reader does), names C functions.
//! Keeps: after the last block the profile is that of the whole recording.

use foldhash::HashMap;

use genba_format::{Fault, LostBlocks, Order, ProcessKey, ReadBlock, Recording};

use crate::making::build::samples::Sums;
use crate::making::build::{self, Additions, profile_of_sums, promoted};
use crate::making::cpu_over_time::CpuOverTime;
use crate::tables::profile::Profile;

#[derive(Default)]
pub struct Growing {
    recording: Recording,
    order: Order,
    /// Before a block that came; those at the end are told anew each time.
    lost: Vec<LostBlocks>,
    sums: HashMap<ProcessKey, Sums>,
    cpu_over_time: CpuOverTime,
}

impl Growing {
    /// The next block, in the order of the file. One that contradicts those before it is left out, with a fault.
    pub fn add(&mut self, block: ReadBlock) {
        match self.order.accept(&block) {
            Ok(lost) => {
                if let Some((lost, fault)) = lost {
                    self.lost.push(lost);
                    self.recording.faults.push(fault);
                }
                self.sums.entry(block.header.process_key).or_default().add_block(&block);
                self.cpu_over_time.add(&block);
                self.recording.blocks.push(block);
            }
            Err(fault) => self.recording.faults.push(*fault),
        }
    }

    /// What the reader found damaged.
    pub fn add_fault(&mut self, fault: Fault) {
        self.recording.faults.push(fault);
    }

    /// All so far, e.g. for who looks for names.
    pub fn recording(&mut self) -> &Recording {
        self.recording.lost.clone_from(&self.lost);
        self.recording.lost.extend(self.order.lost_at_the_end(&self.recording.faults));
        self.order.settle(&mut self.recording.faults);
        &self.recording
    }

    /// As `build::profile` of all so far.
    pub fn profile(&mut self, additions: &Additions) -> Profile {
        self.recording();
        promoted(profile_of_sums(&self.recording, additions, &mut self.sums))
    }

    /// The same with the samples of the newest blocks alone: of those that were written within `last_ns` before the newest one. All that
    /// is counted without samples (accounting, clocks, marks) is of the whole recording.
    pub fn profile_of_last(&mut self, last_ns: u64, additions: &Additions) -> Profile {
        self.recording();
        let end_ns = self.recording.blocks.iter().map(|read| read.header.end_ns).max().unwrap_or(0);
        let since_ns = end_ns.saturating_sub(last_ns);
        let mut earlier = Vec::new();
        for (position, read) in self.recording.blocks.iter_mut().enumerate() {
            if read.header.end_ns <= since_ns && read.samples.is_some() {
                earlier.push((position, read.samples.take()));
            }
        }
        let profile = build::profile(&self.recording, additions);
        for (position, samples) in earlier {
            self.recording.blocks[position].samples = samples;
        }
        profile
    }

    #[must_use]
    pub const fn cpu_over_time(&self) -> &CpuOverTime {
        &self.cpu_over_time
    }
}
