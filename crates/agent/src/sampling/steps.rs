//! Steps of an event loop, as far as ticks prove them. Each callback runs in a context, which the thread enters and leaves, and the thread
//! state counts these changes. Two ticks with the same count found the same callback, and it ran all the time between them.
//! Owns: what of a step is proved. Never: takes two callbacks for one; knows which loop runs.

/// From the first tick that found it to the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    context_version: u64,
    first_cpu_ns: u64,
    last_cpu_ns: u64,
    waited_ns: u64,
    /// The stack that most of it was seen in, if one has more than half; else one of them.
    node: u32,
    lead_ns: u64,
}

impl Step {
    #[must_use]
    pub const fn new(context_version: u64, cpu_ns: u64, node: u32) -> Step {
        Step { context_version, first_cpu_ns: cpu_ns, last_cpu_ns: cpu_ns, waited_ns: 0, node, lead_ns: 0 }
    }

    #[must_use]
    pub const fn is_of(&self, context_version: u64) -> bool {
        self.context_version == context_version
    }

    /// Looked at again, with the thread's clock there.
    pub fn goes_on(&mut self, cpu_ns: u64, node: u32) {
        let ran_ns = cpu_ns.saturating_sub(self.last_cpu_ns);
        self.last_cpu_ns = self.last_cpu_ns.max(cpu_ns);
        self.was_in(node, ran_ns);
    }

    /// Its clock stood still for so long.
    pub fn waited(&mut self, waited_ns: u64, node: u32) {
        self.waited_ns += waited_ns;
        self.was_in(node, waited_ns);
    }

    fn was_in(&mut self, node: u32, for_ns: u64) {
        if node == self.node {
            self.lead_ns += for_ns;
        } else if for_ns > self.lead_ns {
            (self.node, self.lead_ns) = (node, for_ns - self.lead_ns);
        } else {
            self.lead_ns -= for_ns;
        }
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

    #[must_use]
    pub const fn node(&self) -> u32 {
        self.node
    }
}

#[cfg(test)]
mod tests {
    use super::Step;

    #[test]
    fn a_step_is_what_lies_between_its_ticks() {
        let mut step = Step::new(7, 1_000, 3);
        assert_eq!((step.length_ns(), step.node()), (0, 3));
        step.goes_on(1_400, 3);
        step.waited(50, 4);
        step.goes_on(1_500, 4);
        assert_eq!((step.length_ns(), step.node()), (550, 3));
        step.waited(900, 4);
        assert_eq!((step.length_ns(), step.node()), (1_450, 4));
        assert_eq!(step.waited_ns(), 950);
        assert!(step.is_of(7) && !step.is_of(8));
    }
}
