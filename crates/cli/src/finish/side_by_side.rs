//! Work that is done at once, on many files or of two kinds: a reader waits for it at the end of a run.
//! Owns: how many threads do it, and the order of what they give. Never: knows what it is.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What `work` gives for each item, in their order. One more thread is begun for each `of_a_thread_min` items, at most one for a CPU. A thread
/// lends `work` the same memory each time: else the kernel would give new memory for each item, and take it back.
pub fn each<Item: Sync, Found: Send>(
    items: &[Item],
    of_a_thread_min: usize,
    work: impl Fn(&Item, &mut Vec<u8>) -> Found + Sync,
) -> Vec<Found> {
    let threads = match items.len() / of_a_thread_min {
        0 | 1 => 1,
        most => thread::available_parallelism().map_or(1, NonZero::get).min(most),
    };
    let next = AtomicUsize::new(0);
    let some = || {
        let (mut done, mut room) = (Vec::new(), Vec::new());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, work(item, &mut room)));
        }
    };
    let mut found: Vec<(usize, Found)> = thread::scope(|scope| {
        // Fewer where the system gives no more threads. This one's heap grows in larger steps than that of another.
        let others: Vec<_> =
            (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, some).ok()).collect();
        let mut done = some();
        done.extend(others.into_iter().flat_map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))));
        done
    });
    found.sort_unstable_by_key(|&(at, _)| at);
    found.into_iter().map(|(_, found)| found).collect()
}

/// Two works at once; the first one first where the system gives no more threads.
pub fn both<First: Send, Second>(first: impl Fn() -> First + Sync, second: impl FnOnce() -> Second) -> (First, Second) {
    thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, &first) {
        Ok(other) => {
            let second = second();
            (other.join().unwrap_or_else(|panic| resume_unwind(panic)), second)
        }
        Err(_) => (first(), second()),
    })
}

#[cfg(test)]
mod tests {
    use super::{both, each};

    #[test]
    fn both_works_are_done() {
        let mut seen = Vec::new();
        let (first, second) = both(|| 1, || seen.push(2));
        assert_eq!((first, second, seen), (1, (), vec![2]));
    }

    #[test]
    fn what_is_found_comes_in_the_order_of_the_items() {
        for (count, of_a_thread_min) in [(0, 32), (1, 1), (32, 32), (640, 32), (8, 1)] {
            let items: Vec<usize> = (0..count).collect();
            let found = each(&items, of_a_thread_min, |&item, room| {
                room.push(0);
                (item, room.len())
            });
            assert!(found.iter().map(|&(item, _)| item).eq(0..count));
        }
    }

    #[test]
    fn a_thread_lends_the_same_memory_each_time() {
        let uses = each(&[(); 31], 32, |(), room| {
            room.push(0);
            room.len()
        });
        assert!(uses.into_iter().eq(1..=31), "by one thread, as few as they are");
    }
}
