//! What every request works with.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::keeping::keeper::Keeper;
use crate::keeping::looks::{Look, Looks};
use crate::routes::metrics::Metrics;
use crate::rules::access::Caller;
use crate::rules::guesses::Guesses;
use crate::rules::room::Room;
use crate::storage::listing;
use crate::storage::recordings::{Recording, State};
use crate::storage::terms::{self, Kind};
use crate::storage::tokens;
use crate::words::problem::Problem;

/// The facts of a live recording are as old as this at the most, while it grows.
const LEARNT_EVERY: Duration = Duration::from_secs(1);
/// Counts of words beside the list may be as old as this.
const COUNTED_EVERY: Duration = Duration::from_secs(10);
/// The number of all recordings may be as old as this, where another server took one.
const TOTALS_EVERY: Duration = Duration::from_secs(1);
const WORDS_MAX: i64 = 12;
/// That all is well may be as old as this.
const WELL_FOR: Duration = Duration::from_secs(1);

/// None: it is gone.
pub type Standing = Result<Option<Arc<Recording>>, Problem>;
/// The values of `Authorization` and of `Cookie`, as they came.
pub type Credentials = [Vec<Vec<u8>>; 2];

type Counted = Arc<Vec<((Kind, String), u64)>>;

pub struct Shared {
    pub keeper: Keeper,
    pub guesses: Guesses,
    /// In memory, for what uploads bring in.
    pub uploads: Room,
    /// In memory, for answers that readers take.
    pub answers: Room,
    pub metrics: Metrics,
    /// Of recordings that are followed, by their ids.
    pub standings: Looks<String, Standing>,
    /// Of those who follow them. None: nobody that the server knows, or the database does not say.
    pub followers: Looks<Credentials, Option<Caller>>,
    /// Once there was a token, everybody needs one.
    needs_login: AtomicBool,
    /// Live recordings whose facts are being read, or will be in a moment. True: more came since that reading began.
    learning: Mutex<HashMap<String, bool>>,
    frequent: Mutex<Option<(Instant, Counted)>>,
    totals: Mutex<Option<Totals>>,
    health: Look<Health>,
    /// True once the server ends: streams end too.
    pub ending: watch::Receiver<bool>,
}

/// Whether both answered.
#[derive(Clone, Copy, Debug)]
pub struct Health {
    pub database: bool,
    pub store: bool,
}

impl Health {
    /// Of a look that began then, for somebody who asked: it was looked at since, or all was well a moment ago.
    fn holds(self, began: Instant, asked: Instant, now: Instant) -> bool {
        let is_well = self.database && self.store;
        began >= asked || (is_well && now.duration_since(began) < WELL_FOR)
    }
}

/// Of all recordings.
#[derive(Clone, Copy)]
struct Totals {
    at: Instant,
    changes: u64,
    recordings: u64,
    bytes: u64,
}

pub type AppState = Arc<Shared>;

impl Shared {
    pub fn new(keeper: Keeper, is_loopback: bool, ending: watch::Receiver<bool>) -> Shared {
        Shared {
            keeper,
            guesses: Guesses::default(),
            uploads: Room::for_uploads(),
            answers: Room::for_answers(),
            metrics: Metrics::new(),
            standings: Looks::default(),
            followers: Looks::default(),
            needs_login: AtomicBool::new(!is_loopback),
            learning: Mutex::default(),
            frequent: Mutex::default(),
            totals: Mutex::default(),
            health: Look::default(),
            ending,
        }
    }

    /// Reads what there is of a live recording, once for all parts that come within a moment. One reading at a time for each: however
    /// slow it is, a recording has one copy in the scratch folder for it.
    pub fn learn_later(state: &AppState, id: &str) {
        if !state.begins_learning(id) {
            return;
        }
        let (state, id) = (Arc::clone(state), id.to_owned());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LEARNT_EVERY).await;
                state.learning().insert(id.clone(), false);
                // A beginning that cannot be read yet has no facts yet; the seal says what is wrong with the whole.
                if let Ok(recording) = state.keeper.find(&id).await
                    && recording.state == State::Open
                {
                    let _ = state.keeper.learn(&recording).await;
                }
                if state.ends_learning(&id) {
                    break;
                }
            }
        });
    }

    fn learning(&self) -> MutexGuard<'_, HashMap<String, bool>> {
        self.learning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False: somebody reads it already, and is told that there is more.
    fn begins_learning(&self, id: &str) -> bool {
        match self.learning().entry(id.to_owned()) {
            Entry::Occupied(mut has_more) => {
                has_more.insert(true);
                false
            }
            Entry::Vacant(free) => {
                free.insert(false);
                true
            }
        }
    }

    /// False: more came meanwhile, and it goes on.
    fn ends_learning(&self, id: &str) -> bool {
        let mut learning = self.learning();
        let has_more = learning.get(id).copied().unwrap_or_default();
        if !has_more {
            learning.remove(id);
        }
        !has_more
    }

    /// Tags, verdicts and owners that many recordings have.
    pub async fn frequent_words(&self) -> Result<Counted, Problem> {
        let known = self.frequent.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, words)) = known.filter(|(at, _)| at.elapsed() < COUNTED_EVERY) {
            return Ok(words);
        }
        let mut words = Vec::new();
        for kind in [Kind::Tag, Kind::Verdict, Kind::Who] {
            let found = terms::frequent(&self.keeper.database, kind, WORDS_MAX).await?;
            words.extend(
                found.into_iter().map(|(word, count)| ((kind, word), u64::try_from(count).unwrap_or_default())),
            );
        }
        let words = Arc::new(words);
        *self.frequent.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), Arc::clone(&words)));
        Ok(words)
    }

    /// All recordings that are listed, and their bytes. `owner`: only theirs.
    pub async fn totals(&self, owner: Option<&str>) -> Result<(u64, u64), Problem> {
        let database = &self.keeper.database;
        if owner.is_some() {
            return listing::totals(database, owner).await;
        }
        let changes = database.changes();
        let known = *self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.filter(|known| known.changes == changes && known.at.elapsed() < TOTALS_EVERY) {
            return Ok((known.recordings, known.bytes));
        }
        let (recordings, bytes) = listing::totals(database, None).await?;
        let found = Totals { at: Instant::now(), changes, recordings, bytes };
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        Ok((recordings, bytes))
    }

    /// Anybody may ask, and a look at a bucket is paid for: one look at a time, for all who wait for it.
    pub async fn health(&self) -> Health {
        let asked = Instant::now();
        let ask = async {
            let (database, store) = tokio::join!(self.keeper.database.is_there(), self.keeper.store.is_there());
            Health { database, store }
        };
        self.health.at(|began, health| health.holds(began, asked, Instant::now()), ask).await.1
    }

    pub async fn needs_login(&self) -> Result<bool, Problem> {
        // Relaxed: it only ever becomes true, and who reads an old value asks the database.
        if self.needs_login.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let is_any = tokens::is_any(&self.keeper.database).await?;
        self.needs_login.store(is_any, Ordering::Relaxed);
        Ok(is_any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_something_does_not_answer_is_told_those_who_waited_and_nobody_later() {
        let (began, moment) = (Instant::now(), Duration::from_millis(1));
        for (database, store, is_well) in [(true, true, true), (true, false, false), (false, true, false)] {
            let health = Health { database, store };
            let holds = |asked: Instant, now: Instant| health.holds(began, asked, now);
            assert!(holds(began, began + 60 * WELL_FOR), "it was asked before, and answered late");
            assert_eq!(holds(began + moment, began + moment), is_well);
            assert!(!holds(began + WELL_FOR, began + WELL_FOR));
        }
    }

    #[test]
    fn a_recording_is_read_by_one_at_a_time_and_what_comes_meanwhile_is_read_next() {
        Keeper::in_new_folder(async |keeper| {
            let shared = Shared::new(keeper, true, watch::channel(false).1);
            assert!(shared.begins_learning("one") && shared.begins_learning("other"));
            // Parts come while it is read.
            assert!(!shared.begins_learning("one") && !shared.begins_learning("one"));
            assert!(!shared.ends_learning("one"));
            assert!(!shared.begins_learning("one"));
            shared.learning().insert("one".to_owned(), false);
            assert!(shared.ends_learning("one") && shared.ends_learning("other"));
            assert!(shared.begins_learning("one"));
        });
    }
}
