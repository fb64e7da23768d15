//! Where the bytes of recordings are: a folder on this disk, or a bucket of any engine that speaks S3's protocol.
//! Owns: names of objects, and that what was put is on the disk when `put` returns. Never: writes over an object with other bytes.

mod sending;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{Error, GetResult, ObjectStore, ObjectStoreExt, RetryConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Semaphore;
use url::Url;

use crate::storage::store::sending::Sending;
use crate::words::problem::{Problem, log};
use crate::words::random;

/// Of one part of a large object. S3 wants at least 5 MiB.
const PART_BYTES: usize = 8 << 20;
const PARTS_AT_ONCE: usize = 2;
/// Files of all uploads together: each takes the memory of its parts.
const PUTS_AT_ONCE: usize = 8;
/// By all tasks that delete.
const DELETES_AT_ONCE: usize = 8;
/// A store in which so many of a list cannot be deleted does not answer.
const DELETES_FAILED_MAX: usize = 8;
/// Of a bucket that does not answer: whoever asks waits for less than a minute.
const TRIES: usize = 4;
const TRIED_FOR: Duration = Duration::from_secs(20);
/// The folder of objects in the data folder.
pub const FOLDER: &str = "objects";
pub const CONTENT: &str = "content";
pub const UPLOADS: &str = "uploads";

#[derive(Clone)]
pub struct Store {
    objects: Arc<dyn ObjectStore>,
    /// Of a store that is a folder.
    folder: Option<Arc<LocalFileSystem>>,
    prefix: Key,
    put_turns: Arc<Semaphore>,
    delete_turns: Arc<Semaphore>,
}

impl Store {
    /// In that data folder.
    pub fn embedded(data: &Path) -> Result<Store, Problem> {
        let folder = data.join(FOLDER);
        let cannot = |error: &dyn std::fmt::Display| {
            Problem::new(503, format!("cannot use the folder {}", folder.display())).detail(error.to_string())
        };
        std::fs::create_dir_all(&folder).map_err(|error| cannot(&error))?;
        let files = LocalFileSystem::new_with_prefix(&folder)
            .map_err(|error| cannot(&error))?
            .with_fsync(true)
            .with_automatic_cleanup(true);
        let files = Arc::new(files);
        Ok(Store::new(Arc::clone(&files) as Arc<dyn ObjectStore>, Some(files), Key::default()))
    }

    /// `s3://BUCKET` or `s3://BUCKET/PREFIX`; keys, region and endpoint come from the variables that S3's own tools read.
    pub fn bucket(address: &str) -> Result<Store, Problem> {
        let wrong = || {
            Problem::bad_request("--store takes s3://BUCKET or s3://BUCKET/PREFIX")
                .hint("AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL and AWS_REGION say where it is and who asks")
        };
        let url = Url::parse(address).ok().filter(|url| url.scheme() == "s3").ok_or_else(wrong)?;
        let bucket = url.host_str().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
        let prefix = Key::from_url_path(url.path()).map_err(|_| wrong())?;
        // An endpoint that somebody named with http:// is one that they trust to be near.
        let is_plain = std::env::var("AWS_ENDPOINT_URL").is_ok_and(|endpoint| endpoint.starts_with("http://"));
        let objects = AmazonS3Builder::from_env()
            .with_bucket_name(bucket)
            .with_allow_http(is_plain)
            .with_retry(RetryConfig { max_retries: TRIES, retry_timeout: TRIED_FOR, ..RetryConfig::default() })
            .build()
            .map_err(|error| Problem::new(503, format!("cannot use the bucket {bucket}")).detail(error.to_string()))?;
        Ok(Store::new(Arc::new(objects), None, prefix))
    }

    fn new(objects: Arc<dyn ObjectStore>, folder: Option<Arc<LocalFileSystem>>, prefix: Key) -> Store {
        let turns = |at_once| Arc::new(Semaphore::new(at_once));
        Store { objects, folder, prefix, put_turns: turns(PUTS_AT_ONCE), delete_turns: turns(DELETES_AT_ONCE) }
    }

    pub fn is_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Of a sealed recording.
    pub fn content(&self, sha256: &str) -> Key {
        self.key(&[CONTENT, sha256.get(..2).unwrap_or_default(), sha256])
    }

    /// Of the next part of an upload; nobody else has this name.
    pub fn new_part(&self, recording: &str) -> Result<Key, Problem> {
        Ok(self.key(&[UPLOADS, recording, &random::id()?]))
    }

    /// The name here of an object that a store without a prefix, as a folder is, has under that name.
    pub fn below_prefix(&self, key: &Key) -> Key {
        self.prefix.parts().chain(key.parts()).collect()
    }

    fn key(&self, parts: &[&str]) -> Key {
        parts.iter().fold(self.prefix.clone(), |key, part| key.join(*part))
    }

    /// The file of an object, if the store is a folder.
    pub fn file(&self, key: &Key) -> Option<PathBuf> {
        self.folder.as_ref().and_then(|folder| folder.path_to_filesystem(key).ok())
    }

    /// Where objects are, if the store is a folder.
    pub fn folders(&self) -> Vec<PathBuf> {
        [CONTENT, UPLOADS].iter().filter_map(|folder| self.file(&self.key(&[folder]))).collect()
    }

    pub async fn put(&self, key: &Key, bytes: Bytes) -> Result<(), Problem> {
        self.check_folder().await?;
        self.objects.put(key, bytes.into()).await.map(drop).map_err(|error| failed("put", &error))
    }

    /// A whole file, in parts where it is large. It waits for its turn without a limit of its own, and without bytes in memory. Dropped in the
    /// middle, it leaves no part in the store.
    pub async fn put_file(&self, key: &Key, file: &Path) -> Result<(), Problem> {
        let _turn = self.put_turns.acquire().await;
        let mut source = tokio::fs::File::open(file).await.map_err(|error| unread(&error))?;
        let part = read_part(&mut source).await.map_err(|error| unread(&error))?;
        if part.len() < PART_BYTES {
            return self.put(key, part.into()).await;
        }
        self.check_folder().await?;
        let upload = self.objects.put_multipart(key).await.map_err(|error| failed("put", &error))?;
        let mut sending = Sending::begin(upload, PART_BYTES);
        match send(&mut sending, part, &mut source).await {
            Ok(()) => sending.finish().await.map_err(|error| failed("put", &error)),
            Err(problem) => {
                sending.give_up().await;
                Err(problem)
            }
        }
    }

    /// Appends an object to a file, and shows each piece to `seen`.
    pub async fn copy_into(
        &self,
        key: &Key,
        file: &mut tokio::fs::File,
        mut seen: impl FnMut(&[u8]) + Send,
    ) -> Result<u64, Problem> {
        let found = self.get(key).await?;
        let (mut pieces, mut bytes) = (found.into_stream(), 0);
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| failed("get", &error))?;
            seen(&piece);
            bytes += piece.len() as u64;
            file.write_all(&piece).await.map_err(|error| scratch_failed(&error))?;
        }
        Ok(bytes)
    }

    /// For whoever downloads it.
    pub async fn stream(
        &self,
        key: &Key,
    ) -> Result<impl futures_util::Stream<Item = Result<Bytes, Problem>> + Send + 'static + use<>, Problem> {
        let found = self.get(key).await?;
        Ok(found.into_stream().map(|piece| piece.map_err(|error| failed("get", &error))))
    }

    async fn get(&self, key: &Key) -> Result<GetResult, Problem> {
        match self.objects.get(key).await {
            Ok(found) => Ok(found),
            Err(error) => {
                // What is in a folder that is gone is not lost.
                if matches!(error, Error::NotFound { .. }) {
                    self.check_folder().await?;
                }
                Err(failed("get", &error))
            }
        }
    }

    /// None: there is no such object.
    pub async fn bytes_of(&self, key: &Key) -> Result<Option<u64>, Problem> {
        match self.objects.head(key).await {
            Ok(found) => Ok(Some(found.size)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed("head", &error)),
        }
    }

    /// One that is gone already is as good as deleted.
    pub async fn delete(&self, key: &Key) -> Result<(), Problem> {
        match self.objects.delete(key).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed("delete", &error)),
        }
    }

    /// Several at a time. Err: the first that failed. A few that cannot be deleted keep no others; many end it, as each would be tried again and
    /// again in a store that does not answer.
    pub async fn delete_all(&self, keys: Vec<Key>) -> Result<(), Problem> {
        let store = self.clone();
        let delete = move |key: Key| {
            let store = store.clone();
            async move {
                let _turn = store.delete_turns.acquire().await;
                store.delete(&key).await
            }
        };
        let mut deleted = stream::iter(keys).map(delete).buffer_unordered(DELETES_AT_ONCE);
        let mut failures = Vec::new();
        while let Some(done) = deleted.next().await {
            failures.extend(done.err());
            if failures.len() == DELETES_FAILED_MAX {
                break;
            }
        }
        failures.into_iter().next().map_or(Ok(()), Err)
    }

    /// Objects below a folder of the store, with how old they are in milliseconds.
    pub async fn list(&self, folder: &str) -> Result<Vec<Listed>, Problem> {
        let below = self.key(&[folder]);
        let now_ms = crate::words::moment::now_ms();
        let mut found = Vec::new();
        let mut objects = self.objects.list(Some(&below));
        while let Some(object) = objects.next().await {
            let object = object.map_err(|error| failed("list", &error))?;
            let age_ms = now_ms.saturating_sub(object.last_modified.timestamp_millis());
            found.push(Listed { key: object.location, bytes: object.size, age_ms });
        }
        Ok(found)
    }

    /// A folder that somebody moved, or that is no longer mounted, would list as empty, and a put would make another one in its place.
    pub async fn check_folder(&self) -> Result<(), Problem> {
        let within = self.file(&self.key(&[CONTENT]));
        let Some(folder) = within.as_deref().and_then(Path::parent) else { return Ok(()) };
        match tokio::fs::metadata(folder).await.is_ok_and(|found| found.is_dir()) {
            true => Ok(()),
            false => Err(Problem::new(503, "the store of recordings does not answer")
                .detail("its folder is gone")
                .hint("put the folder back, or mount it; a start of genba serve makes an empty one")),
        }
    }

    pub async fn is_there(&self) -> bool {
        self.probe().await.is_ok()
    }

    /// Whether it answers, and to whom: a wrong key is told before somebody uploads.
    pub async fn probe(&self) -> Result<(), Problem> {
        self.check_folder().await?;
        // A list: a bucket that is not there has no object either, and says nothing else when it is asked for one.
        let below = self.key(&["health"]);
        match self.objects.list(Some(&below)).next().await.transpose() {
            Ok(_) => Ok(()),
            Err(error) => Err(Problem::new(503, "the store of recordings does not answer")
                .detail(first_line(&error))
                .hint("AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY say where it is and who asks")),
        }
    }
}

pub struct Listed {
    pub key: Key,
    pub bytes: u64,
    pub age_ms: i64,
}

/// That part, and all behind it.
async fn send(sending: &mut Sending, first: Vec<u8>, source: &mut tokio::fs::File) -> Result<(), Problem> {
    let mut part = first;
    while !part.is_empty() {
        sending.put(part.into(), PARTS_AT_ONCE).await.map_err(|error| failed("put", &error))?;
        part = read_part(source).await.map_err(|error| unread(&error))?;
    }
    Ok(())
}

fn unread(error: &std::io::Error) -> Problem {
    Problem::internal("a scratch file", error)
}

async fn read_part(source: &mut tokio::fs::File) -> std::io::Result<Vec<u8>> {
    let mut part = Vec::with_capacity(PART_BYTES);
    source.take(PART_BYTES as u64).read_to_end(&mut part).await?;
    Ok(part)
}

pub fn scratch_failed(error: &std::io::Error) -> Problem {
    match is_full(error) {
        true => Problem::disk_full(),
        false => Problem::internal("a scratch file", error),
    }
}

fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    [StorageFull, QuotaExceeded, FileTooLarge].contains(&error.kind())
}

fn failed(verb: &str, error: &Error) -> Problem {
    if let Error::NotFound { .. } = error {
        return Problem::internal(&format!("an object is missing from the store ({verb})"), error);
    }
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if cause.downcast_ref::<std::io::Error>().is_some_and(is_full) {
            return Problem::disk_full();
        }
        source = cause.source();
    }
    if let Error::NotFound { .. } | Error::InvalidPath { .. } | Error::JoinError { .. } = error {
        return Problem::internal(&format!("the store of recordings ({verb})"), error);
    }
    log(&format!("error: the store of recordings ({verb}): {error}"));
    Problem::new(503, "the store of recordings does not answer").hint("try again: what was acknowledged is safe")
}

fn first_line(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;
    use object_store::throttle::{ThrottleConfig, ThrottledStore};

    use super::*;

    const EACH: Duration = Duration::from_millis(50);

    #[test]
    fn many_objects_are_deleted_several_at_a_time() {
        let slow = ThrottleConfig { wait_delete_per_call: EACH, ..ThrottleConfig::default() };
        let objects = Arc::new(ThrottledStore::new(InMemory::new(), slow));
        let store = Store::new(objects, None, Key::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let count = 4 * DELETES_AT_ONCE;
            let keys: Vec<Key> = (0..count).map(|number| store.key(&[UPLOADS, &number.to_string()])).collect();
            for key in &keys {
                store.put(key, Bytes::from_static(b"some bytes")).await.expect("it is put");
            }
            let deleter = store.clone();
            let deleting = tokio::spawn(async move { deleter.delete_all(keys).await });
            let mut turns_left = DELETES_AT_ONCE;
            while !deleting.is_finished() {
                turns_left = turns_left.min(store.delete_turns.available_permits());
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            deleting.await.expect("a task").expect("they are deleted");
            assert_eq!(turns_left, 0, "all of them are in use at once");
            assert!(store.list(UPLOADS).await.expect("a list").is_empty());
        });
    }

    #[test]
    fn files_are_put_several_at_a_time_and_the_others_wait() {
        let slow = ThrottleConfig { wait_put_per_call: EACH, ..ThrottleConfig::default() };
        let store = Store::new(Arc::new(ThrottledStore::new(InMemory::new(), slow)), None, Key::default());
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("scratch");
        std::fs::write(&file, b"some bytes").expect("a file");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let put = |number: usize| {
                let (store, file) = (store.clone(), file.clone());
                let key = store.key(&[CONTENT, &number.to_string()]);
                tokio::spawn(async move { store.put_file(&key, &file).await })
            };
            let putting: Vec<_> = (0..3 * PUTS_AT_ONCE).map(put).collect();
            let mut turns_left = PUTS_AT_ONCE;
            while !putting.iter().all(tokio::task::JoinHandle::is_finished) {
                turns_left = turns_left.min(store.put_turns.available_permits());
                tokio::task::yield_now().await;
            }
            for put in putting {
                put.await.expect("a task").expect("it is put");
            }
            assert_eq!(turns_left, 0, "all of them are in use at once");
            assert_eq!(store.list(CONTENT).await.expect("a list").len(), 3 * PUTS_AT_ONCE);
            assert_eq!(store.put_turns.available_permits(), PUTS_AT_ONCE);
        });
    }

    #[test]
    fn a_folder_that_is_gone_is_told_and_no_other_one_is_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::embedded(folder.path()).expect("a store");
        let (objects, moved, file) =
            (folder.path().join(FOLDER), folder.path().join("moved"), folder.path().join("large"));
        std::fs::File::create(&file).and_then(|file| file.set_len(PART_BYTES as u64)).expect("a file");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            assert!(store.is_there().await);
            std::fs::rename(&objects, &moved).expect("it is moved");
            assert!(!store.is_there().await);
            let (key, bytes) = (store.key(&[CONTENT, "one"]), Bytes::from_static(b"some bytes"));
            for put in [store.put(&key, bytes.clone()).await, store.put_file(&key, &file).await] {
                assert_eq!(put.expect_err("the folder is gone").status, 503);
            }
            assert!(!objects.exists());
            std::fs::rename(&moved, &objects).expect("it is moved back");
            assert!(store.is_there().await);
            store.put(&key, bytes).await.expect("it is put");
        });
    }

    #[test]
    fn one_that_cannot_be_deleted_keeps_no_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::embedded(folder.path()).expect("a store");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let [first, last] = ["first", "last"].map(|name| store.key(&[UPLOADS, name]));
            // A folder with something in it, in the place of an object.
            std::fs::create_dir_all(folder.path().join(FOLDER).join(UPLOADS).join("first/within")).expect("a folder");
            store.put(&last, Bytes::from_static(b"some bytes")).await.expect("it is put");
            store.delete_all(vec![first, last.clone()]).await.expect_err("one is a folder");
            assert_eq!(store.bytes_of(&last).await, Ok(None));
        });
    }
}
