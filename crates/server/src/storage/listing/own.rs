//! The list for somebody who may see only their own recordings.
//! Owns: that no page reveals where another's recording is in the list. Never: decides whose list it is (`routes/recordings.rs` does).

use crate::storage::database::Database;
use crate::words::problem::Problem;

use super::{Mark, Order, Page, Plan, page};

/// A page that goes on until it is full or the list ends: `next` is one of its own recordings, where a part of the list may end at another's.
pub async fn own_page(
    database: &Database,
    plan: &Plan<'_>,
    order: Order,
    after: Option<&Mark>,
    most: u32,
) -> Result<Page, Problem> {
    let mut full = page(database, plan, order, after, most).await?;
    while let Some(end) = full.next.take_if(|next| full.last.as_ref() != Some(&*next)) {
        let room = most.saturating_sub(u32::try_from(full.recordings.len()).unwrap_or(u32::MAX));
        if room == 0 {
            full.next = full.last.clone();
            break;
        }
        let part = page(database, plan, order, Some(&end), room).await?;
        full.recordings.extend(part.recordings);
        full.next = part.next;
        full.last = part.last.or(full.last);
    }
    Ok(full)
}
