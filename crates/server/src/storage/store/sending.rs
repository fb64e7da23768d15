//! A large object on its way to the store, in parts.
//! Owns: that no part stays behind where nobody waits for the object any more: a bucket keeps such parts, and no list shows them.
//! Never: reads what it sends.

use bytes::Bytes;
use object_store::{Error, MultipartUpload, WriteMultipart};
use tokio::runtime::Handle;

use crate::words::problem::log;

pub struct Sending {
    /// None: it is whole, or given up.
    upload: Option<WriteMultipart>,
}

impl Sending {
    pub fn begin(upload: Box<dyn MultipartUpload>, part_bytes: usize) -> Sending {
        Sending { upload: Some(WriteMultipart::new_with_chunk_size(upload, part_bytes)) }
    }

    /// Waits until fewer than `at_once` are on their way.
    pub async fn put(&mut self, part: Bytes, at_once: usize) -> Result<(), Error> {
        let Some(upload) = self.upload.as_mut() else { return Ok(()) };
        upload.put(part);
        upload.wait_for_capacity(at_once).await
    }

    /// In a task of its own, which goes on when nobody waits any more: the object is whole then, or nothing of it is there.
    pub async fn finish(mut self) -> Result<(), Error> {
        let Some(upload) = self.upload.take() else { return Ok(()) };
        tokio::spawn(upload.finish()).await?.map(drop)
    }

    /// Nothing of it is there afterwards.
    pub async fn give_up(mut self) {
        if let Some(upload) = self.upload.take() {
            let _ = tokio::spawn(take_back(upload)).await;
        }
    }
}

/// As with a request whose client has gone.
impl Drop for Sending {
    fn drop(&mut self) {
        if let (Some(upload), Ok(runtime)) = (self.upload.take(), Handle::try_current()) {
            runtime.spawn(take_back(upload));
        }
    }
}

async fn take_back(upload: WriteMultipart) {
    if let Err(error) = upload.abort().await {
        log(&format!("warning: parts of an object may be left in the store: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::pin::Pin;

    use object_store::{Extensions, PutPayload, PutResult, UploadPart};
    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

    use super::*;

    const PART_BYTES: usize = 4;

    /// The store's side: it tells what became of the parts.
    #[derive(Debug)]
    struct Told {
        told: UnboundedSender<&'static str>,
        takes_parts: bool,
    }

    type Boxed<'f, Value> = Pin<Box<dyn Future<Output = Result<Value, Error>> + Send + 'f>>;

    /// As its macro would write it.
    impl MultipartUpload for Told {
        fn put_part(&mut self, _part: PutPayload) -> UploadPart {
            match self.takes_parts {
                true => Box::pin(ready(Ok::<_, Error>(()))),
                false => Box::pin(pending::<Result<(), Error>>()),
            }
        }

        fn complete<'s, 'f>(&'s mut self) -> Boxed<'f, PutResult>
        where
            's: 'f,
            Self: 'f,
        {
            let _ = self.told.send("whole");
            let put = PutResult { e_tag: None, version: None, extensions: Extensions::default() };
            Box::pin(ready(Ok::<_, Error>(put)))
        }

        fn abort<'s, 'f>(&'s mut self) -> Boxed<'f, ()>
        where
            's: 'f,
            Self: 'f,
        {
            let _ = self.told.send("given up");
            Box::pin(ready(Ok::<_, Error>(())))
        }
    }

    fn begun(takes_parts: bool) -> (Sending, UnboundedReceiver<&'static str>) {
        let (told, heard) = unbounded_channel();
        (Sending::begin(Box::new(Told { told, takes_parts }), PART_BYTES), heard)
    }

    /// It is asked once, and nobody waits for it any more.
    async fn abandoned<Done>(asked: impl Future<Output = Done>) {
        tokio::select! {
            biased;
            _ = asked => {}
            () = ready(()) => {}
        }
    }

    fn in_runtime(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(test);
    }

    #[test]
    fn who_goes_in_the_middle_leaves_no_parts_behind() {
        in_runtime(async {
            let (mut sending, mut heard) = begun(false);
            abandoned(sending.put(Bytes::from_static(b"part"), 1)).await;
            drop(sending);
            assert_eq!(heard.recv().await, Some("given up"));
            let (sending, mut heard) = begun(false);
            abandoned(sending.give_up()).await;
            assert_eq!(heard.recv().await, Some("given up"));
        });
    }

    #[test]
    fn what_is_all_sent_becomes_whole_whoever_goes() {
        in_runtime(async {
            let (mut sending, mut heard) = begun(true);
            sending.put(Bytes::from_static(b"part and"), 1).await.expect("it is taken");
            // The last one is shorter, and still to be sent.
            sending.put(Bytes::from_static(b"it"), 1).await.expect("it is taken");
            abandoned(sending.finish()).await;
            assert_eq!(heard.recv().await, Some("whole"));
            assert_eq!(heard.recv().await, None, "it is not given up as well");
        });
    }
}
