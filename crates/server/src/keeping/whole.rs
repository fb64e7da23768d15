//! A whole recording in one request, as curl sends it.
//! Owns: that no row and no part is left of one that was not acknowledged, whose name nobody knows: a content that was put already stays for
//! `genba serve prune`. Never: lists it before it is sealed.

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use tokio::runtime::Handle;

use crate::keeping::keeper::{Keeper, New};
use crate::keeping::uploading::CHUNK_BYTES_MAX;
use crate::rules::pace::Pace;
use crate::rules::room::Taken;
use crate::storage::recordings::Recording;
use crate::words::problem::Problem;

/// An upload until it is sealed. Dropped before, as with a request whose client has gone, it is deleted.
struct Begun {
    keeper: Keeper,
    recording: Option<Recording>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let (Some(recording), Ok(runtime)) = (self.recording.take(), Handle::try_current()) {
            let keeper = self.keeper.clone();
            // What is not deleted now is an upload that nobody goes on with (`keeping/leftovers.rs`).
            runtime.spawn(async move { keeper.delete(&recording).await });
        }
    }
}

impl Keeper {
    /// `room`: for one part of it in memory.
    pub async fn upload<Failed: std::fmt::Display>(
        &self,
        new: New,
        body: impl Stream<Item = Result<Bytes, Failed>> + Send,
        room: Taken,
    ) -> Result<Recording, Problem> {
        let recording = self.create(New { live: false, ..new }).await?;
        let mut begun = Begun { keeper: self.clone(), recording: Some(recording.clone()) };
        let uploaded = self.upload_into(recording.clone(), body, room).await;
        if uploaded.is_err() {
            // It was never acknowledged, and nobody knows its name.
            let _ = self.delete(&recording).await;
        }
        begun.recording = None;
        uploaded
    }

    async fn upload_into<Failed: std::fmt::Display>(
        &self,
        mut recording: Recording,
        body: impl Stream<Item = Result<Bytes, Failed>> + Send,
        room: Taken,
    ) -> Result<Recording, Problem> {
        let mut body = std::pin::pin!(body);
        let (mut pace, mut part) = (Pace::begin(), BytesMut::new());
        while let Some(mut piece) = pace.next(&mut body).await? {
            while !piece.is_empty() {
                let left = CHUNK_BYTES_MAX - part.len();
                part.extend_from_slice(&piece.split_to(left.min(piece.len())));
                if part.len() == CHUNK_BYTES_MAX {
                    let whole = room.beside(part.split().freeze());
                    recording.bytes = self.append(&recording, recording.bytes, whole).await?;
                }
            }
        }
        recording.bytes = self.append(&recording, recording.bytes, room.beside(part.freeze())).await?;
        // A seal may wait for its turn, and holds none of it.
        drop(room);
        self.seal(&recording, None).await
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use futures_util::{StreamExt, stream};

    use crate::rules::room::Room;
    use crate::storage::chunks;
    use crate::storage::database::Statement;
    use crate::storage::store::UPLOADS;

    use super::*;

    #[test]
    fn nothing_is_left_of_an_upload_whose_client_has_gone() {
        Keeper::in_new_folder(async |keeper| {
            let new = New {
                name: "app.genba".to_owned(),
                host: None,
                tags: Vec::new(),
                live: false,
                owner: "lena".to_owned(),
            };
            let room = Room::for_uploads().take("lena", 1).await.expect("there is room");
            // A part of it is stored, and the rest never comes.
            let part = stream::iter([Ok::<_, Infallible>(Bytes::from(vec![0; CHUNK_BYTES_MAX]))]);
            let body = part.chain(stream::pending());
            let keeper = Keeper { recording_bytes_max: 2 * CHUNK_BYTES_MAX as u64, ..keeper };
            let objects = async || chunks::objects(&keeper.database).await.expect("rows").len();
            let stored = async {
                while objects().await == 0 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                uploaded = keeper.upload(new, body, room) => panic!("the rest came: {uploaded:?}"),
                () = stored => {}
            }
            let deleted = async {
                loop {
                    let rows = Statement::new("SELECT id FROM recordings").rows(&keeper.database).await.expect("rows");
                    let is_without_parts = keeper.store.list(UPLOADS).await.is_ok_and(|parts| parts.is_empty());
                    if rows.is_empty() && is_without_parts {
                        break;
                    }
                }
            };
            tokio::time::timeout(Duration::from_secs(60), deleted).await.expect("it is deleted");
            assert_eq!(objects().await, 0);
        });
    }
}
