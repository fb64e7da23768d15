//! The sampler's thread goes to the CPU of a thread whose samples are wrong when it is asked from another one (schedule/beside.rs).
//! Owns: what tells such an answer, and the way there. Never: asks, changes another thread. A part of looks.rs.

use crate::process::scheduling::Stay;
use crate::sampling::sampler::Sampler;
use crate::sampling::schedule::beside::{Beside, Move};
use crate::sampling::threads::OpenQuestion;
use crate::system::proc::{Scheduled, scheduled};
use crate::system::tasks;
use genba_python::memory::{Address, Memory};
use genba_signal::memory::Guarded;
use genba_signal::request::{Answer, Reading};

/// The instruction, as the low bytes of a word.
const SYSCALL: u16 = 0x050f;
/// A system call that ends so long after the question took that time for itself; the interrupt was there before.
const INTERRUPT_NS_MAX: u64 = 50_000;

impl Sampler {
    /// The thread ran on another CPU when it was asked.
    pub(super) fn asked_elsewhere(&mut self, index: usize, now_ns: u64) {
        let thread = &self.threads[index];
        if let Some(until_ns) = thread.call_ends.beside_until_ns(now_ns) {
            self.schedule.beside.asked(thread.number, until_ns);
        }
    }

    pub(super) fn answered_from(&mut self, index: usize, open: &OpenQuestion, answer: &Answer) {
        if open.elsewhere {
            let at_end = self.is_soon(open, answer) && self.is_behind_a_call(answer);
            self.threads[index].call_ends.answered(at_end, open.asked_ns);
        }
    }

    fn is_soon(&self, open: &OpenQuestion, answer: &Answer) -> bool {
        let began_ns = self.recorder.moment_ns(answer.began_tsc);
        began_ns.is_some_and(|began_ns| began_ns < open.asked_ns + INTERRUPT_NS_MAX)
    }

    /// Where the thread goes on is right behind a system call. A handler that may not read with guard tells no time either: `is_soon` says no.
    fn is_behind_a_call(&self, answer: &Answer) -> bool {
        let leaf = answer.native[..answer.native_len].first().filter(|_| self.reading() == Reading::Guarded);
        let before = leaf.map(|leaf| Guarded.word(Address(leaf.pc.wrapping_sub(2))));
        before.is_some_and(|word| word.is_ok_and(|word| word as u16 == SYSCALL))
    }

    /// After a tick, which came so late.
    pub(in crate::sampling::sampler) fn go_beside(&mut self, now_ns: u64, late_ns: u64) {
        if !self.stacks.loaded.is_compiled() || self.heaps.are_walked() {
            // What it does then takes long, and a thread that it makes would be bound, too.
            return self.go_anywhere();
        }
        match self.schedule.beside.after_tick(now_ns, late_ns) {
            Move::None => {}
            Move::Back => self.stay.leave(),
            Move::To(number) => {
                let is_beside = self.is_beside(number);
                if self.stay.is_never() {
                    self.schedule.beside.gives_up(now_ns);
                } else if !is_beside
                    && let Some(thread) = self.threads.iter_mut().find(|thread| thread.number == number)
                {
                    thread.call_ends.forget();
                }
            }
        }
    }

    /// Goes to a thread's CPU. False: it may not, or would get none of it there.
    fn is_beside(&mut self, number: u32) -> bool {
        let Some(tasks) = self.tasks.as_ref().filter(|_| !self.stay.is_never()) else { return false };
        let Some(Scheduled { cpu, policy }) = scheduled(tasks.folder(), &tasks::path(number, "stat")) else {
            // It has just ended.
            return true;
        };
        [libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&policy) && self.stay.on(cpu)
    }

    pub(in crate::sampling::sampler) fn go_anywhere(&mut self) {
        self.schedule.beside.left();
        self.stay.leave();
    }

    /// On a thread of the sampler's that is bound to no CPU yet.
    pub(in crate::sampling::sampler) fn begin_anywhere(&mut self) {
        self.schedule.beside = Beside::default();
        self.stay = Stay::anywhere();
    }
}
