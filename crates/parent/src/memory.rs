//! What libc's allocator does with large pieces.
//! Owns: that setting. Never: allocates.

/// From here on each piece that is as large as this has a mapping of its own, and goes back to the system when it is freed.
#[cfg(target_env = "gnu")]
const MAPPED_BYTES: std::ffi::c_int = 1 << 20;

/// By default the GNU library raises that bound with each large piece that is freed, up to 32 MB: the next pieces then come from heaps that only
/// shrink at their end, and each thread may have its own.
#[cfg(target_env = "gnu")]
pub fn give_large_pieces_back() {
    // SAFETY: it takes plain numbers. If it fails, nothing changes.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES) };
}

/// Other libraries do so by themselves.
#[cfg(not(target_env = "gnu"))]
pub fn give_large_pieces_back() {}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use std::hint::black_box;

    use super::*;

    const LARGE: usize = 8 << 20;

    fn mapped_bytes() -> usize {
        // SAFETY: it takes nothing and returns numbers.
        unsafe { libc::mallinfo2() }.hblkhd
    }

    #[test]
    fn a_large_piece_is_mapped_for_itself_also_after_a_larger_one_was_freed() {
        give_large_pieces_back();
        drop(black_box(Vec::<u8>::with_capacity(2 * LARGE)));
        let before = mapped_bytes();
        let piece = black_box(Vec::<u8>::with_capacity(LARGE));
        assert!(mapped_bytes() >= before + LARGE);
        drop(piece);
        assert!(mapped_bytes() < before + LARGE);
    }
}
