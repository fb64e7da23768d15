//! The bytes of a recording: in one file, for the process that reads it and for its seal, and as a stream, for whoever downloads it.
//! Owns: that the file holds what was acknowledged, no more and no less. Never: decodes it.

use std::io::Read;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use object_store::path::Path as Key;
use tempfile::NamedTempFile;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use crate::keeping::grown::{FILES_MAX, Growing, Place};
use crate::keeping::keeper::Keeper;
use crate::reading::Unread;
use crate::storage::recordings::Recording;
use crate::storage::store::scratch_failed;
use crate::storage::{chunks, scratch};
use crate::words::problem::Problem;

/// A recording that grows is kept as a file while that takes one of so many parts of the free room: all those files together leave a third of
/// it.
const FREE_PARTS: u64 = FILES_MAX as u64;

/// A file with the bytes of a recording.
pub enum Readable {
    Stored(PathBuf),
    Scratch(NamedTempFile),
}

impl AsRef<Path> for Readable {
    fn as_ref(&self) -> &Path {
        match self {
            Readable::Stored(path) => path,
            Readable::Scratch(file) => file.path(),
        }
    }
}

impl Keeper {
    /// All bytes that were acknowledged, in a file.
    pub async fn readable(&self, recording: &Recording) -> Result<Readable, Problem> {
        let Some(sha256) = &recording.sha256 else {
            return self.scratch_of_growing(recording).await.map(Readable::Scratch);
        };
        let key = self.store.content(sha256);
        if let Some(path) = self.store.file(&key) {
            self.check_whole(recording, &key).await?;
            return Ok(Readable::Stored(path));
        }
        let (scratch, mut file) = self.scratch_file()?;
        check_whole(recording, self.store.copy_into(&key, &mut file, |_| {}).await?)?;
        file.flush().await.map_err(|error| scratch_failed(&error))?;
        Ok(Readable::Scratch(scratch))
    }

    /// The same as the process that reads wants it.
    pub async fn file_to_read(&self, recording: &Recording) -> Result<Readable, Unread> {
        self.readable(recording).await.map_err(Unread::NotFetched)
    }

    /// All bytes that were acknowledged, as a stream, which needs no room on the disk. Its first piece is there: before anything is answered, it is
    /// known whether the store has lost them.
    pub async fn pieces(
        &self,
        recording: &Recording,
    ) -> Result<impl Stream<Item = Result<Bytes, Problem>> + Send + 'static + use<>, Problem> {
        let keys: Vec<Key> = match &recording.sha256 {
            Some(sha256) => {
                let key = self.store.content(sha256);
                self.check_whole(recording, &key).await?;
                vec![key]
            }
            None => {
                let parts = chunks::of_recording(&self.database, &recording.id).await?;
                let acknowledged = parts.into_iter().filter(|part| part.starts_at < recording.bytes);
                acknowledged.map(|part| part.object.as_str().into()).collect()
            }
        };
        let store = self.store.clone();
        let pieces = stream::iter(keys.into_iter().map(Ok::<_, Problem>))
            .and_then(move |key: Key| {
                let store = store.clone();
                async move { store.stream(&key).await }
            })
            .try_flatten();
        let mut pieces = Box::pin(pieces);
        let first = pieces.try_next().await?;
        Ok(stream::iter(first.map(Ok::<_, Problem>)).chain(pieces))
    }

    async fn check_whole(&self, recording: &Recording, key: &Key) -> Result<(), Problem> {
        let found_bytes = self.store.bytes_of(key).await?;
        if found_bytes.is_none() {
            // Then nothing is lost.
            self.store.check_folder().await?;
        }
        check_whole(recording, found_bytes.unwrap_or_default())
    }

    /// A live recording is read each time it grows: each of its parts is opened once, by the first reading that wants it.
    async fn scratch_of_growing(&self, recording: &Recording) -> Result<NamedTempFile, Problem> {
        let place = self.place_to_grow(recording)?;
        let Some(place) = place else { return self.scratch_of_chunks(recording, |_| {}).await };
        let mut kept = place.lock().await;
        // It is taken: where this reading fails or is dropped in the middle, the next one begins anew.
        let mut growing = match kept.take() {
            Some(growing) => growing,
            None => Growing::begin(&self.scratch).map_err(|error| scratch_failed(&error))?,
        };
        if growing.bytes < recording.bytes {
            let opened = File::options().append(true).open(growing.file.path()).await;
            let mut file = opened.map_err(|error| scratch_failed(&error))?;
            self.copy_chunks(recording, growing.bytes, &mut file, |_| {}).await?;
            growing.bytes = recording.bytes;
        }
        // Its own file for whoever reads it: this one grows. Where it can, the file system copies nothing.
        let (from, folder, bytes) = (growing.file.path().to_owned(), self.scratch.clone(), recording.bytes);
        let copied = tokio::task::spawn_blocking(move || first_bytes(&from, bytes, &folder)).await;
        let copied = copied.map_err(|error| Problem::internal("a scratch file", &error))?;
        let copy = copied.map_err(|error| scratch_failed(&error))?;
        *kept = Some(growing);
        Ok(copy)
    }

    /// None: it is not live, as many are kept as may be, or it would take too much of the room that all who read and upload share.
    fn place_to_grow(&self, recording: &Recording) -> Result<Option<Place>, Problem> {
        if !recording.live {
            return Ok(None);
        }
        if recording.bytes > self.free_bytes()? / FREE_PARTS {
            self.grown.forget(&recording.id);
            return Ok(None);
        }
        Ok(self.grown.of(&recording.id))
    }

    /// The chunks of an open recording one behind the other; `seen` gets each piece.
    pub(super) async fn scratch_of_chunks(
        &self,
        recording: &Recording,
        seen: impl FnMut(&[u8]) + Send,
    ) -> Result<NamedTempFile, Problem> {
        let (scratch, mut file) = self.scratch_file()?;
        self.copy_chunks(recording, 0, &mut file, seen).await?;
        Ok(scratch)
    }

    /// Those behind its first `from` bytes, to the end of a file that holds these.
    async fn copy_chunks(
        &self,
        recording: &Recording,
        from: u64,
        file: &mut File,
        mut seen: impl FnMut(&[u8]) + Send,
    ) -> Result<(), Problem> {
        let mut bytes = from;
        for chunk in chunks::of_recording_behind(&self.database, &recording.id, from).await? {
            if bytes >= recording.bytes {
                break;
            }
            if chunk.starts_at != bytes {
                let words = format!("{} at {bytes}", recording.id);
                return Err(Problem::internal("a part of an upload is missing", &words).lasting());
            }
            let key = chunk.object.as_str().into();
            let copied = match self.store.copy_into(&key, file, &mut seen).await {
                Ok(copied) => copied,
                Err(problem) => {
                    let is_lasting = self.is_lost(&key).await.unwrap_or_default();
                    return Err(Problem { is_lasting, ..problem });
                }
            };
            if copied != chunk.bytes {
                let words = format!("{}: {copied} of {} bytes of {}", recording.id, chunk.bytes, chunk.object);
                return Err(Problem::internal("a part of an upload is damaged", &words).lasting());
            }
            bytes += copied;
        }
        file.flush().await.map_err(|error| scratch_failed(&error))?;
        match bytes == recording.bytes {
            true => Ok(()),
            // Somebody sealed it in between, and its parts are gone.
            false => Err(Problem::new(503, "the recording changed while it was read").hint("ask again")),
        }
    }

    fn scratch_file(&self) -> Result<(NamedTempFile, File), Problem> {
        let made = scratch::make(&self.scratch).and_then(|scratch| {
            let file = scratch.reopen()?;
            Ok((scratch, File::from_std(file)))
        });
        made.map_err(|error| scratch_failed(&error))
    }
}

fn first_bytes(from: &Path, bytes: u64, folder: &Path) -> std::io::Result<NamedTempFile> {
    let scratch = scratch::make(folder)?;
    let copied = std::io::copy(&mut std::fs::File::open(from)?.take(bytes), &mut scratch.as_file())?;
    match copied == bytes {
        true => Ok(scratch),
        false => Err(std::io::ErrorKind::UnexpectedEof.into()),
    }
}

/// What is read of half a content would be remembered when the whole is back.
fn check_whole(recording: &Recording, found_bytes: u64) -> Result<(), Problem> {
    if found_bytes == recording.bytes {
        return Ok(());
    }
    let words = format!("{}: {found_bytes} of {} bytes are in the store", recording.id, recording.bytes);
    Err(Problem::internal("the content of a recording is lost or cut", &words).hint("push the same file again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn grown(keeper: &Keeper, recording: &Recording, part: &'static str) -> Recording {
        keeper.append(recording, recording.bytes, Bytes::from_static(part.as_bytes())).await.expect("a part");
        keeper.find(&recording.id).await.expect("it is there")
    }

    async fn read(keeper: &Keeper, recording: &Recording) -> Result<String, Problem> {
        let file = keeper.readable(recording).await?;
        Ok(std::fs::read_to_string(&file).expect("text"))
    }

    #[test]
    fn what_was_read_of_a_recording_that_grows_is_not_opened_again() {
        Keeper::in_new_folder(async |keeper| {
            let first = grown(&keeper, &keeper.begun().await, "one ").await;
            assert_eq!(read(&keeper, &first).await.as_deref(), Ok("one "));
            let parts = chunks::of_recording(&keeper.database, &first.id).await.expect("parts");
            // Nobody could open it again.
            keeper.store.delete(&parts[0].object.as_str().into()).await.expect("it is deleted");
            let second = grown(&keeper, &first, "two").await;
            assert_eq!(read(&keeper, &second).await.as_deref(), Ok("one two"));
            // As for whoever has the row of a moment ago.
            assert_eq!(read(&keeper, &first).await.as_deref(), Ok("one "));
            // A seal believes the store alone.
            keeper.seal_quiet(&second).await.expect_err("a part is lost");
            assert_eq!(read(&keeper, &second).await.expect_err("it is opened anew").status, 500);
        });
    }

    #[test]
    fn a_download_whose_first_part_is_lost_fails_before_it_begins() {
        Keeper::in_new_folder(async |keeper| {
            let one = grown(&keeper, &keeper.begun().await, "one ").await;
            let both = grown(&keeper, &one, "two").await;
            let pieces: Vec<Bytes> =
                keeper.pieces(&both).await.expect("a stream").try_collect().await.expect("both parts");
            assert_eq!(pieces.concat(), b"one two");
            let parts = chunks::of_recording(&keeper.database, &both.id).await.expect("parts");
            keeper.store.delete(&parts[0].object.as_str().into()).await.expect("it is deleted");
            assert_eq!(keeper.pieces(&both).await.err().map(|problem| problem.status), Some(500));
        });
    }

    /// Somebody who pushes it again, as for a content that is lost, would get 503.
    #[test]
    fn what_is_in_a_folder_that_is_gone_is_not_lost() {
        Keeper::in_new_folder(async |keeper| {
            let recording = Recording { sha256: Some("5ea1".to_owned()), bytes: 3, ..keeper.begun().await };
            keeper.store.put(&keeper.store.content("5ea1"), Bytes::from_static(b"one")).await.expect("it is put");
            assert!(keeper.pieces(&recording).await.is_ok());
            let live = grown(&keeper, &keeper.begun().await, "one").await;
            let within = keeper.store.folders().pop().expect("a folder");
            let objects = within.parent().expect("the store");
            std::fs::rename(objects, objects.with_extension("moved")).expect("it is moved");
            for recording in [recording, live] {
                assert_eq!(keeper.pieces(&recording).await.err().map(|problem| problem.status), Some(503));
                assert_eq!(keeper.readable(&recording).await.err().map(|problem| problem.status), Some(503));
            }
        });
    }

    #[test]
    fn a_reading_that_failed_in_the_middle_is_not_gone_on_with() {
        Keeper::in_new_folder(async |keeper| {
            let first = grown(&keeper, &keeper.begun().await, "one ").await;
            read(&keeper, &first).await.expect("it is read");
            let second = grown(&keeper, &first, "two").await;
            // More than there is.
            let ahead = Recording { bytes: second.bytes + 1, ..second.clone() };
            assert_eq!(read(&keeper, &ahead).await.expect_err("it is not there").status, 503);
            assert_eq!(read(&keeper, &second).await.as_deref(), Ok("one two"));
        });
    }

    #[test]
    fn a_file_that_somebody_removed_is_put_together_anew() {
        Keeper::in_new_folder(async |keeper| {
            let recording = grown(&keeper, &keeper.begun().await, "one ").await;
            read(&keeper, &recording).await.expect("it is read");
            let place = keeper.grown.of(&recording.id).expect("it is kept");
            let kept = place.lock().await.as_ref().expect("a file").file.path().to_owned();
            std::fs::remove_file(kept).expect("it was there");
            read(&keeper, &recording).await.expect_err("it is gone");
            assert_eq!(read(&keeper, &recording).await.as_deref(), Ok("one "));
        });
    }
}
