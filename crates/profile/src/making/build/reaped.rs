//! What processes used after their last block: whoever waited for their end was told by the kernel how much CPU it was in all.
//! Owns: which recorded process an ended child was. Never: counts below zero, or what a program used that is not recorded.

use foldhash::HashMap;

use genba_format::proto;

use crate::making::build::Clock;
use crate::tables::profile::{ProcessIndex, Profile};
use crate::tables::stored::Stored;

#[derive(Default)]
pub struct Ends {
    /// By the pid of the child.
    told: HashMap<u32, Vec<Told>>,
    /// What the last block of a process told: its CPU and that of the children it had waited for.
    known_ns: HashMap<ProcessIndex, u64>,
}

struct Told {
    /// None: the command, which started the run's first process.
    by: Option<ProcessIndex>,
    at_ns: u64,
    cpu_ns: u64,
}

impl Ends {
    pub fn add(&mut self, stored: &Stored, process: ProcessIndex, clock: &Clock) {
        for block in stored.blocks.iter().map(|read| &read.block) {
            self.add_told(Some(process), block, clock);
            if let Some(accounting) = &block.accounting {
                let known_ns = accounting.cpu_process_ns.saturating_add(accounting.cpu_reaped_ns);
                self.known_ns.insert(process, known_ns);
            }
        }
    }

    /// What a block tells of others' ends.
    pub fn add_told(&mut self, by: Option<ProcessIndex>, block: &proto::Block, clock: &Clock) {
        for &proto::Reaped { pid, at_ns, cpu_ns } in &block.reaped {
            self.told.entry(pid).or_default().push(Told { by, at_ns: clock.at(at_ns), cpu_ns });
        }
    }

    /// A pid's end belongs to the last process of that pid and parent that began before it, if no earlier end does.
    pub fn settle(mut self, profile: &mut Profile) {
        for (pid, ends) in &mut self.told {
            ends.sort_by_key(|end| end.at_ns);
            let mut before_ns = 0;
            for end in ends {
                if let Some(index) = who_ended(profile, *pid, end, before_ns)
                    && let Some(&known_ns) = self.known_ns.get(&index)
                {
                    profile.processes[index].clocks.cpu_not_recorded_ns = end.cpu_ns.saturating_sub(known_ns);
                }
                before_ns = end.at_ns;
            }
        }
    }
}

/// The image of it that ran last. None: it was not recorded, or became a program that is not.
fn who_ended(profile: &Profile, pid: u32, end: &Told, before_ns: u64) -> Option<ProcessIndex> {
    let waited = end.by.and_then(|by| profile.processes[by].pid);
    let images = profile.processes.enumerate().filter(|(_, process)| {
        let parent = process.parent.and_then(|parent| profile.processes[parent].pid);
        process.pid == Some(pid) && parent == waited && (before_ns..=end.at_ns).contains(&process.start_ns)
    });
    let (index, last) = images.max_by_key(|(_, process)| process.start_ns)?;
    (last.refused.is_none() && !profile.became_another(index)).then_some(index)
}
