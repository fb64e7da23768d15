//! The recordings of a server: made, sent, renamed, deleted.
//! Owns: the steps that touch both the database and the store, in an order in which a crash loses nothing that was acknowledged.
//! Never: decides who may do it (`rules/access.rs`); decodes a recording (`reading/` asks another process).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::keeping::grown::Grown;
use crate::reading::{Answers, Facts};
use crate::rules::naming::TAGS_MAX;
use crate::storage::database::{Database, roll_back};
use crate::storage::recordings::{self, Known, Recording, State};
use crate::storage::store::Store;
use crate::storage::terms::{self, Kind};
use crate::storage::tokens::commit;
use crate::storage::{chunks, contents, links};
use crate::words::moment::now_ms;
use crate::words::problem::Problem;
use crate::words::random;

/// What uploads leave free.
const RESERVE_BYTES: u64 = 16 << 20;
/// Whoever deletes waits so long for the room. A store that does not answer would keep all who delete waiting, one behind the other.
pub(super) const CLEARED_WITHIN: Duration = Duration::from_secs(10);

/// A clone keeps the same recordings.
#[derive(Clone)]
pub struct Keeper {
    pub database: Database,
    pub store: Store,
    pub answers: Answers,
    /// For files that exist only while somebody reads them.
    pub scratch: PathBuf,
    /// Of recordings that grow, and are read meanwhile.
    pub grown: Grown,
    pub recording_bytes_max: u64,
    /// Open ones included.
    pub recordings_of_token_max: u64,
    /// Of whoever deletes contents that nobody uses.
    pub clearing: Arc<Mutex<()>>,
}

/// What somebody says about a recording before its first byte.
pub struct New {
    pub name: String,
    pub host: Option<String>,
    pub tags: Vec<String>,
    pub live: bool,
    pub owner: String,
}

impl Keeper {
    pub async fn create(&self, new: New) -> Result<Recording, Problem> {
        let now_ms = now_ms();
        let recording = Recording {
            id: random::id()?,
            program: new.name.clone(),
            name: new.name,
            state: State::Open,
            live: new.live,
            owner: new.owner,
            host: new.host,
            tags: new.tags,
            created_ms: now_ms,
            touched_ms: now_ms,
            sealed_ms: None,
            bytes: 0,
            parts: 0,
            sha256: None,
            facts: None,
        };
        let mut transaction = self.database.begin().await?;
        if recordings::has_as_many(&mut transaction, &recording.owner, self.recordings_of_token_max).await? {
            roll_back(transaction).await?;
            return Err(self.too_many(&recording.owner));
        }
        recordings::insert(&mut transaction, &recording).await?;
        // Nobody finds what is not listed.
        if recording.live {
            terms::replace(&mut transaction, &recording, &[], said_terms(&recording, &recording.tags)).await?;
        }
        commit(transaction).await?;
        Ok(recording)
    }

    fn too_many(&self, owner: &str) -> Problem {
        Problem::forbidden(format!("the token {owner} has as many recordings as this server takes from one"))
            .detail(format!("it takes {} of each, open ones included", self.recordings_of_token_max))
            .hint("delete some, as genba serve --keep 30d does; genba serve --recordings-per-token N takes more")
    }

    /// 507 where the disk would be fuller than it may be: to delete something takes room as well.
    pub(super) fn check_room(&self, bytes: u64) -> Result<(), Problem> {
        let needed = bytes.saturating_add(RESERVE_BYTES);
        if self.free_bytes()? >= needed {
            return Ok(());
        }
        // They can be put together anew.
        self.grown.forget_all();
        match self.free_bytes()? >= needed {
            true => Ok(()),
            false => Err(Problem::disk_full()),
        }
    }

    pub(super) fn free_bytes(&self) -> Result<u64, Problem> {
        let found = rustix::fs::statvfs(&self.scratch);
        let found = found.map_err(|error| Problem::internal("the room on the disk", &error))?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// 404 where there is none.
    pub async fn find(&self, id: &str) -> Result<Recording, Problem> {
        let found = if random::is_id(id) { recordings::find(&self.database, id).await? } else { None };
        found.ok_or_else(|| Problem::not_found("recording"))
    }

    /// What tells its bytes from all others.
    pub fn content_name(recording: &Recording) -> String {
        match &recording.sha256 {
            Some(sha256) => sha256.clone(),
            None => format!("{}:{}", recording.id, recording.bytes),
        }
    }

    /// Another name, other tags, or both. The rest stays as it is by then, whoever changed it last.
    pub async fn change(
        &self,
        id: &str,
        name: Option<String>,
        tags: Option<Vec<String>>,
    ) -> Result<Recording, Problem> {
        let mut transaction = self.database.begin().await?;
        let found = recordings::locked(&self.database, &mut transaction, id).await?;
        let was = found.ok_or_else(|| Problem::not_found("recording"))?;
        let now = Recording {
            name: name.unwrap_or_else(|| was.name.clone()),
            tags: tags.unwrap_or_else(|| was.tags.clone()),
            ..was
        };
        recordings::rename(&mut transaction, id, &now.name, &now.tags).await?;
        let named = vec![(Kind::Name, terms::folded(&now.name))];
        let tagged = terms::of_tags(&now.tags).into_iter().map(|word| (Kind::Tag, word));
        let both = named.into_iter().chain(tagged).collect();
        if now.is_listed() {
            terms::replace(&mut transaction, &now, &[Kind::Name, Kind::Tag], both).await?;
        }
        commit(transaction).await?;
        Ok(now)
    }

    pub async fn delete(&self, recording: &Recording) -> Result<(), Problem> {
        match self.delete_row(recording, None).await? {
            true => Ok(()),
            false => Err(Problem::not_found("recording")),
        }
    }

    /// One that is too old, as it was when it was listed. False: it is gone, or it grew, was sealed or was opened since.
    pub(super) async fn delete_if_untouched(&self, recording: &Recording) -> Result<bool, Problem> {
        self.delete_row(recording, Some(recording)).await
    }

    /// The row first, then the bytes: what a crash leaves behind is deleted later (`keeping/leftovers.rs`).
    async fn delete_row(&self, recording: &Recording, untouched: Option<&Recording>) -> Result<bool, Problem> {
        let parts = chunks::of_recording(&self.database, &recording.id).await?;
        let mut transaction = self.database.begin().await?;
        let deleted = recordings::delete(&mut transaction, &recording.id, untouched).await?;
        let Some(used) = deleted else { return Ok(false) };
        self.grown.forget(&recording.id);
        chunks::delete(&mut transaction, &recording.id).await?;
        terms::delete(&mut transaction, &recording.id).await?;
        links::delete(&mut transaction, &recording.id).await?;
        if let Some(sha256) = &used {
            contents::end_use(&mut transaction, sha256).await?;
        }
        commit(transaction).await?;
        self.delete_parts(parts).await;
        // Whoever deletes wants the room; what fails now is done within the hour. What takes longer goes on as a task of its own.
        let _ = tokio::time::timeout(CLEARED_WITHIN, self.clear_contents()).await;
        Ok(true)
    }
}

#[cfg(test)]
impl Keeper {
    /// For a test: in a folder of its own. No process of it ever reads.
    pub fn in_new_folder(test: impl AsyncFnOnce(Keeper)) {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async { test(Keeper::in_folder(folder.path()).await).await });
    }

    async fn in_folder(folder: &std::path::Path) -> Keeper {
        let limits = crate::reading::Limits {
            at_once: 1,
            memory_bytes: 1 << 30,
            cpu_s: 1,
            wall: Duration::from_secs(1),
            answer_bytes_max: 1 << 20,
            queue_max: 1,
        };
        let workers = crate::reading::Workers::new("/nowhere/genba".into(), Vec::new(), limits);
        Keeper {
            database: Database::embedded(folder, crate::storage::database::Older::Grows).await.expect("a database"),
            store: Store::embedded(folder).expect("a store"),
            answers: Answers::new(workers, 1 << 20),
            scratch: folder.to_owned(),
            grown: Grown::default(),
            recording_bytes_max: 1 << 20,
            recordings_of_token_max: 1_000,
            clearing: Arc::default(),
        }
    }

    /// A live one without a byte.
    pub async fn begun(&self) -> Recording {
        let (name, owner) = ("app.genba".to_owned(), "lena".to_owned());
        self.create(New { name, host: None, tags: Vec::new(), live: true, owner }).await.expect("a recording")
    }
}

/// What somebody said of it.
fn said_terms(recording: &Recording, tags: &[String]) -> Vec<(Kind, String)> {
    let tags = terms::of_tags(tags).into_iter().map(|word| (Kind::Tag, word));
    let host = recording.host.iter().map(|host| (Kind::Host, terms::folded(host)));
    let said = [(Kind::Who, terms::folded(&recording.owner)), (Kind::Name, terms::folded(&recording.name))];
    said.into_iter().chain(host).chain(tags).collect()
}

/// What is in it: for its row, and what it is found by.
pub(super) fn known(recording: &Recording, facts: Facts) -> (Known, Vec<(Kind, String)>) {
    let mut tags = recording.tags.clone();
    // A tag that was read in it before and is gone was taken away by somebody.
    let before = recording.facts.as_deref().and_then(|facts| serde_json::from_str::<Facts>(facts).ok());
    let was_read = |tag: &String| before.as_ref().is_some_and(|before| before.tags.contains(tag));
    tags.extend(facts.tags.iter().filter(|tag| !recording.tags.contains(tag) && !was_read(tag)).cloned());
    tags.truncate(TAGS_MAX);
    let mut words = said_terms(recording, &tags);
    words.extend(terms::of_program(&facts.program).into_iter().map(|word| (Kind::Program, word)));
    let functions = facts.functions.iter().flatten().map(|function| function.name.as_str());
    words.extend(terms::of_functions(functions).into_iter().map(|word| (Kind::Function, word)));
    words.push((Kind::Verdict, terms::folded(&facts.verdict.kind)));
    // The list does not show them, and there may be thousands.
    let mut facts = Facts { functions: None, functions_more: None, ..facts };
    // Another server may have read more of it, and written that first: what was taken away must not come back with the next reading.
    let more = before.into_iter().flat_map(|before| before.tags).filter(|tag| !facts.tags.contains(tag));
    let more: Vec<String> = more.collect();
    facts.tags.extend(more);
    let stored = serde_json::to_string(&facts).unwrap_or_default();
    words.retain(|(_, word)| !word.is_empty());
    (Known { program: facts.program, cpu_ns: facts.cpu_ns, wall_ns: facts.wall_ns, facts: stored, tags }, words)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use crate::reading::{Limits, Workers};
    use crate::storage::database::Statement;

    use super::*;

    const FACTS: &str = r#"{"program": "app.py", "verdict": {"kind": "cpu", "words": "on the CPU"}, "cpu_ns": 1, "wall_ns": 1, "samples": 1,
        "processes": 1, "threads": 1, "started_ms": null, "pythons": [], "tags": ["from-file"], "tags_more": 0, "spark": [], "span_ns": 1,
        "accounting": "", "masked": 0, "sources": "none", "faults": [], "faults_more": 0, "ended": true}"#;

    /// A process of it takes every file for a recording with those facts.
    fn with_keeper(test: impl AsyncFnOnce(Keeper)) {
        let head = format!(r#"{{"reply": "json", "bytes": {}}}"#, FACTS.len());
        let script = format!("read -r order; printf '%s\\n%s' '{head}' '{FACTS}'");
        let limits = Limits {
            at_once: 1,
            memory_bytes: 1 << 30,
            cpu_s: 60,
            wall: Duration::from_secs(60),
            answer_bytes_max: 1 << 20,
            queue_max: 8,
        };
        let workers = Workers::new("/bin/sh".into(), vec!["-c".into(), script.into()], limits);
        let answers = Answers::new(workers, 1 << 20);
        Keeper::in_new_folder(async |keeper| test(Keeper { answers, ..keeper }).await);
    }

    async fn begun(keeper: &Keeper, live: bool) -> Recording {
        let new = New { name: "app.genba".to_owned(), host: None, tags: Vec::new(), live, owner: "lena".to_owned() };
        keeper.create(new).await.expect("a recording")
    }

    async fn grown(keeper: &Keeper, recording: &Recording) -> Recording {
        let part = Bytes::from_static(b"some bytes");
        keeper.append(recording, recording.bytes, part).await.expect("a part");
        keeper.find(&recording.id).await.expect("it is there")
    }

    fn tags(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// Name, tags, and the name that the search knows.
    async fn said(keeper: &Keeper, id: &str) -> (String, Vec<String>, String) {
        let now = keeper.find(id).await.expect("it is there");
        let mut statement = Statement::new("SELECT word FROM terms WHERE kind = 'name' AND recording = ");
        statement.value(id.to_owned());
        let rows = statement.rows(&keeper.database).await.expect("rows");
        let [row] = rows.as_slice() else { panic!("{} names", rows.len()) };
        (now.name, now.tags, recordings::get(row, "word").expect("a word"))
    }

    #[test]
    fn a_token_has_a_bound_that_what_it_deleted_does_not_count_for() {
        with_keeper(async |keeper| {
            let keeper = Keeper { recordings_of_token_max: 2, ..keeper };
            let new = |owner: &str| {
                let (name, owner) = ("app.genba".to_owned(), owner.to_owned());
                New { name, host: None, tags: Vec::new(), live: false, owner }
            };
            let first = keeper.create(new("lena")).await.expect("the first");
            keeper.create(new("lena")).await.expect("the last");
            let refused = keeper.create(new("lena")).await.expect_err("one more");
            assert!(refused.status == 403 && refused.hint.is_some(), "{refused:?}");
            keeper.create(new("sam")).await.expect("another's");
            keeper.delete(&first).await.expect("it is deleted");
            keeper.create(new("lena")).await.expect("there is room again");
        });
    }

    #[test]
    fn what_is_not_given_stays_whoever_changed_it_last() {
        with_keeper(async |keeper| {
            let id = begun(&keeper, true).await.id;
            keeper.change(&id, Some("other.genba".to_owned()), None).await.expect("a change");
            keeper.change(&id, None, Some(tags(&["main"]))).await.expect("a change");
            let other = "other.genba".to_owned();
            assert_eq!(said(&keeper, &id).await, (other.clone(), tags(&["main"]), other.clone()));
            keeper.change(&id, None, None).await.expect("no change");
            assert_eq!(said(&keeper, &id).await, (other.clone(), tags(&["main"]), other));
        });
    }

    #[test]
    fn a_name_and_tags_that_were_given_while_the_file_was_read_stay() {
        with_keeper(async |keeper| {
            // As it was when the reading began.
            let before = grown(&keeper, &begun(&keeper, true).await).await;
            let (id, late) = (before.id.clone(), "late.genba".to_owned());
            keeper.change(&id, Some(late.clone()), Some(tags(&["late"]))).await.expect("a change");
            keeper.learn(&before).await.expect("facts");
            assert_eq!(said(&keeper, &id).await, (late.clone(), tags(&["late", "from-file"]), late));
            let later = "later.genba".to_owned();
            // The tag of the file is gone for good, too.
            keeper.change(&id, Some(later.clone()), Some(tags(&["later"]))).await.expect("a change");
            keeper.seal(&before, None).await.expect("a seal");
            assert_eq!(said(&keeper, &id).await, (later.clone(), tags(&["later"]), later));
        });
    }

    #[test]
    fn a_tag_that_was_taken_away_stays_away_whoever_reads_first() {
        with_keeper(async |keeper| {
            let recording = begun(&keeper, true).await;
            let with_tag: Facts = serde_json::from_str(FACTS).expect("facts");
            let without = || Facts { tags: Vec::new(), ..with_tag.clone() };
            let mut now = recording;
            // The last reading but one began earlier, and saw less.
            for (facts, tags) in
                [(with_tag.clone(), tags(&["from-file"])), (without(), tags(&[])), (with_tag.clone(), tags(&[]))]
            {
                let known = known(&now, facts).0;
                assert_eq!(known.tags, tags);
                now = Recording { facts: Some(known.facts), tags: Vec::new(), ..now };
            }
        });
    }

    #[test]
    fn one_that_grew_since_it_was_listed_is_not_deleted_as_old() {
        with_keeper(async |keeper| {
            let listed = begun(&keeper, false).await;
            let now = grown(&keeper, &listed).await;
            assert!(!keeper.delete_if_untouched(&listed).await.expect("a try"));
            assert_eq!(keeper.find(&now.id).await.expect("it is there").bytes, now.bytes);
            assert!(keeper.delete_if_untouched(&now).await.expect("a try"));
            assert_eq!(keeper.find(&now.id).await.expect_err("it is gone").status, 404);
            assert!(!keeper.delete_if_untouched(&now).await.expect("a try"));
        });
    }

    #[test]
    fn one_that_was_opened_again_since_it_was_listed_is_not_deleted_as_old() {
        with_keeper(async |keeper| {
            let live = grown(&keeper, &begun(&keeper, true).await).await;
            let listed = keeper.seal_quiet(&live).await.expect("a seal");
            let now = grown(&keeper, &listed).await;
            assert_eq!((now.state, now.bytes), (State::Open, 2 * listed.bytes));
            assert!(!keeper.delete_if_untouched(&listed).await.expect("a try"));
            assert_eq!(keeper.find(&now.id).await.expect("it is there").bytes, now.bytes);
            // Sealed once more, it can be opened once more, whoever still has it as it was listed.
            let again = keeper.seal_quiet(&now).await.expect("a seal");
            keeper.end_reopening(&listed).await.expect("nothing to do");
            assert_eq!(grown(&keeper, &again).await.state, State::Open);
        });
    }

    #[test]
    fn a_part_that_comes_while_the_server_seals_a_quiet_recording_is_taken() {
        with_keeper(async |keeper| {
            let read = grown(&keeper, &begun(&keeper, true).await).await;
            keeper.seal_quiet(&read).await.expect("a seal");
            let now = grown(&keeper, &read).await;
            assert_eq!((now.state, now.live, now.bytes), (State::Open, true, 2 * read.bytes));
            keeper.seal(&now, None).await.expect("a seal");
            let part = Bytes::from_static(b"some bytes");
            assert_eq!(keeper.append(&now, now.bytes, part).await.expect_err("it is sealed").status, 409);
        });
    }
}
