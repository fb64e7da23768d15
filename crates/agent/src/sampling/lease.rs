//! How long a recording goes on that a command began in a running program: until the command gives up its lock on the recording, or is gone.
//! Owns: how often that is asked. Never: asks the file (recorder.rs does), ends the recording.

/// The program records for so long at most after its command was killed.
const ASKED_EVERY_NS: u64 = 50_000_000;

pub struct Lease {
    /// `None`: the recording needs none.
    due_ns: Option<u64>,
}

impl Lease {
    #[must_use]
    pub fn new(is_leased: bool, now_ns: u64) -> Lease {
        Lease { due_ns: is_leased.then_some(now_ns + ASKED_EVERY_NS) }
    }

    /// Whether it is over, where it is time to ask.
    pub fn is_over(&mut self, now_ns: u64, is_held: impl FnOnce() -> bool) -> bool {
        if self.due_ns.is_none_or(|due_ns| now_ns < due_ns) {
            return false;
        }
        self.due_ns = Some(now_ns + ASKED_EVERY_NS);
        !is_held()
    }

    /// The earlier of the two moments: when the recording ends by itself, and when the lease is to be looked at.
    #[must_use]
    pub fn not_after(&self, until_ns: Option<u64>) -> Option<u64> {
        match (self.due_ns, until_ns) {
            (Some(due_ns), Some(until_ns)) => Some(due_ns.min(until_ns)),
            (due_ns, until_ns) => due_ns.or(until_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ASKED_EVERY_NS, Lease};

    #[test]
    fn it_is_asked_for_from_time_to_time() {
        let mut lease = Lease::new(true, 1_000);
        assert!(!lease.is_over(1_000, || unreachable!("not due yet")));
        assert!(!lease.is_over(1_000 + ASKED_EVERY_NS, || true));
        assert!(!lease.is_over(1_001 + ASKED_EVERY_NS, || unreachable!("just asked")));
        assert!(lease.is_over(1_000 + 2 * ASKED_EVERY_NS, || false));
        assert!(!Lease::new(false, 0).is_over(u64::MAX, || false));
    }

    #[test]
    fn a_rest_ends_when_it_is_due() {
        assert_eq!(Lease::new(true, 0).not_after(Some(7)), Some(7));
        assert_eq!(Lease::new(true, 0).not_after(None), Some(ASKED_EVERY_NS));
        assert_eq!(Lease::new(false, 0).not_after(Some(7)), Some(7));
        assert_eq!(Lease::new(false, 0).not_after(None), None);
    }
}
