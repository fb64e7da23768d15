//! What an admin does with a server's data beside serving it: tokens, old recordings, checks, copies.
//! Each chore works while servers of this version run, unless it says otherwise.

mod backup;
mod check;
mod copied;
mod moving;
mod place;
mod tokens;

use std::path::Path;

pub use backup::backup;
pub use check::{Checked, check};
pub use copied::Copied;
pub use moving::move_to;
pub use place::Place;
pub(crate) use place::{Open, done};
pub use tokens::{add_token, list_tokens, revoke_token, rotate_token};

use crate::storage::database::Older;
use crate::words::problem::Problem;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub recordings: u64,
    /// In the store, and not in the database.
    pub unnamed: u64,
    pub unnamed_bytes: u64,
}

/// Recordings that were sealed before, and what nobody needs any more.
pub fn prune(place: &Place, before_ms: i64) -> Result<Pruned, Problem> {
    done(async {
        let Open { keeper } = place.existing()?.open(Path::new("/proc/self/exe"), Older::IsRefused).await?;
        let recordings = keeper.prune(before_ms).await?;
        let (unnamed, unnamed_bytes) = keeper.clear_unnamed().await?;
        keeper.database.close().await;
        Ok(Pruned { recordings, unnamed, unnamed_bytes })
    })
}
