//! The agent's memory: its own mapped arena, never the program's malloc, and the compressor that lives in it.
//! Owns: the global allocator of this library, what happens when there is no memory left, one compression context.
//! Never: calls malloc, directly or through zstd; ends the program.
//!
//! The sampler's thread ends when it finds no memory. A thread of the program's allocates inside `room::within`, which has memory, or by
//! `try_reserve`, where it can do without.

use crate::bells;
use crate::carry;
use crate::control::{self, Done};
use crate::room;
use crate::signals::mask;
use genba_signal::handler::SHARED;
use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

#[global_allocator]
static ARENA: Arena = Arena(dlmalloc::GlobalDlmalloc);

/// dlmalloc, except that running out of memory ends the recording and not the program.
struct Arena(dlmalloc::GlobalDlmalloc);

/// The sampler's thread; 0: not known.
pub static SAMPLER_TID: AtomicU32 = AtomicU32::new(0);
/// Where the stack of the thread begins that may be ended where it stands: the sampler's. 0: none.
static SAMPLER_STACK: AtomicUsize = AtomicUsize::new(0);
pub const STACK_BYTES: usize = 1 << 20;

/// How many more allocations succeed: all, but in tests.
static LEFT: AtomicU64 = AtomicU64::new(u64::MAX);

/// In tests: from so many allocations on there is no memory.
pub fn allow(allocations: u64) {
    LEFT.store(allocations, SeqCst);
}

fn is_used_up() -> bool {
    LEFT.load(Relaxed) != u64::MAX && LEFT.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_err()
}

/// Runs the sampler's life on this thread, whose stack begins here. Faults of its reads come through while it is known by its stack: one that
/// was sent to the process must not find the program's handler here.
pub fn as_sampler<T>(life: impl FnOnce() -> T) -> T {
    const OF_READS: u64 = mask::bit(libc::SIGSEGV) | mask::bit(libc::SIGBUS);
    let here = 0_u8;
    let begin = (&raw const here).addr();
    SAMPLER_STACK.store(begin, SeqCst);
    mask::in_kernel(libc::SIG_UNBLOCK, OF_READS);
    let result = life();
    mask::in_kernel(libc::SIG_BLOCK, OF_READS);
    // A sampler that has parked may be another thread's by now.
    let _ = SAMPLER_STACK.compare_exchange(begin, 0, SeqCst, SeqCst);
    result
}

/// No thread may be ended any more: also in a forked child, which has none but the program's.
pub fn no_sampler() {
    SAMPLER_STACK.store(0, SeqCst);
}

/// By its stack: neither a system call, which a filter may forbid, nor thread-local storage, which may take memory.
pub fn is_sampler() -> bool {
    let here = 0_u8;
    SAMPLER_STACK.load(SeqCst).checked_sub((&raw const here).addr()).is_some_and(|depth| depth < STACK_BYTES)
}

#[cold]
fn without_memory(layout: Layout) -> *mut u8 {
    if is_sampler() {
        end_thread();
    }
    room::piece(layout)
}

/// The sampler's thread ends in the middle of what it does. It holds no lock that another thread takes: it allocates neither in a callback
/// of the dynamic linker (modules/linked.rs) nor while it has a mutex (control.rs), and dlmalloc has released its own. What it made
/// stays as it is, for handlers that read it.
fn end_thread() -> ! {
    SHARED.pid.store(0, SeqCst);
    say_last_words();
    carry::done_without();
    no_sampler();
    bells::leave_place();
    control::report(Done::Ended);
    loop {
        // SAFETY: ends this thread alone, without unwinding: nothing on its stack is used by another one. Whoever joins it finds it ended.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    }
}

// Never inlined: an optimiser that sees both ends of a piece of memory takes what dlmalloc keeps in front of it for nobody's.
// SAFETY: each call is dlmalloc's own, or a piece of the room, which is given out once, and never to dlmalloc.
unsafe impl GlobalAlloc for Arena {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises.
        let memory = if is_used_up() { core::ptr::null_mut() } else { unsafe { self.0.alloc(layout) } };
        if memory.is_null() { without_memory(layout) } else { memory }
    }

    #[inline(never)]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if !room::owns(memory) {
            // SAFETY: the caller's promises.
            unsafe { self.0.dealloc(memory, layout) }
        }
    }

    #[inline(never)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises.
        let memory = if is_used_up() { core::ptr::null_mut() } else { unsafe { self.0.alloc_zeroed(layout) } };
        // A piece of the room is as the kernel gave it: zero.
        if memory.is_null() { without_memory(layout) } else { memory }
    }

    #[inline(never)]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller promises that the new size fits a layout.
        let wanted = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        let other = if room::owns(memory) {
            // SAFETY: the caller's promises.
            unsafe { self.alloc(wanted) }
        } else {
            let longer = if is_used_up() {
                core::ptr::null_mut()
            } else {
                // SAFETY: the caller's promises.
                unsafe { self.0.realloc(memory, layout, bytes) }
            };
            if !longer.is_null() {
                return longer;
            }
            without_memory(wanted)
        };
        // SAFETY: both pieces have the bytes that are copied; nobody uses the first one any more.
        unsafe {
            if !other.is_null() {
                core::ptr::copy_nonoverlapping(memory, other, bytes.min(layout.size()));
                self.dealloc(memory, layout);
            }
            other
        }
    }
}

/// The end of the recording, ready to be written without any memory, and the sampler's descriptor for it; null: none.
/// Only the sampler's thread sets them, frees them and writes them.
static LAST_WORDS: AtomicPtr<LastWords> = AtomicPtr::new(core::ptr::null_mut());
static LAST_FILE: AtomicI32 = AtomicI32::new(-1);

/// A whole block.
#[derive(Default)]
pub struct LastWords(pub Vec<u8>);

/// What is written when no memory is left. Allocates nothing.
pub fn set_last_words(words: Option<Box<LastWords>>) {
    let before = LAST_WORDS.swap(words.map_or(core::ptr::null_mut(), Box::into_raw), SeqCst);
    if !before.is_null() {
        // SAFETY: made by `into_raw` above; the swap gave it to us alone.
        drop(unsafe { Box::from_raw(before) });
    }
}

/// Where they are written to; `None`: nowhere, for now.
pub fn set_last_file(file: Option<i32>) {
    LAST_FILE.store(file.unwrap_or(-1), SeqCst);
}

fn say_last_words() {
    let file = LAST_FILE.swap(-1, SeqCst);
    // SAFETY: this is the only thread that frees it.
    if let Some(words) = unsafe { LAST_WORDS.load(SeqCst).as_ref() }
        && file >= 0
    {
        // SAFETY: reads the words' bytes. If it fails, the recording has no end.
        unsafe { libc::write(file, words.0.as_ptr().cast(), words.0.len()) };
    }
}

/// A zstd context in a workspace of our own: zstd allocates nothing.
pub struct Compressor {
    workspace: Vec<u64>,
}

impl Compressor {
    /// The fastest: planes of samples hold little that repeats, and what it finds less of costs less to tell.
    const LEVEL: i32 = 1;

    #[must_use]
    pub fn new() -> Compressor {
        // SAFETY: a pure function of the level.
        let workspace_bytes = unsafe { zstd_sys::ZSTD_estimateCCtxSize(Self::LEVEL) };
        Compressor { workspace: vec![0; workspace_bytes.div_ceil(8)] }
    }

    /// One zstd frame of the pieces, each in blocks of its own; `None` when zstd fails, which it cannot with room for the
    /// worst case.
    pub fn compress(&mut self, pieces: &[&[u8]]) -> Option<Vec<u8>> {
        // SAFETY: a pure function of the length.
        let bound = |bytes: usize| unsafe { zstd_sys::ZSTD_compressBound(bytes) };
        let room_bytes = bound(0) + pieces.iter().map(|piece| bound(piece.len())).sum::<usize>();
        let mut out: Vec<u8> = Vec::with_capacity(room_bytes);
        // SAFETY: the workspace is eight-byte aligned, of the estimated size, and outlives the context, which is used
        // only in this call; the pieces, whose earlier bytes zstd looks back at, outlive it too.
        let context = unsafe {
            zstd_sys::ZSTD_initStaticCCtx(self.workspace.as_mut_ptr().cast::<c_void>(), self.workspace.len() * 8)
        };
        // SAFETY: the context is null or good.
        if context.is_null() || is_error(unsafe { zstd_sys::ZSTD_compressBegin(context, Self::LEVEL) }) {
            return None;
        }
        for piece in pieces {
            let room = out.spare_capacity_mut();
            // SAFETY: the context has begun a frame; zstd reads the piece and writes into the room, and tells how much.
            let written = unsafe {
                let (to, from) = (room.as_mut_ptr().cast::<c_void>(), piece.as_ptr().cast::<c_void>());
                zstd_sys::ZSTD_compressContinue(context, to, room.len(), from, piece.len())
            };
            if is_error(written) {
                return None;
            }
            // SAFETY: zstd wrote so many bytes behind those that were there.
            unsafe { out.set_len(out.len() + written) };
        }
        let room = out.spare_capacity_mut();
        // SAFETY: as above; without a last piece zstd writes the frame's end.
        let written = unsafe {
            let to = room.as_mut_ptr().cast::<c_void>();
            zstd_sys::ZSTD_compressEnd(context, to, room.len(), core::ptr::null(), 0)
        };
        if is_error(written) {
            return None;
        }
        // SAFETY: as above.
        unsafe { out.set_len(out.len() + written) };
        Some(out)
    }
}

fn is_error(result: usize) -> bool {
    // SAFETY: a pure function of the number.
    unsafe { zstd_sys::ZSTD_isError(result) != 0 }
}
