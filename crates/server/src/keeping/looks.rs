//! Looks at something that changes, shared by all who want to know the same: all followers of a recording together ask the database once.
//! Owns: who waits for whose look. Never: decides which look is new enough for the one who asks, or keeps one that nobody needs any more.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use tokio::sync::Mutex as Turn;

/// By what is looked at.
pub struct Looks<K, V>(Mutex<HashMap<K, Weak<Look<V>>>>);

/// At one thing: the last one, when it began and what was seen.
pub struct Look<V>(Turn<Option<(Instant, V)>>);

impl<K, V> Default for Looks<K, V> {
    fn default() -> Looks<K, V> {
        Looks(Mutex::default())
    }
}

impl<V> Default for Look<V> {
    fn default() -> Look<V> {
        Look(Turn::new(None))
    }
}

impl<K: Eq + Hash, V: Clone> Looks<K, V> {
    /// Shared with all who have it now.
    pub fn of(&self, key: K) -> Arc<Look<V>> {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(look) = looks.get(&key).and_then(Weak::upgrade) {
            return look;
        }
        looks.retain(|_, look| look.strong_count() > 0);
        let look = Arc::new(Look::default());
        looks.insert(key, Arc::downgrade(&look));
        look
    }
}

impl<V: Clone> Look<V> {
    /// The last look if it is new enough by its begin and by what it saw, else a new one by `ask`; and when it began. Only one caller asks at a
    /// time, and the others wait. A caller that is dropped while it asks leaves the question to the next.
    pub async fn at(&self, is_new_enough: impl Fn(Instant, &V) -> bool, ask: impl Future<Output = V>) -> (Instant, V) {
        let mut last = self.0.lock().await;
        if let Some((began, seen)) = last.as_ref().filter(|(began, seen)| is_new_enough(*began, seen)) {
            return (*began, seen.clone());
        }
        let began = Instant::now();
        let seen = ask.await;
        *last = Some((began, seen.clone()));
        (began, seen)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::future::join_all;

    use super::*;

    fn in_runtime(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(test);
    }

    #[test]
    fn all_who_know_the_same_share_the_next_look() {
        in_runtime(async {
            let (looks, asked) = (Looks::<&str, u32>::default(), Cell::new(0));
            let ask = || async {
                // Others come meanwhile.
                tokio::task::yield_now().await;
                asked.set(asked.get() + 1);
                asked.get()
            };
            let followers: Vec<_> = (0..1_000).map(|_| looks.of("one")).collect();
            let mut known = Instant::now();
            for round in 1..=3 {
                let told = join_all(followers.iter().map(|look| look.at(move |began, _| began > known, ask()))).await;
                assert!(told.iter().all(|(_, seen)| *seen == round), "{told:?}");
                known = told[0].0;
            }
            assert_eq!(looks.of("other").at(|_, _| true, ask()).await.1, 4);
        });
    }

    #[test]
    fn what_nobody_follows_is_forgotten_and_who_leaves_while_asking_keeps_nobody_waiting() {
        in_runtime(async {
            let looks = Looks::<u32, u32>::default();
            for key in 0..100 {
                assert_eq!(looks.of(key).at(|_, _| true, async { key }).await.1, key);
            }
            let kept = looks.of(7);
            assert_eq!(looks.0.lock().expect("no test panicked").len(), 1);
            let leaves = kept.at(|_, _| true, std::future::pending());
            let left = tokio::select! {
                biased;
                _ = leaves => false,
                () = std::future::ready(()) => true,
            };
            assert!(left);
            assert_eq!(kept.at(|_, _| true, async { 8 }).await.1, 8);
            assert_eq!(looks.of(7).at(|_, _| true, async { 9 }).await.1, 8);
        });
    }
}
