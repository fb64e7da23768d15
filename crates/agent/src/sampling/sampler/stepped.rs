//! Which callback of its event loop a thread is in, tick by tick, and when it left one that took long.
//! Owns: how long a callback must take to be told. Never: counts time in which the thread wanted a CPU or the GIL. A part of sampler.rs, split off by subject.

use super::Sampler;
use crate::sampling::ledger::WaitingSample;
use crate::sampling::steps::Step;
use genba_format::state::State;

/// A shorter step is not told, unless it waited for so long: many of those may keep a loop for most of its time. Readers ask for more.
const TOLD_NS_MIN: u64 = 20_000_000;
const WAIT_TOLD_NS_MIN: u64 = 5_000_000;
/// Of a new thread state (`context_ver` in CPython's `pystate.c`, 3.11 to 3.15): each context that is entered or left adds one.
const FIRST_VERSION: u64 = 1;
/// An event loop that has nothing to do waits in these.
const LOOPS_OWN: [i64; 3] = [libc::SYS_epoll_wait, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2];

impl Sampler {
    /// A tick found the thread in that context, with its clock there. 0: which one is not known.
    pub(super) fn step_seen(&mut self, index: usize, context_version: u64, cpu_ns: u64, node: u32) {
        let step = self.threads[index].step.as_mut();
        if let Some(step) = step.filter(|step| step.is_of(context_version)) {
            return step.goes_on(cpu_ns, self.tables.stack_of(node));
        }
        self.tell_step(index);
        let stack = self.tables.stack_of(node);
        self.threads[index].step = (context_version > 0).then(|| Step::new(context_version, cpu_ns, stack));
    }

    /// Ends the thread's step. It may have lasted for the whole recording: whether a loop ran it the reader sees in its stack.
    pub(super) fn tell_step(&mut self, index: usize) {
        let Some(step) = self.threads[index].step.take().filter(is_told) else { return };
        let row = self.row(index);
        self.recorder.step(row, step.node(), step.length_ns());
    }

    /// A waiting sample is written: from the first tick that found it to the last one the thread waited in one step.
    pub(super) fn step_waited(&mut self, index: usize, still: &WaitingSample) {
        let is_blocked = match still.state {
            State::InSystemCall(number, _) => !LOOPS_OWN.contains(&i64::from(number)),
            state => state == State::Asleep,
        };
        let step = self.threads[index].step.as_mut();
        if let Some(step) = step.filter(|step| is_blocked && step.is_of(still.context_version)) {
            step.waited(still.end_ns.saturating_sub(still.began_ns), still.node);
        }
    }
}

/// A thread that never entered a context ran no callback of a loop.
const fn is_told(step: &Step) -> bool {
    !step.is_of(FIRST_VERSION) && (step.length_ns() >= TOLD_NS_MIN || step.waited_ns() >= WAIT_TOLD_NS_MIN)
}

#[cfg(test)]
mod tests {
    use super::is_told;
    use crate::sampling::steps::Step;

    fn step(context_version: u64, ran_ns: u64, waited_ns: u64) -> Step {
        let stack = || std::iter::once(1);
        let mut step = Step::new(context_version, 0, stack());
        step.goes_on(ran_ns, stack());
        step.waited(waited_ns, 1);
        step
    }

    /// FORMAT.md says so, and readers ask for waits of 5 ms (`SHORT_BLOCK_NS_MIN` in crates/profile/src/rules/verdict/thresholds.rs).
    #[test]
    fn steps_of_20_ms_and_waits_of_5_ms_are_told() {
        let told = |ran_ns, waited_ns| is_told(&step(2, ran_ns, waited_ns));
        assert!(told(20_000_000, 0) && told(15_000_001, 4_999_999));
        assert!(told(0, 5_000_000));
        assert!(!told(19_999_999, 0) && !told(15_000_000, 4_999_999));
    }

    /// Every thread without a loop is in one step from its begin to its end.
    #[test]
    fn what_a_thread_did_before_its_first_context_is_no_step() {
        let told = |version| is_told(&step(version, 1_000_000_000, 1_000_000_000));
        assert!(!told(1) && told(2));
    }
}
