//! The socket of a connection. Its reader takes what it asked for at a least pace: an answer that nobody takes keeps its room from others.
//! Owns: when a connection ends for that. Never: looks at what is sent; bounds how long a reader may ask for nothing.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::rules::pace::{Bounds, Rate};

pub struct Paced<Socket> {
    socket: Socket,
    quiet: Duration,
    rate: Rate,
    /// While the socket takes nothing.
    wait: Option<Wait>,
}

struct Wait {
    began: Instant,
    end: Pin<Box<Sleep>>,
}

impl<Socket> Paced<Socket> {
    pub fn within(bounds: Bounds, socket: Socket) -> Paced<Socket> {
        Paced { socket, quiet: bounds.quiet, rate: Rate::within(bounds), wait: None }
    }

    /// The same, unless its reader is too slow: then an error, which ends the connection.
    fn paced(&mut self, context: &mut Context<'_>, written: Poll<Result<usize>>) -> Poll<Result<usize>> {
        match written {
            Poll::Pending => {
                // All that the wait before it brought is known by now: the first piece behind it may be short.
                if self.wait.is_none() && self.rate.is_too_slow() {
                    return Poll::Ready(Err(too_slow()));
                }
                let quiet = self.quiet;
                let begin = || Wait { began: Instant::now(), end: Box::pin(sleep(quiet)) };
                let wait = self.wait.get_or_insert_with(begin);
                wait.end.as_mut().poll(context).map(|()| Err(too_slow()))
            }
            Poll::Ready(Ok(bytes)) => {
                let waited = self.wait.take().map_or(Duration::ZERO, |wait| wait.began.elapsed());
                self.rate.add(waited, bytes);
                Poll::Ready(Ok(bytes))
            }
            failed => failed,
        }
    }
}

fn too_slow() -> Error {
    Error::new(ErrorKind::TimedOut, "the answer is taken too slowly")
}

impl<Socket: AsyncRead + Unpin> AsyncRead for Paced<Socket> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_read(context, into)
    }
}

impl<Socket: AsyncWrite + Unpin> AsyncWrite for Paced<Socket> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let paced = self.get_mut();
        let written = Pin::new(&mut paced.socket).poll_write(context, bytes);
        paced.paced(context, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let paced = self.get_mut();
        let written = Pin::new(&mut paced.socket).poll_write_vectored(context, pieces);
        paced.paced(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use crate::rules::pace::READERS;

    use super::*;

    const ANSWER: &[u8] = b"more than its reader has room for";
    const ROOM_BYTES: usize = 4;

    /// A reader, and the socket that sends to it.
    fn between(bounds: Bounds, test: impl AsyncFnOnce(DuplexStream, Paced<DuplexStream>)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let (reader, socket) = duplex(ROOM_BYTES);
            test(reader, Paced::within(bounds, socket)).await;
        });
    }

    #[test]
    fn who_takes_all_gets_all() {
        between(READERS, async |mut reader, mut paced| {
            let mut read = vec![0; ANSWER.len()];
            let (sent, taken) = tokio::join!(paced.write_all(ANSWER), reader.read_exact(&mut read));
            sent.expect("it is sent");
            taken.expect("it is read");
            assert_eq!(read, ANSWER);
        });
    }

    #[test]
    fn who_takes_nothing_ends_the_connection() {
        between(Bounds { quiet: Duration::from_millis(5), ..READERS }, async |reader, mut paced| {
            let ended = paced.write_all(ANSWER).await.expect_err("nobody takes it");
            assert_eq!(ended.kind(), ErrorKind::TimedOut);
            drop(reader);
        });
    }

    #[test]
    fn a_wait_brought_all_that_goes_before_the_next_one() {
        // However short a wait is, it is looked at.
        let bounds = Bounds { waited: Duration::ZERO, bytes: ROOM_BYTES, ..READERS };
        between(bounds, async |mut reader, mut paced| {
            let mut read = vec![0; ANSWER.len()];
            let in_short_pieces = async {
                for piece in ANSWER.chunks(1) {
                    paced.write_all(piece).await.expect("its reader takes all that there is room for");
                }
            };
            let ((), taken) = tokio::join!(in_short_pieces, reader.read_exact(&mut read));
            taken.expect("it is read");
            assert_eq!(read, ANSWER);
        });
    }

    #[test]
    fn who_takes_too_little_ends_the_connection() {
        // However short a wait is, it is looked at.
        let bounds = Bounds { waited: Duration::ZERO, bytes: ROOM_BYTES, ..READERS };
        between(bounds, async |mut reader, mut paced| {
            paced.write_all(&ANSWER[..ROOM_BYTES]).await.expect("as much as it has to take");
            let mut read = [0; 1];
            let (sent, taken) = tokio::join!(paced.write_all(ANSWER), reader.read_exact(&mut read));
            taken.expect("it is read");
            assert_eq!(sent.expect_err("one byte is too little").kind(), ErrorKind::TimedOut);
        });
    }
}
