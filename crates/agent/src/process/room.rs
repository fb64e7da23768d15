//! Memory that is sure to be there for a thread of the program's. When there is none left, the sampler's thread can end at once; a thread of
//! the program's cannot.
//! Owns: one mapping, made before the work that may need it. Never: takes a piece back: pieces are few, and most rooms end unused.
//! Partner: arena.rs takes pieces when the heap has none.

use crate::system::proc::own_tid;
use std::alloc::Layout;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};

/// What the largest work needs, a sampler's making: its compressor and tables are 2 MB, and the arguments of a program a few.
const BYTES: usize = 16 << 20;

/// The thread whose work is under way; 0: nobody's.
static HOLDER: AtomicU32 = AtomicU32::new(0);
/// The mapping; 0: none.
static BEGIN: AtomicUsize = AtomicUsize::new(0);
/// Where the next piece begins.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Does the work with room for all it allocates. `None`: there is no room, and nothing was done.
pub fn within<T>(work: impl FnOnce() -> T) -> Option<T> {
    HOLDER.compare_exchange(0, own_tid(), SeqCst, SeqCst).ok()?;
    let held = Held;
    if !is_ready() {
        return None;
    }
    let result = work();
    drop(held);
    Some(result)
}

/// In a forked child: the thread that had it may not be there.
pub fn forked() {
    HOLDER.store(0, SeqCst);
}

/// A piece for the holder; null for everybody else.
pub fn piece(layout: Layout) -> *mut u8 {
    if HOLDER.load(SeqCst) != own_tid() {
        return core::ptr::null_mut();
    }
    let first = NEXT.load(SeqCst).next_multiple_of(layout.align());
    let behind = first.saturating_add(layout.size());
    if behind > BEGIN.load(SeqCst) + BYTES {
        return core::ptr::null_mut();
    }
    // Only the holder moves it.
    NEXT.store(behind, SeqCst);
    core::ptr::with_exposed_provenance_mut(first)
}

/// Whether a piece came from here.
pub fn owns(piece: *mut u8) -> bool {
    let begin = BEGIN.load(SeqCst);
    begin != 0 && (begin..begin + BYTES).contains(&piece.addr())
}

struct Held;

impl Drop for Held {
    /// An unused room is given back. One with pieces stays, since they may live as long as the process.
    fn drop(&mut self) {
        let begin = BEGIN.load(SeqCst);
        if begin != 0 && NEXT.load(SeqCst) == begin {
            BEGIN.store(0, SeqCst);
            // SAFETY: the mapping of `is_ready`, in which there is no piece.
            unsafe { libc::munmap(core::ptr::with_exposed_provenance_mut(begin), BYTES) };
        }
        HOLDER.store(0, SeqCst);
    }
}

/// Called by the holder. A room that was used must still be half empty.
fn is_ready() -> bool {
    let begin = BEGIN.load(SeqCst);
    if begin != 0 {
        return NEXT.load(SeqCst) - begin <= BYTES / 2;
    }
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping of our own.
    let made = unsafe { libc::mmap(core::ptr::null_mut(), BYTES, access, kind, -1, 0) };
    if made == libc::MAP_FAILED {
        return false;
    }
    NEXT.store(made.expose_provenance(), SeqCst);
    BEGIN.store(made.addr(), SeqCst);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test for all, since the room is the process's.
    #[test]
    fn pieces_lie_apart_and_only_the_holder_gets_them() {
        let word = Layout::new::<u64>();
        assert!(piece(word).is_null());
        assert_eq!(within(|| within(|| 1)), Some(None), "a room within the room");
        assert_eq!((BEGIN.load(SeqCst), HOLDER.load(SeqCst)), (0, 0), "an unused one is given back");
        let pieces = within(|| [piece(Layout::new::<u8>()), piece(word), piece(word)]).unwrap();
        assert!(pieces.iter().all(|&piece| owns(piece)));
        assert_eq!((pieces[1].addr() % 8, pieces[2].addr()), (0, pieces[1].addr() + 8));
        assert!(piece(word).is_null(), "the work is over");
        let large = Layout::from_size_align(BYTES / 2, 4096).unwrap();
        assert!(within(|| piece(large)).is_some_and(owns));
        assert_eq!(within(|| ()), None, "more than half is used");
    }
}
