//! Pages in the making: one at a time of what is the same, shared by all who wait for it, and none that nobody waits for.
//! Owns: who waits for what, and how many are made at once. Never: knows what a page is, or stops one that is begun.
//! Keeps: whoever asks while a page is made gets that page; whoever asks after it gets a new one.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, watch};

/// A page of a large recording takes memory while it is made.
const AT_ONCE: usize = 2;

/// A page, once it is made.
type Made<V> = watch::Sender<Option<V>>;

pub struct Pages<K, V> {
    make: Box<dyn Fn(&K) -> V + Send + Sync>,
    turns: Semaphore,
    under_way: Mutex<HashMap<K, Made<V>>>,
}

impl<K, V> Pages<K, V>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    pub fn new(make: impl Fn(&K) -> V + Send + Sync + 'static) -> Arc<Pages<K, V>> {
        Arc::new(Pages { make: Box::new(make), turns: Semaphore::new(AT_ONCE), under_way: Mutex::default() })
    }

    /// None: making it failed. Whoever drops this before it is ready waits no more.
    pub async fn page(self: &Arc<Self>, key: K) -> Option<V> {
        let mut page = self.wait_for(key);
        let made = page.wait_for(Option::is_some).await.ok()?;
        made.clone()
    }

    fn wait_for(self: &Arc<Self>, key: K) -> watch::Receiver<Option<V>> {
        let mut under_way = self.under_way();
        if let Some(made) = under_way.get(&key) {
            return made.subscribe();
        }
        let (made, page) = watch::channel(None);
        under_way.insert(key.clone(), made.clone());
        tokio::spawn(Arc::clone(self).make(key, made));
        page
    }

    async fn make(self: Arc<Self>, key: K, made: Made<V>) {
        let _turn = loop {
            let turn = tokio::select! {
                biased;
                () = made.closed() => None,
                turn = self.turns.acquire() => turn.ok(),
            };
            if !self.is_wanted(&key, &made) {
                return;
            }
            // Without a turn: everybody left, and somebody came since.
            if turn.is_some() {
                break turn;
            }
        };
        let (pages, of) = (Arc::clone(&self), key.clone());
        let page = tokio::task::spawn_blocking(move || (pages.make)(&of)).await;
        self.under_way().remove(&key);
        // What panicked has said so on stderr, and whoever waits learns that by the end of `made`.
        if let Ok(page) = page {
            made.send_replace(Some(page));
        }
    }

    /// Forgets a page that nobody waits for. Nobody can begin to wait in between: that takes the same lock.
    fn is_wanted(&self, key: &K, made: &Made<V>) -> bool {
        let mut under_way = self.under_way();
        let is_wanted = made.receiver_count() > 0;
        if !is_wanted {
            under_way.remove(key);
        }
        is_wanted
    }

    /// No code that panics runs under the lock.
    fn under_way(&self) -> MutexGuard<'_, HashMap<K, Made<V>>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Pages of numbers: each says that it began, and waits for a word before it is made.
    fn pages() -> (Arc<Pages<u32, u32>>, Receiver<u32>, Sender<()>) {
        let (begun, begins) = channel();
        let (go, goes) = channel::<()>();
        let goes = Mutex::new(goes);
        let make = move |key: &u32| {
            begun.send(*key).expect("the test listens");
            goes.lock().expect("no page panics").recv().expect("the test gives a word for each page");
            key * 10
        };
        (Pages::new(make), begins, go)
    }

    fn in_runtime<F: Future>(test: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(test)
    }

    /// Lets all tasks run until none can go on.
    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn who_waits_for_the_same_shares_it_and_who_comes_later_gets_a_new_one() {
        in_runtime(async {
            let (pages, begins, go) = pages();
            let waiting: Vec<_> = (0..50).map(|_| pages.wait_for(7)).collect();
            settle().await;
            go.send(()).expect("the page waits");
            for mut page in waiting {
                let made = page.wait_for(Option::is_some).await.expect("it is made").to_owned();
                assert_eq!(made, Some(70));
            }
            assert_eq!(begins.try_iter().collect::<Vec<_>>(), [7]);
            go.send(()).expect("the pages live");
            assert_eq!(pages.page(7).await, Some(70));
            assert_eq!(begins.try_iter().collect::<Vec<_>>(), [7]);
        });
    }

    #[test]
    fn what_nobody_waits_for_any_more_is_not_begun() {
        in_runtime(async {
            let (pages, begins, go) = pages();
            let mut held: Vec<_> = (0..AT_ONCE as u32).map(|key| pages.wait_for(key)).collect();
            settle().await;
            let abandoned: Vec<_> = (100..1_100).map(|key| pages.wait_for(key)).collect();
            let mut kept = pages.wait_for(500);
            drop(abandoned);
            settle().await;
            // Only this: a page that everybody left, and that somebody wants again.
            let mut again = pages.wait_for(600);
            for _ in 0..AT_ONCE + 2 {
                go.send(()).expect("a page waits");
            }
            // Of the first ones, too: both of the others may be made while one of these still waits for its word.
            for page in [&mut kept, &mut again].into_iter().chain(&mut held) {
                page.wait_for(Option::is_some).await.expect("it is made");
            }
            let mut begun: Vec<u32> = begins.try_iter().collect();
            begun.sort_unstable();
            assert_eq!(begun, [0, 1, 500, 600]);
            assert!(pages.under_way().is_empty());
        });
    }

    #[test]
    fn a_page_that_panics_is_none_and_the_next_one_is_made() {
        in_runtime(async {
            let pages = Pages::new(|key: &u32| {
                assert_ne!(*key, 3, "made up");
                *key
            });
            assert_eq!((pages.page(3).await, pages.page(4).await, pages.page(3).await), (None, Some(4), None));
        });
    }
}
