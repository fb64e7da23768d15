//! `genba serve check`: whether all that was acknowledged is there, byte by byte.
//! Owns: what is compared with what. Never: changes anything.

use std::collections::HashMap;

use futures_util::StreamExt;
use object_store::path::Path as Key;
use sha2::{Digest, Sha256};

use crate::chores::place::{Place, done};
use crate::keeping::leftovers::unnamed_contents;
use crate::storage::database::{Database, Statement};
use crate::storage::recordings::{count, get};
use crate::storage::store::Store;
use crate::storage::{chunks, contents};
use crate::words::problem::Problem;
use crate::words::random::hex;

#[derive(Debug, Default)]
pub struct Checked {
    pub recordings: u64,
    pub contents: u64,
    pub bytes: u64,
    pub parts: u64,
    /// Contents in the store that no row names. They are no fault, and take room.
    pub unnamed: u64,
    pub unnamed_bytes: u64,
    /// One sentence for each thing that is wrong.
    pub faults: Vec<String>,
}

pub fn check(place: &Place) -> Result<Checked, Problem> {
    done(async {
        let (database, store) = place.existing()?.storage().await?;
        let checked = checked(&database, &store).await;
        database.close().await;
        checked
    })
}

pub(super) async fn checked(database: &Database, store: &Store) -> Result<Checked, Problem> {
    let mut checked = Checked::default();
    let mut stored: HashMap<String, u64> = HashMap::new();
    for (sha256, bytes) in contents::all(database).await? {
        checked.contents += 1;
        checked.bytes += bytes;
        if let Some(fault) = fault_of_content(store, &sha256, bytes).await? {
            // A server that deletes what nobody uses any more is no fault.
            if contents::presence(database, &sha256).await? == contents::Presence::Present {
                checked.faults.push(format!("{fault}; {}", users(database, &sha256).await?));
            }
        }
        stored.insert(sha256, bytes);
    }
    let rows =
        Statement::new("SELECT id, name, sha256, bytes FROM recordings WHERE state = 'sealed'").rows(database).await?;
    for row in &rows {
        checked.recordings += 1;
        let (id, name): (String, String) = (get(row, "id")?, get(row, "name")?);
        let sha256: Option<String> = get(row, "sha256")?;
        let bytes = count(row, "bytes")?;
        match sha256.as_ref().and_then(|sha256| stored.get(sha256)) {
            Some(found) if *found == bytes => {}
            Some(found) => {
                checked.faults.push(format!("recording {id} ({name}) has {bytes} bytes, and its content {found}"))
            }
            // It may be younger than the list of contents.
            None => match &sha256 {
                Some(sha256) if contents::presence(database, sha256).await? == contents::Presence::Present => {}
                _ => checked.faults.push(format!("recording {id} ({name}) has no content")),
            },
        }
    }
    for (_, bytes) in unnamed_contents(database, store).await? {
        checked.unnamed += 1;
        checked.unnamed_bytes += bytes;
    }
    for (object, bytes) in chunks::objects(database).await? {
        checked.parts += 1;
        let found = store.bytes_of(&Key::from(object.as_str())).await?;
        if found != Some(bytes) && is_still_named(database, &object).await? {
            let found = found.map_or("not there".to_owned(), |found| format!("{found} bytes long"));
            checked.faults.push(format!("the part {object} of an upload is {found}, not {bytes} bytes long"));
        }
    }
    Ok(checked)
}

/// The recordings that lost it.
async fn users(database: &Database, sha256: &str) -> Result<String, Problem> {
    let mut statement = Statement::new("SELECT id, name FROM recordings WHERE sha256 = ");
    statement.value(sha256.to_owned());
    let rows = statement.rows(database).await?;
    let names = rows.iter().map(|row| Ok(format!("{} ({})", get::<String>(row, "id")?, get::<String>(row, "name")?)));
    let names: Vec<String> = names.collect::<Result<_, Problem>>()?;
    Ok(match names.is_empty() {
        true => "no recording uses it".to_owned(),
        false => format!("it is what the recording {} holds", names.join(", ")),
    })
}

async fn is_still_named(database: &Database, object: &str) -> Result<bool, Problem> {
    Ok(chunks::objects(database).await?.iter().any(|(known, _)| known == object))
}

async fn fault_of_content(store: &Store, sha256: &str, bytes: u64) -> Result<Option<String>, Problem> {
    let key = store.content(sha256);
    let Some(found) = store.bytes_of(&key).await? else {
        return Ok(Some(format!("the content {sha256} is not in the store")));
    };
    if found != bytes {
        return Ok(Some(format!("the content {sha256} has {found} bytes instead of {bytes}")));
    }
    let mut pieces = Box::pin(store.stream(&key).await?);
    let mut hash = Sha256::new();
    while let Some(piece) = pieces.next().await {
        match piece {
            Ok(piece) => hash.update(&piece),
            Err(problem) => return Ok(Some(format!("the content {sha256} cannot be read: {}", problem.for_command()))),
        }
    }
    let found = hex(&hash.finalize());
    Ok((found != sha256).then(|| format!("the content {sha256} is damaged: its hash is {found}")))
}
