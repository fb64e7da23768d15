//! Steps of an event loop, as far as ticks prove them. Each callback runs in a context, which the thread enters and leaves, and the thread
//! state counts these changes. Two ticks with the same count found the same callback, and it ran all the time between them.
//! Owns: what of a step is proved. Never: takes two callbacks for one; knows which loop runs.

pub mod seen;

use seen::SeenStacks;

/// From the first tick that found it to the last one.
#[derive(Clone, Debug)]
pub struct Step {
    context_version: u64,
    first_cpu_ns: u64,
    last_cpu_ns: u64,
    waited_ns: u64,
    seen: SeenStacks,
}

impl Step {
    /// `stack`: its nodes from the root on, the last one its leaf.
    #[must_use]
    pub fn new(context_version: u64, cpu_ns: u64, stack: impl Iterator<Item = u32>) -> Step {
        let mut seen = SeenStacks::default();
        seen.add(stack, 0);
        Step { context_version, first_cpu_ns: cpu_ns, last_cpu_ns: cpu_ns, waited_ns: 0, seen }
    }

    #[must_use]
    pub const fn is_of(&self, context_version: u64) -> bool {
        self.context_version == context_version
    }

    /// Looked at again, with the thread's clock there.
    pub fn goes_on(&mut self, cpu_ns: u64, stack: impl Iterator<Item = u32>) {
        let ran_ns = cpu_ns.saturating_sub(self.last_cpu_ns);
        self.last_cpu_ns = self.last_cpu_ns.max(cpu_ns);
        self.seen.add(stack, ran_ns);
    }

    /// Its clock stood still for so long, in a stack that it was seen in.
    pub fn waited(&mut self, waited_ns: u64, leaf: u32) {
        self.waited_ns += waited_ns;
        self.seen.add_to(leaf, waited_ns);
    }

    /// CPU time, and time in calls that block.
    #[must_use]
    pub const fn length_ns(&self) -> u64 {
        self.last_cpu_ns - self.first_cpu_ns + self.waited_ns
    }

    /// Of this, in calls that block.
    #[must_use]
    pub const fn waited_ns(&self) -> u64 {
        self.waited_ns
    }

    /// Where most of it was.
    #[must_use]
    pub fn node(&self) -> u32 {
        self.seen.heaviest()
    }
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn a_step_is_what_lies_between_its_ticks() {
        let stack = |leaf: u32| [1, leaf].into_iter();
        let mut step = Step::new(7, 1_000, stack(3));
        assert_eq!((step.length_ns(), step.node()), (0, 3));
        step.goes_on(1_400, stack(3));
        step.goes_on(1_400, stack(4));
        step.waited(50, 4);
        step.goes_on(1_500, stack(4));
        assert_eq!((step.length_ns(), step.node()), (550, 3));
        step.waited(900, 4);
        assert_eq!((step.length_ns(), step.node()), (1_450, 4));
        assert_eq!(step.waited_ns(), 950);
        assert!(step.is_of(7) && !step.is_of(8));
    }
}
