//! What an admin does with a server's data beside serving it: tokens, old recordings, checks, copies.
//! Each chore works while servers run, unless it says otherwise.

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

use crate::words::problem::Problem;

/// Recordings that were sealed before, and what nobody needs any more. Returns how many.
pub fn prune(place: &Place, before_ms: i64) -> Result<u64, Problem> {
    done(async {
        let Open { keeper } = place.open(Path::new("/proc/self/exe"), u64::MAX).await?;
        let pruned = keeper.prune(before_ms).await?;
        keeper.clear_contents().await?;
        keeper.database.close().await;
        Ok(pruned)
    })
}
