//! The recording goes on under another process key: rows, sequence numbers and totals begin anew; the thread, the file and what was found
//! out about the process stay. Owns: what one segment hands to the next. Never: leaves a tick uncounted. A part of sampler.rs.

use super::Sampler;
use crate::process::process_key::random_key;
use crate::system::proc::{clock_ns, monotonic_ns};
use crate::writing::outcomes::Refused;
use crate::writing::tables::Tables;
use genba_format::proto;

impl Sampler {
    /// Ends this segment and begins the next, at the process's clock that its last block tells: what passes until each thread's clock is read
    /// again is the next one's, in no sample.
    pub(super) fn begin_segment(&mut self) {
        self.take_back(Refused::Unanswered);
        for index in 0..self.threads.len() {
            self.end_question(index, Refused::Unanswered);
            self.settle_glances(index);
            self.write_still(index);
            self.tell_step(index);
        }
        self.flush(Some("segment"));
        let now_ns = monotonic_ns();
        let start = proto::Start {
            continues_key: self.recorder.key().to_vec(),
            within: true,
            realtime_ns: clock_ns(libc::CLOCK_REALTIME).unwrap_or(0),
            monotonic_ns: now_ns,
            cpu_before_ns: self.recorder.cpu_told_ns(),
            ..self.start.clone()
        };
        self.recorder.begin_segment(random_key(), start);
        self.remember_origin();
        self.tables = Tables::default();
        self.stacks.begin_anew();
        self.ticks = 0;
        for index in 0..self.threads.len() {
            self.skip(index, now_ns);
            let thread = &mut self.threads[index];
            thread.row = None;
            thread.clock_told = None;
            thread.ledger.forget_wait();
        }
        self.flush(None);
    }
}
