//! How fast the body of a request must come: until it is whole, an upload keeps its room in memory, and every request its connection.
//! Owns: the lowest rate, and the words for slower clients. Never: counts the time in which the server itself handles the bytes.

use std::fmt::Display;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::timeout;

use crate::words::problem::Problem;

/// 64 KiB a second on average. `genba push` sends no more at once than goes through in time, 64 KiB at the least.
const BOUNDS: Bounds =
    Bounds { quiet: Duration::from_secs(15), waited: Duration::from_secs(30), bytes: 30 * (64 << 10) };

#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// The longest wait for the next bytes.
    quiet: Duration,
    /// In this much waiting at least `bytes` must come.
    waited: Duration,
    bytes: usize,
}

/// Of one body.
#[derive(Debug)]
pub struct Pace {
    bounds: Bounds,
    /// Since the last look at the rate.
    waited: Duration,
    bytes: usize,
}

impl Pace {
    pub fn begin() -> Pace {
        Pace::within(BOUNDS)
    }

    fn within(bounds: Bounds) -> Pace {
        Pace { bounds, waited: Duration::ZERO, bytes: 0 }
    }

    /// None: the body's end. 408 where it comes too slowly, 400 where the connection ends before it does.
    pub async fn next<Failed: Display>(
        &mut self,
        body: &mut (impl Stream<Item = Result<Bytes, Failed>> + Unpin),
    ) -> Result<Option<Bytes>, Problem> {
        let began = Instant::now();
        let quiet = self.bounds.quiet;
        let next = timeout(quiet, body.next()).await;
        let next = next.map_err(|_| too_slow(format!("nothing came for {} s", quiet.as_secs())))?;
        let Some(piece) = next else { return Ok(None) };
        let piece = piece.map_err(|error| Problem::bad_request("the body was cut off").detail(error.to_string()))?;
        self.waited += began.elapsed();
        self.bytes += piece.len();
        if self.waited >= self.bounds.waited {
            if self.bytes < self.bounds.bytes {
                return Err(too_slow(format!("{} bytes came in {} s", self.bytes, self.waited.as_secs())));
            }
            (self.waited, self.bytes) = (Duration::ZERO, 0);
        }
        Ok(Some(piece))
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
