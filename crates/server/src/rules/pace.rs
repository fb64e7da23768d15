//! How fast the body of a request must come, and an answer be taken: until it is whole, each keeps its room in memory and its connection.
//! Owns: the lowest rates, and the words for slower clients. Never: counts the time in which the server itself handles the bytes.

use std::fmt::Display;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::timeout;

use crate::words::problem::Problem;

/// 64 KiB a second on average. `genba push` sends no more at once than goes through in time, 64 KiB at the least.
const BOUNDS: Bounds =
    Bounds { quiet: Duration::from_secs(15), waited: Duration::from_secs(30), bytes: 30 * (64 << 10) };
/// 16 KiB a second: a page cannot be read in smaller parts. The kernel asks for more once a third of its room is free. That is 1.4 MB where
/// `tcp_wmem` is as Linux has it, and at that pace nothing seems to go for 85 s.
pub const READERS: Bounds =
    Bounds { quiet: Duration::from_secs(90), waited: Duration::from_secs(90), bytes: 90 * (16 << 10) };

#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The longest wait for the next bytes.
    pub quiet: Duration,
    /// In this much waiting at least `bytes` must come, or go.
    pub waited: Duration,
    pub bytes: usize,
}

/// What came, or went, since the last look at it.
#[derive(Debug)]
pub struct Rate {
    bounds: Bounds,
    waited: Duration,
    bytes: usize,
}

impl Rate {
    pub fn within(bounds: Bounds) -> Rate {
        Rate { bounds, waited: Duration::ZERO, bytes: 0 }
    }

    /// A wait, and what it brought.
    pub fn add(&mut self, waited: Duration, bytes: usize) {
        self.waited += waited;
        self.bytes += bytes;
    }

    /// Of all that was added. Once a stretch was long enough the next one begins.
    pub fn is_too_slow(&mut self) -> bool {
        if self.waited < self.bounds.waited {
            return false;
        }
        let is_too_slow = self.bytes < self.bounds.bytes;
        if !is_too_slow {
            (self.waited, self.bytes) = (Duration::ZERO, 0);
        }
        is_too_slow
    }
}

/// Of one body.
#[derive(Debug)]
pub struct Pace {
    quiet: Duration,
    rate: Rate,
}

impl Pace {
    pub fn begin() -> Pace {
        Pace::within(BOUNDS)
    }

    fn within(bounds: Bounds) -> Pace {
        Pace { quiet: bounds.quiet, rate: Rate::within(bounds) }
    }

    /// None: the body's end. 408 where it comes too slowly, 400 where the connection ends before it does.
    pub async fn next<Failed: Display>(
        &mut self,
        body: &mut (impl Stream<Item = Result<Bytes, Failed>> + Unpin),
    ) -> Result<Option<Bytes>, Problem> {
        let began = Instant::now();
        let quiet = self.quiet;
        let next = timeout(quiet, body.next()).await;
        let next = next.map_err(|_| too_slow(format!("nothing came for {} s", quiet.as_secs())))?;
        let Some(piece) = next else { return Ok(None) };
        let piece = piece.map_err(|error| Problem::bad_request("the body was cut off").detail(error.to_string()))?;
        self.rate.add(began.elapsed(), piece.len());
        match self.rate.is_too_slow() {
            true => Err(too_slow(format!("{} bytes came in {} s", self.rate.bytes, self.rate.waited.as_secs()))),
            false => Ok(Some(piece)),
        }
    }
}

fn too_slow(detail: String) -> Problem {
    Problem::new(408, "the body comes too slowly")
        .detail(detail)
        .hint("over a slow line send it in smaller parts, as genba push does")
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream::{self, BoxStream};

    use super::*;

    /// What comes of these pieces, and of silence where nothing is behind them.
    fn taken(bounds: Bounds, pieces: &[&'static str], ends: bool) -> Result<String, u16> {
        let pieces = stream::iter(pieces.iter().map(|piece| Ok::<_, Infallible>(Bytes::from_static(piece.as_bytes()))));
        let silence: BoxStream<'_, Result<Bytes, Infallible>> =
            if ends { stream::empty().boxed() } else { stream::pending().boxed() };
        let mut body = pieces.chain(silence).boxed();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let (mut pace, mut whole) = (Pace::within(bounds), String::new());
            loop {
                match pace.next(&mut body).await {
                    Ok(Some(piece)) => whole.push_str(std::str::from_utf8(&piece).expect("text")),
                    Ok(None) => return Ok(whole),
                    Err(problem) => return Err(problem.status),
                }
            }
        })
    }

    #[test]
    fn what_comes_in_time_is_taken_and_silence_ends_it() {
        let quiet = Duration::from_millis(5);
        assert_eq!(taken(BOUNDS, &["one ", "two"], true), Ok("one two".to_owned()));
        assert_eq!(taken(Bounds { quiet, ..BOUNDS }, &["one ", "two"], false), Err(408));
    }

    #[test]
    fn each_stretch_of_waiting_brings_as_many_bytes_as_it_has_to() {
        // However short a wait is, it is looked at.
        let bounds = Bounds { waited: Duration::ZERO, bytes: 3, ..BOUNDS };
        assert_eq!(taken(bounds, &["one", "three"], true), Ok("onethree".to_owned()));
        assert_eq!(taken(bounds, &["three", "2.", "one"], true), Err(408));
        let longer = Bounds { waited: Duration::from_secs(3_600), ..bounds };
        assert_eq!(taken(longer, &["1", "2"], true), Ok("12".to_owned()));
    }
}
