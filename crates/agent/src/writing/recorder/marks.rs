//! Marks, for the next block: each says what happened at one instant.
//! Owns: what each kind of mark holds. Never: writes a block.

use super::{LockWait, Recorder};
use crate::system::proc::monotonic_ns;
use genba_format::{QUANTUM_NS, proto};

impl Recorder {
    pub fn mark(&mut self, kind: proto::MarkKind, text: &str, value: u64) {
        if kind == proto::MarkKind::Rss {
            self.rss_bytes = value;
        }
        let (kind, text) = (kind as i32 as u32, text.to_owned());
        self.marks.push(proto::Mark { at_ns: monotonic_ns(), kind, text, value, ..proto::Mark::default() });
    }

    /// The program loaded a file with code. An import loads dozens: those within a tenth of a second share a mark.
    pub fn loaded(&mut self, path: &str) {
        const TOGETHER_NS: u64 = 100_000_000;
        let (at_ns, kind) = (monotonic_ns(), proto::MarkKind::Loaded as i32 as u32);
        let last = self.marks.iter_mut().rfind(|mark| mark.kind == kind);
        match last.filter(|last| at_ns.saturating_sub(last.at_ns) < TOGETHER_NS) {
            Some(last) => last.value += 1,
            None => {
                let text = path.to_owned();
                self.marks.push(proto::Mark { at_ns, kind, text, value: 1, ..proto::Mark::default() });
            }
        }
    }

    /// A long step of a thread has ended.
    pub fn step(&mut self, thread: u32, node: u32, length_ns: u64) {
        self.marks.push(proto::Mark {
            at_ns: monotonic_ns(),
            kind: proto::MarkKind::Step as i32 as u32,
            text: String::new(),
            value: length_ns,
            thread: thread + 1,
            node,
            other: 0,
        });
    }

    /// A thread waited for a lock: adds to what it has waited in this block.
    pub fn held_up(&mut self, wait: LockWait, wall_quanta: u64) {
        *self.lock_waits.entry(wait).or_default() += wall_quanta;
    }

    /// One mark for each wait for a lock in this block.
    pub(super) fn mark_lock_waits(&mut self) {
        let at_ns = monotonic_ns();
        let mark = |(wait, wall_quanta): (LockWait, u64)| proto::Mark {
            at_ns,
            kind: proto::MarkKind::Held as i32 as u32,
            text: String::new(),
            value: wall_quanta * QUANTUM_NS,
            thread: wait.thread + 1,
            node: wait.node,
            other: wait.holder + 1,
        };
        self.marks.extend(std::mem::take(&mut self.lock_waits).into_iter().map(mark));
    }
}
