//! When blocks are written: early ones first, then one every quarter of a second.
//! Owns: the moments. Never: reads a clock.

pub(super) const FLUSH_EVERY_NS: u64 = 250_000_000;
/// When after its start a process writes its first blocks: one that is killed early, like a pool's worker, has told most of what it did.
const FIRST_FLUSHES_NS: [u64; 3] = [10_000_000, 30_000_000, 90_000_000];

/// When the block after the one of `now_ns` is due.
pub(super) fn next_flush_ns(began_ns: u64, now_ns: u64) -> u64 {
    let mut first = FIRST_FLUSHES_NS.into_iter().map(|after_ns| began_ns + after_ns);
    first.find(|&due_ns| due_ns > now_ns).unwrap_or(now_ns + FLUSH_EVERY_NS)
}

#[cfg(test)]
mod tests {
    use super::next_flush_ns;

    #[test]
    fn the_first_blocks_come_early() {
        let due_ms = |now_ms: u64| next_flush_ns(5_000_000_000, 5_000_000_000 + now_ms * 1_000_000) / 1_000_000 - 5_000;
        assert_eq!([0, 10, 30, 90, 340].map(due_ms), [10, 30, 90, 340, 590]);
        // A sampler that got no CPU for a while does not write the missed ones one after another.
        assert_eq!([35, 100, 2_000].map(due_ms), [90, 350, 2_250]);
    }
}
