//! How long to wait before a request is tried again, and when to give up.
//! Owns: those times. Never: sleeps; the caller does, who may be woken.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);
/// In a row, without progress: together 12.7 seconds, longer than a server takes to start again.
const WAITS_MAX: u32 = 7;
/// A server that asks for more is not waited for.
const ASKED_MAX: Duration = Duration::from_secs(60);

/// While nobody but genba waits: of requests without any answer. At the end of a program: one more.
const SILENCES_MAX: u32 = 3;
const SILENCES_AT_THE_END_MAX: u32 = 1;

pub struct Waits {
    waited: u32,
    waits_max: u32,
    silences: u32,
    silences_max: u32,
}

impl Waits {
    pub const fn bounded() -> Waits {
        Waits { waited: 0, waits_max: WAITS_MAX, silences: 0, silences_max: SILENCES_MAX }
    }

    /// The program has ended, and whoever ran it waits.
    pub const fn at_the_end() -> Waits {
        Waits { silences_max: SILENCES_AT_THE_END_MAX, ..Waits::bounded() }
    }

    /// The same where the last request before got no answer.
    pub const fn after_silence() -> Waits {
        Waits { silences_max: 0, ..Waits::bounded() }
    }

    /// For as long as the program runs.
    pub const fn endless() -> Waits {
        Waits { waited: 0, waits_max: u32::MAX, silences: 0, silences_max: u32::MAX }
    }

    /// Twice the wait before, and at least what the server asked for. None: it is no use.
    pub fn next(&mut self, asked: Option<Duration>) -> Option<Duration> {
        if self.waited >= self.waits_max || asked.is_some_and(|asked| asked > ASKED_MAX) {
            return None;
        }
        let own = FIRST.saturating_mul(1 << self.waited.min(20)).min(LONGEST);
        self.waited = self.waited.saturating_add(1);
        Some(own.max(asked.unwrap_or_default()))
    }

    /// The same after a small request that the server took and did not answer: each of them took its whole time.
    pub fn next_after_silence(&mut self) -> Option<Duration> {
        if self.silences >= self.silences_max {
            return None;
        }
        self.silences = self.silences.saturating_add(1);
        self.next(None)
    }

    /// There was progress.
    pub const fn begin_again(&mut self) {
        self.waited = 0;
        self.silences = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end_and_begin_again_after_progress() {
        let mut waits = Waits::bounded();
        let all: Vec<u128> = std::iter::from_fn(|| waits.next(None)).map(|wait| wait.as_millis()).collect();
        assert_eq!(all, [100, 200, 400, 800, 1600, 3200, 6400]);
        waits.begin_again();
        assert_eq!(waits.next(None), Some(FIRST));
        assert_eq!(waits.next(Some(Duration::from_secs(5))), Some(Duration::from_secs(5)));
        assert_eq!(waits.next(Some(Duration::from_secs(61))), None);
    }

    #[test]
    fn silence_is_waited_for_less_often() {
        let tries = |mut waits: Waits| std::iter::from_fn(|| waits.next_after_silence()).count();
        let all = [Waits::after_silence(), Waits::at_the_end(), Waits::bounded()];
        assert_eq!(all.map(tries), [0, 1, 3]);
        let mut waits = Waits::at_the_end();
        assert!(waits.next_after_silence().is_some() && waits.next_after_silence().is_none());
        assert!(waits.next(None).is_some(), "an answer that asks to come back is none");
        waits.begin_again();
        assert!(waits.next_after_silence().is_some());
    }

    #[test]
    fn while_the_program_runs_there_is_no_end() {
        let mut waits = Waits::endless();
        let last = (0..1000).map(|_| waits.next(None)).last().flatten();
        assert_eq!(last, Some(LONGEST));
    }
}
