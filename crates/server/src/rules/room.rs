//! Room in memory: for the bytes of uploads until they are in the folder or the store, and for answers until their readers have them.
//! Owns: how much all requests may take, how much those of one token, and how long a request waits for its part. Never: reads a body.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::words::problem::Problem;

/// A request holds 4 MiB at most: 96 large ones at once, and 64 of one token, which leaves room for others.
const UPLOADS: Bounds = Bounds {
    what: "uploads",
    all_bytes: 384 << 20,
    token_bytes: 256 << 20,
    wait: Duration::from_secs(5),
    token_status: 429,
    as_who: ", as genba push does",
};
/// An answer has 32 MB at most. It is there already, so it does not wait in memory for its room.
const ANSWERS: Bounds = Bounds { what: "answers", wait: Duration::ZERO, token_status: 503, as_who: "", ..UPLOADS };
/// Shorter answers take no room: each connection sends one at once, and there are 4,096 connections at most.
const SHORT_BYTES: usize = 16 << 10;
/// For a request that waited in vain.
const RETRY_AFTER_S: u32 = 3;

#[derive(Clone, Copy, Debug)]
struct Bounds {
    what: &'static str,
    all_bytes: u32,
    token_bytes: u32,
    /// First for the token's room, then again for that of all.
    wait: Duration,
    /// Where the token's is full. 503 where that of all is.
    token_status: u16,
    /// Behind the hint to try again.
    as_who: &'static str,
}

/// A permit is a byte.
#[derive(Debug)]
pub struct Room {
    bounds: Bounds,
    all: Arc<Semaphore>,
    /// By the names of tokens: as many as an admin has made.
    of_tokens: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// A part of the room, until this and all its clones are dropped. Of the token's, and of that of all.
#[derive(Clone, Debug)]
pub struct Taken {
    _permits: Arc<[OwnedSemaphorePermit; 2]>,
}

impl Taken {
    /// The bytes, with the room that they take: a thread that writes them may do so for longer than their request is there.
    pub fn beside(&self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Held { bytes, _room: self.clone() })
    }
}

struct Held {
    bytes: Bytes,
    _room: Taken,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Room {
    pub fn for_uploads() -> Room {
        Room::within(UPLOADS)
    }

    pub fn for_answers() -> Room {
        Room::within(ANSWERS)
    }

    fn within(bounds: Bounds) -> Room {
        Room { bounds, all: permits(bounds.all_bytes), of_tokens: Mutex::default() }
    }

    /// The same bytes, and not a copy: they have their part of the room until the last piece of them is handed over, or its reader has gone.
    pub async fn hold(&self, token: &str, bytes: Bytes) -> Result<Bytes, Problem> {
        if bytes.len() < SHORT_BYTES {
            return Ok(bytes);
        }
        let taken = self.take(token, u32::try_from(bytes.len()).unwrap_or(u32::MAX)).await?;
        Ok(taken.beside(bytes))
    }

    /// Waits for room in its turn. Err: the room stayed full for longer than `wait`.
    pub async fn take(&self, token: &str, bytes: u32) -> Result<Taken, Problem> {
        let bytes = bytes.clamp(1, self.bounds.token_bytes);
        // Its own first: whoever waits for that holds nothing that others wait for.
        let of_token = self.waited_for(self.of_token(token), bytes).await?;
        let of_token = of_token.ok_or_else(|| self.bounds.full("of your "))?;
        let of_all = self.waited_for(Arc::clone(&self.all), bytes).await?;
        let of_all = of_all.ok_or_else(|| self.bounds.full(""))?;
        Ok(Taken { _permits: Arc::new([of_token, of_all]) })
    }

    fn of_token(&self, token: &str) -> Arc<Semaphore> {
        let mut of_tokens = self.of_tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let known = of_tokens.entry(token.to_owned()).or_insert_with(|| permits(self.bounds.token_bytes));
        Arc::clone(known)
    }

    /// None: no room came within `wait`.
    async fn waited_for(&self, of: Arc<Semaphore>, bytes: u32) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        match timeout(self.bounds.wait, of.acquire_many_owned(bytes)).await {
            Ok(Ok(taken)) => Ok(Some(taken)),
            Ok(Err(closed)) => Err(Problem::internal(&format!("the room for {}", self.bounds.what), &closed)),
            Err(_) => Ok(None),
        }
    }
}

fn permits(bytes: u32) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(bytes as usize))
}

impl Bounds {
    /// `whose`: empty, or those of the token.
    fn full(self, whose: &str) -> Problem {
        let Bounds { what, token_status, as_who, .. } = self;
        let status = if whose.is_empty() { 503 } else { token_status };
        let title = format!("as many {whose}{what} are under way as this server has memory for");
        let problem = Problem::new(status, title).hint(format!("try again in {RETRY_AFTER_S} s{as_who}"));
        Problem { retry_after_s: Some(RETRY_AFTER_S), ..problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_runtime(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(test);
    }

    fn refused(taken: Result<Taken, Problem>) -> (u16, Option<u32>) {
        let problem = taken.expect_err("it is full");
        (problem.status, problem.retry_after_s)
    }

    #[test]
    fn one_token_leaves_room_for_others_and_all_have_a_bound() {
        in_runtime(async {
            let room = Room::within(Bounds { all_bytes: 10, token_bytes: 6, wait: Duration::ZERO, ..UPLOADS });
            let of_lena = room.take("lena", 6).await.expect("there is room");
            assert_eq!(refused(room.take("lena", 1).await), (429, Some(RETRY_AFTER_S)));
            let of_sam = room.take("sam", 4).await.expect("there is room");
            assert_eq!(refused(room.take("sam", 1).await), (503, Some(RETRY_AFTER_S)));
            drop(of_lena);
            room.take("lena", 6).await.expect("there is room again");
            drop(of_sam);
            // More than there is: all that there is.
            room.take("sam", u32::MAX).await.expect("there is room");
        });
    }

    #[test]
    fn bytes_hold_their_room_when_nobody_waits_for_them_any_more() {
        in_runtime(async {
            let room = Room::within(Bounds { all_bytes: 6, token_bytes: 6, wait: Duration::ZERO, ..UPLOADS });
            let bytes = room.take("lena", 6).await.expect("there is room").beside(Bytes::from_static(b"a part"));
            let written = bytes.clone();
            drop(bytes);
            assert_eq!(refused(room.take("lena", 1).await), (429, Some(RETRY_AFTER_S)));
            assert_eq!(written, "a part");
            drop(written);
            room.take("lena", 6).await.expect("there is room again");
        });
    }

    #[test]
    fn who_waits_gets_what_others_let_go() {
        in_runtime(async {
            let bounds = Bounds { all_bytes: 10, token_bytes: 6, wait: Duration::from_secs(60), ..UPLOADS };
            let room = Arc::new(Room::within(bounds));
            let first = room.take("lena", 6).await.expect("there is room");
            let waiter = Arc::clone(&room);
            let waiting = tokio::spawn(async move { waiter.take("lena", 6).await.map(drop) });
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            assert!(!waiting.is_finished());
            drop(first);
            assert_eq!(waiting.await.expect("a task"), Ok(()));
        });
    }

    #[test]
    fn an_answer_has_its_room_until_its_last_piece_is_gone() {
        in_runtime(async {
            let long = || Bytes::from(vec![b'x'; SHORT_BYTES]);
            let bytes = u32::try_from(SHORT_BYTES).expect("it is less than 4 GiB");
            let room = Room::within(Bounds { all_bytes: 2 * bytes, token_bytes: bytes, ..ANSWERS });
            let page = long();
            let mut held = room.hold("lena", page.clone()).await.expect("there is room");
            assert_eq!(held.as_ptr(), page.as_ptr(), "it is no copy");
            let full = room.hold("lena", long()).await.expect_err("hers is full");
            assert_eq!((full.status, full.retry_after_s), (503, Some(RETRY_AFTER_S)));
            let of_sam = room.hold("sam", long()).await.expect("there is room for others");
            assert_eq!(room.hold("kim", long()).await.expect_err("all of it is full").status, 503);
            assert_eq!(room.hold("lena", Bytes::from_static(b"short")).await, Ok(Bytes::from_static(b"short")));
            let first = held.split_to(SHORT_BYTES / 2);
            drop(first);
            assert_eq!(room.hold("lena", long()).await.expect_err("half of it is not sent").status, 503);
            drop((held, of_sam));
            room.hold("lena", long()).await.expect("there is room again");
        });
    }
}
