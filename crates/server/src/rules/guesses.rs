//! Wrong tokens, counted by the address that they come from.
//! Owns: when an address has to wait. Never: keeps a valid token waiting: 256 random bits are not guessed, however fast.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const WRONG_MAX: u32 = 10;
const WITHIN: Duration = Duration::from_secs(60);
/// Beyond so many addresses all of them are forgotten.
const ADDRESSES_MAX: usize = 10_000;

#[derive(Default)]
pub struct Guesses(Mutex<HashMap<IpAddr, Wrong>>);

struct Wrong {
    since: Instant,
    times: u32,
}

impl Guesses {
    /// Seconds to wait, where that was one too many within a minute.
    pub fn note_wrong(&self, address: IpAddr, now: Instant) -> Option<u32> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= ADDRESSES_MAX && !known.contains_key(&address) {
            known.clear();
        }
        let wrong = known.entry(address).or_insert(Wrong { since: now, times: 0 });
        if now.duration_since(wrong.since) >= WITHIN {
            *wrong = Wrong { since: now, times: 0 };
        }
        wrong.times = wrong.times.saturating_add(1);
        let waited = now.duration_since(wrong.since);
        (wrong.times > WRONG_MAX).then(|| (WITHIN.saturating_sub(waited).as_secs() as u32).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eleventh_within_a_minute_waits() {
        let (guesses, begin) = (Guesses::default(), Instant::now());
        let [one, other] = [[127, 0, 0, 1], [127, 0, 0, 2]].map(IpAddr::from);
        assert!((0..10).all(|_| guesses.note_wrong(one, begin).is_none()));
        assert_eq!(guesses.note_wrong(one, begin + Duration::from_secs(20)), Some(40));
        assert_eq!(guesses.note_wrong(other, begin), None);
        assert_eq!(guesses.note_wrong(one, begin + Duration::from_secs(61)), None);
    }
}
