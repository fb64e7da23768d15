//! When one thread is looked at next: on each tick while it runs, less and less often while it sleeps, with glances at its clock between.
//! Owns: the back-off of a thread, what its glances found. Never: reads a clock, counts a look (the ledger and the recorder do).

use super::others::Others;

const BACK_OFF_NS_MIN: u64 = 2_000_000;
const BACK_OFF_NS_MAX: u64 = 16_000_000;
/// Many threads back off further: a tick has time for so many glances and no more.
const BACK_OFF_NS_PER_THREAD: u64 = 64_000;
/// A sleeping thread is looked at this often at least: what its waiting sample holds is not written before.
const LOOK_NS_MAX: u64 = 250_000_000;

/// So long a sleeping thread is left alone at most, in a program with so many.
#[must_use]
pub fn back_off_ns_max(threads: usize) -> u64 {
    BACK_OFF_NS_MAX.max(threads as u64 * BACK_OFF_NS_PER_THREAD)
}

#[derive(Clone, Copy, Debug)]
pub struct Looks {
    next_look_ns: u64,
    back_off_ns: u64,
    /// When its clock is read next, between two looks.
    next_glance_ns: u64,
    /// When its clock was last found where the last look left it.
    glanced_ns: Option<u64>,
    /// When its clock was last read, just before.
    read_ns: u64,
}

impl Looks {
    #[must_use]
    pub const fn new(now_ns: u64) -> Looks {
        Looks { next_look_ns: now_ns, back_off_ns: 0, next_glance_ns: now_ns, glanced_ns: None, read_ns: 0 }
    }

    #[must_use]
    pub const fn is_look_due(&self, now_ns: u64) -> bool {
        now_ns >= self.next_look_ns
    }

    #[must_use]
    pub const fn is_glance_due(&self, now_ns: u64) -> bool {
        now_ns >= self.next_glance_ns
    }

    /// The next tick glances at it.
    pub const fn glance_soon(&mut self) {
        self.next_glance_ns = 0;
    }

    /// Whether nobody ran since its clock was last read.
    #[must_use]
    pub const fn stands_still(&self, others: &Others) -> bool {
        others.stand_still_since(self.read_ns)
    }

    /// A sleeping thread is due, and its clock stands still: its look may wait. False: not for longer. `waited_ns`: its waiting sample,
    /// if there is one, ends there.
    pub fn put_off(&mut self, now_ns: u64, glances: u64, waited_ns: Option<u64>) -> bool {
        let last_ns = waited_ns.map(|waited_ns| waited_ns + LOOK_NS_MAX).filter(|last_ns| now_ns < *last_ns);
        let Some(last_ns) = last_ns else { return false };
        self.next_look_ns = (now_ns + self.back_off_ns * glances).min(last_ns);
        true
    }

    /// A glance found its clock where the last look left it.
    pub const fn glanced(&mut self, now_ns: u64) {
        self.next_glance_ns = now_ns + self.back_off_ns;
        self.glanced_ns = Some(now_ns);
        self.read_ns = now_ns;
    }

    /// Its glances are told now: up to the last one, or as long as it stood still since, the thread waited on. `waited_ns`: its waiting
    /// sample, if there is one, ends there.
    pub fn settle(&mut self, others: &Others, waited_ns: Option<u64>) -> Option<u64> {
        let glanced_ns = self.glanced_ns.take();
        let stood_ns = others.stood_until_ns(self.read_ns, waited_ns?);
        glanced_ns.max(stood_ns)
    }

    pub const fn forget_glances(&mut self) {
        self.glanced_ns = None;
    }

    /// A look read its clock then, and tells how it went on.
    pub const fn looked(&mut self, read_ns: u64) {
        self.glanced_ns = None;
        self.read_ns = read_ns;
    }

    /// It ran since the look before: it is looked at on each tick.
    pub const fn ran(&mut self) {
        self.back_off_ns = 0;
        self.next_look_ns = 0;
    }

    /// It did not: the next look comes later than this one did.
    pub fn slept(&mut self, now_ns: u64, glances: u64, back_off_ns_max: u64) {
        self.back_off_ns = (self.back_off_ns * 2).clamp(BACK_OFF_NS_MIN, back_off_ns_max);
        self.next_glance_ns = now_ns + self.back_off_ns;
        self.next_look_ns = now_ns + (self.back_off_ns * glances).min(LOOK_NS_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::{LOOK_NS_MAX, Looks, Others, back_off_ns_max};

    const MILLISECOND_NS: u64 = 1_000_000;
    const START_NS: u64 = 1_000 * MILLISECOND_NS;

    #[test]
    fn a_sleeper_backs_off_and_comes_back_at_once() {
        let mut looks = Looks::new(START_NS);
        assert!(looks.is_look_due(START_NS) && looks.is_glance_due(START_NS));
        let mut back_off_ms = || {
            looks.slept(START_NS, 4, back_off_ns_max(20));
            assert_eq!(looks.next_look_ns - START_NS, looks.back_off_ns * 4);
            looks.back_off_ns / MILLISECOND_NS
        };
        assert_eq!([(); 5].map(|()| back_off_ms()), [2, 4, 8, 16, 16]);
        assert!(!looks.is_look_due(START_NS + MILLISECOND_NS));
        looks.ran();
        assert!(looks.is_look_due(0));
        looks.slept(START_NS, 4, back_off_ns_max(20));
        assert_eq!(looks.back_off_ns, 2 * MILLISECOND_NS);
        // A thousand threads: 64 ms; and no look comes later than the waiting sample is written.
        assert_eq!(back_off_ns_max(1_000), 64 * MILLISECOND_NS);
        (0..10).for_each(|_| looks.slept(START_NS, 5, back_off_ns_max(1_000)));
        assert_eq!(looks.next_look_ns, START_NS + LOOK_NS_MAX);
    }

    #[test]
    fn a_look_is_put_off_until_its_sample_must_be_written() {
        let mut looks = Looks::new(START_NS);
        looks.slept(START_NS, 4, back_off_ns_max(20));
        assert!(looks.put_off(START_NS, 4, Some(START_NS)));
        assert_eq!(looks.next_look_ns, START_NS + 8 * MILLISECOND_NS);
        let last_ns = START_NS + LOOK_NS_MAX;
        assert!(looks.put_off(last_ns - 1, 4, Some(START_NS)));
        assert_eq!(looks.next_look_ns, last_ns);
        assert!(!looks.put_off(last_ns, 4, Some(START_NS)));
        assert!(!looks.put_off(START_NS, 4, None), "it has no sample that could go on");
    }

    #[test]
    fn glances_are_told_once_and_only_of_a_thread_that_waits() {
        let others = Others::default();
        let mut looks = Looks::new(START_NS);
        looks.glanced(START_NS + 5);
        assert_eq!(looks.settle(&others, Some(START_NS)), Some(START_NS + 5));
        assert_eq!(looks.settle(&others, Some(START_NS)), None);
        looks.glanced(START_NS + 7);
        assert_eq!(looks.settle(&others, None), None);
        assert_eq!(looks.settle(&others, Some(START_NS)), None, "it was forgotten");
    }

    #[test]
    fn nobody_ran_is_as_good_as_a_glance() {
        let mut others = Others::default();
        others.tick(START_NS, true);
        others.tick(START_NS + 100 * MILLISECOND_NS, false);
        let mut looks = Looks::new(START_NS);
        assert!(!looks.stands_still(&others));
        looks.looked(START_NS);
        assert!(looks.stands_still(&others));
        assert_eq!(looks.settle(&others, Some(START_NS)), Some(START_NS + 90 * MILLISECOND_NS));
        looks.glanced(START_NS + 95 * MILLISECOND_NS);
        assert_eq!(looks.settle(&others, Some(START_NS)), Some(START_NS + 95 * MILLISECOND_NS));
    }
}
