//! What the sampler knows of the interpreter: the lists of thread states, names of threads, how far its layout is believed, and whose clock it reads.
//! Owns: what a question says of these. Never: lets the handler use a layout that was not checked (I-10). A part of sampler.rs.

use super::{LayoutTrust, Sampler};
use crate::process::safe_point;
use crate::system::real::direct;
use crate::system::signals;
use genba_format::proto;
use genba_python::check::fits;
use genba_python::stack::walked::PythonEnd;
use genba_python::thread_states::{States, THREAD_STATES_MAX, ThreadHints};
use genba_signal::handler::SHARED;
use genba_signal::jit::JIT;
use genba_signal::memory::{Blocks, ByKernel, Guarded};
use genba_signal::request::{Question, Reading};
use std::sync::atomic::Ordering::SeqCst;

impl Sampler {
    pub(super) fn question(&mut self, tid: u32) -> Question {
        let mut states = self.states.of(tid);
        if states.len == 0 && self.layout_trust != LayoutTrust::Wrong {
            self.refresh_states();
            states = self.states.of(tid);
        }
        if self.layout_trust.is_unchecked() && states.len > 0 {
            self.check_layout(&states);
        }
        if self.layout_trust != LayoutTrust::Checked {
            states.len = 0;
        }
        Question {
            thread: ThreadHints { pid: self.pid, tid, states },
            native: self.session.native,
            counts_beyond: false,
            reading: self.reading(),
        }
    }

    /// I-10: the table of offsets is checked on a living frame before the handler may use it. The thread may be in any of its interpreters: where
    /// mod_wsgi runs, no code ever runs in the first one.
    fn check_layout(&mut self, states: &States) {
        let (python, reading, pid) = (&self.python, self.reading(), self.pid);
        let fitting = states.iter().filter_map(|state| match reading {
            Reading::Guarded => fits(&Guarded, python, state),
            Reading::ByKernel => fits(&ByKernel::new(pid, &Blocks::zeroed()), python, state),
        });
        let fitting = fitting.reduce(|one, other| one || other);
        self.layout_trust = self.layout_trust.after(fitting);
        match self.layout_trust {
            LayoutTrust::Unchecked { .. } => {}
            LayoutTrust::Checked => {
                JIT.set(self.python.jit);
                safe_point::learn(&self.layout);
                SHARED.layout.store(&raw mut *self.layout, SeqCst);
            }
            LayoutTrust::Wrong => {
                let text = "this interpreter's structures are not where its version says: Python frames are left out";
                self.recorder.mark(proto::MarkKind::Note, text, 0);
            }
        }
    }

    /// Once: a forked child has it from its parent.
    pub(super) fn note_other_clock(&mut self) {
        if let Some(library) = direct::other_clock().filter(|_| !self.is_child) {
            let library = library.to_string_lossy();
            let text = format!(
                "the program reads the clock of {library}; times in this recording are the kernel's, and may differ"
            );
            self.recorder.mark(proto::MarkKind::Note, &text, 0);
        }
    }

    pub(super) fn refresh_states(&mut self) {
        let before = self.states.beyond;
        match self.reading() {
            Reading::Guarded => self.states.refresh(&Guarded, &self.python, self.pid),
            Reading::ByKernel => {
                self.states.refresh(&ByKernel::new(self.pid, &Blocks::zeroed()), &self.python, self.pid);
            }
        }
        for text in self.states.beyond.since(before) {
            self.recorder.mark(proto::MarkKind::Note, &text, 0);
        }
    }

    /// Looks up what `threading` calls a thread. From outside, while the program may change it: crates/python's thread_names.rs says when a
    /// name is believed.
    pub(super) fn read_name(&mut self, index: usize) {
        if self.layout_trust != LayoutTrust::Checked {
            return;
        }
        let (tid, pid, reading) = (self.threads[index].tid, self.pid, self.reading());
        let thread = ThreadHints { pid, tid, states: self.states.of(tid) };
        let (names, python) = (&mut self.names, &self.python);
        let mut look = || match reading {
            Reading::Guarded => names.look(&Guarded, python, &thread),
            Reading::ByKernel => names.look(&ByKernel::new(pid, &Blocks::zeroed()), python, &thread),
        };
        let (first, second) = (look(), look());
        let found = second.filter(|second| first.as_ref() == Some(second));
        // Python's number of a thread that has ended may be that of another one by now; while it lives, nobody else's.
        if let Some((_, name)) = found.filter(|_| !signals::is_gone(pid, tid)) {
            let string = self.tables.string(name.as_bytes());
            self.threads[index].name.is(string);
        }
    }

    pub(super) fn note_too_many(&mut self, python_end: PythonEnd) {
        if python_end == PythonEnd::TooMany && !std::mem::replace(&mut self.states.beyond.states_of_a_thread, true) {
            let text = format!("a thread is in more than {THREAD_STATES_MAX} interpreters: its looks are refused");
            self.recorder.mark(proto::MarkKind::Note, &text, 0);
        }
    }

    /// Whether the interpreter's lists of thread states changed since they were read.
    pub(super) fn states_are_outdated(&self) -> bool {
        match self.reading() {
            Reading::Guarded => self.states.is_outdated(&Guarded, &self.python),
            Reading::ByKernel => self.states.is_outdated(&ByKernel::new(self.pid, &Blocks::zeroed()), &self.python),
        }
    }
}
