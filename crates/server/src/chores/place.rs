//! Where a server's data is, and how it is opened.
//! Owns: the folders and their modes, and what reading a recording may take. Never: does a chore.

use std::future::Future;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::Mode;

use crate::keeping::grown::Grown;
use crate::keeping::keeper::Keeper;
use crate::reading::{Answers, Limits, Workers};
use crate::storage::database::{Database, FILE, Older, UNFINISHED};
use crate::storage::store::{FOLDER, Store};
use crate::words::problem::Problem;

const SCRATCH: &str = "scratch";
const ANSWERS_BYTES_MAX: u64 = 128 << 20;
/// Of one process that reads a recording.
const READING: Limits = Limits {
    at_once: 2,
    memory_bytes: 4 << 30,
    cpu_s: 120,
    wall: Duration::from_secs(180),
    answer_bytes_max: 32 << 20,
    queue_max: 256,
};

/// Where the data is: both in a folder, unless an address says otherwise.
#[derive(Clone, Debug)]
pub struct Place {
    pub data: PathBuf,
    /// `postgres://…`
    pub db: Option<String>,
    /// `s3://BUCKET`
    pub store: Option<String>,
}

pub(crate) struct Open {
    pub keeper: Keeper,
}

impl Place {
    /// It takes recordings without a bound.
    pub(crate) async fn open(&self, program: &Path, older: Older) -> Result<Open, Problem> {
        let (database, store) = self.storage_of(older).await?;
        let scratch = self.scratch()?;
        let arguments = ["serve", "read-one"].map(Into::into).to_vec();
        let answers = Answers::new(Workers::new(program.to_owned(), arguments, READING), ANSWERS_BYTES_MAX);
        let (grown, clearing) = (Grown::default(), Arc::default());
        let (recording_bytes_max, recordings_of_token_max) = (u64::MAX, u64::MAX);
        let keeper =
            Keeper { database, store, answers, scratch, grown, recording_bytes_max, recordings_of_token_max, clearing };
        Ok(Open { keeper })
    }

    /// 404 where there is nothing yet: a chore looks after what is there, and a folder that somebody mistyped stays as it is.
    pub(crate) fn existing(&self) -> Result<&Place, Problem> {
        self.refuse_unfinished()?;
        let missing = match (&self.db, &self.store) {
            (None, _) if !self.data.join(FILE).is_file() => FILE,
            (Some(_), None) if !self.data.join(FOLDER).is_dir() => FOLDER,
            _ => return Ok(self),
        };
        Err(Problem::new(404, format!("there is no data of a server in {}", self.data.display()))
            .detail(format!("it holds no {missing}"))
            .hint("--data DIR names the folder of a server; genba serve --data DIR makes it"))
    }

    /// For a chore, which leaves the tables of an older genba's server as they are.
    pub(crate) async fn storage(&self) -> Result<(Database, Store), Problem> {
        self.storage_of(Older::IsRefused).await
    }

    async fn storage_of(&self, older: Older) -> Result<(Database, Store), Problem> {
        self.refuse_unfinished()?;
        // Recordings and hashes of tokens are for their owner alone, in a folder that was there before, too.
        rustix::process::umask(Mode::from_raw_mode(0o077));
        // One TLS for all of them; a second call finds it there.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let data = match (&self.db, &self.store) {
            // Nothing of it is in a folder.
            (Some(_), Some(_)) => PathBuf::new(),
            _ => {
                self.make_folder(&self.data)?;
                std::path::absolute(&self.data).map_err(|error| Problem::internal("the data folder", &error))?
            }
        };
        let database = match &self.db {
            Some(address) => Database::postgres(address, older).await?,
            None => Database::embedded(&data, older).await?,
        };
        let store = match &self.store {
            Some(address) => {
                let store = Store::bucket(address)?;
                store.probe().await?;
                store
            }
            None => Store::embedded(&data)?,
        };
        Ok((database, store))
    }

    fn refuse_unfinished(&self) -> Result<(), Problem> {
        if self.db.is_some() || !is_unfinished(&self.data) {
            return Ok(());
        }
        Err(Problem::conflict(format!("the backup in {} is not finished", self.data.display()))
            .detail("recordings are missing: it is still under way, or it failed")
            .hint("once no genba serve backup writes there, remove the folder and make the backup anew"))
    }

    /// Beside the data; of a server without data of its own in the system's folder for such files.
    pub(crate) fn scratch(&self) -> Result<PathBuf, Problem> {
        if self.db.is_some() && self.store.is_some() {
            return Ok(std::env::temp_dir());
        }
        let folder = self.data.join(SCRATCH);
        self.make_folder(&folder)?;
        Ok(folder)
    }

    /// Only its owner reads what is in it.
    pub(crate) fn make_folder(&self, folder: &Path) -> Result<(), Problem> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| {
            Problem::new(503, format!("cannot make the folder {}", folder.display()))
                .detail(error.to_string())
                .hint("genba serve --data DIR names another one")
        })
    }
}

/// A backup into that folder is under way, or ended before all objects were there.
pub(crate) fn is_unfinished(folder: &Path) -> bool {
    folder.join(UNFINISHED).exists() && !folder.join(FILE).exists()
}

/// A chore is done by one thread, for a command.
pub(crate) fn done<Made>(chore: impl Future<Output = Result<Made, Problem>>) -> Result<Made, Problem> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Problem::internal("starting", &error));
    runtime.and_then(|runtime| runtime.block_on(chore)).map_err(Problem::for_command)
}
