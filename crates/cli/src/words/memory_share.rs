//! How much of the memory that is left one file may take, and the words for it.
//! Owns: the share. Never: looks how much is left (genba-process does).

use genba_process::memory_left::{Bound, Left};
use genba_profile::figures;

/// A file and its contents may take one part in so many of the memory that is left. The rest is for sums, orders and listings.
const PART_OF_LEFT: u64 = 2;
pub const HINT: &str = "read it where more memory is left: on another machine, or with a higher limit";

pub const fn most_bytes(left: Left) -> u64 {
    left.bytes / PART_OF_LEFT
}

/// `half of the 300 MB that this machine has left`.
pub fn share_of(left: Left) -> String {
    let bytes = figures::size(left.bytes);
    match left.bound {
        Bound::Machine => format!("half of the {bytes} that this machine has left"),
        Bound::Container => format!("half of the {bytes} that its container has left"),
        Bound::Process => format!("half of the {bytes} that this process may still take (ulimit -a)"),
    }
}
