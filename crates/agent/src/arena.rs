//! The agent's memory: its own mapped arena, never the program's malloc, and the compressor that lives in it.
//! Owns: the global allocator of this library, one compression context. Never: calls malloc, directly or through zstd.

use crate::control::{self, Done};
use crate::proc;
use genba_signal::handler::SHARED;
use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

#[global_allocator]
static ARENA: Arena = Arena(dlmalloc::GlobalDlmalloc);

/// dlmalloc, except that running out of memory ends the recording and not the program.
struct Arena(dlmalloc::GlobalDlmalloc);

/// The thread that may be stopped where it stands when there is no memory: the sampler's. 0: none.
pub static SAMPLER_TID: AtomicU32 = AtomicU32::new(0);

impl Arena {
    fn or_stop(memory: *mut u8) -> *mut u8 {
        if memory.is_null() && SAMPLER_TID.load(SeqCst) == proc::own_tid() {
            // Nobody is asked any more and nobody waits; what is written stays. The thread holds no lock here.
            SHARED.pid.store(0, SeqCst);
            control::report(Done::Ended);
            loop {
                control::sleep_until(u64::MAX / 2, control::order());
            }
        }
        memory
    }
}

// SAFETY: each call is dlmalloc's own; `or_stop` changes no pointer.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises.
        Arena::or_stop(unsafe { self.0.alloc(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises.
        unsafe { self.0.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises.
        Arena::or_stop(unsafe { self.0.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's promises.
        Arena::or_stop(unsafe { self.0.realloc(memory, layout, bytes) })
    }
}

/// A zstd context in a workspace of our own: zstd allocates nothing.
pub struct Compressor {
    workspace: Vec<u64>,
}

impl Compressor {
    /// zstd's own default.
    const LEVEL: i32 = 3;

    #[must_use]
    pub fn new() -> Compressor {
        // SAFETY: a pure function of the level.
        let workspace_bytes = unsafe { zstd_sys::ZSTD_estimateCCtxSize(Self::LEVEL) };
        Compressor { workspace: vec![0; workspace_bytes.div_ceil(8)] }
    }

    /// One zstd frame of `plain`; `None` when zstd fails, which it cannot with room for the worst case.
    pub fn compress(&mut self, plain: &[u8]) -> Option<Vec<u8>> {
        // SAFETY: a pure function of the length.
        let room_bytes = unsafe { zstd_sys::ZSTD_compressBound(plain.len()) };
        let mut out: Vec<u8> = Vec::with_capacity(room_bytes);
        // SAFETY: the workspace is eight-byte aligned, of the estimated size, and outlives the context, which is used
        // only in this call; `out` has `room_bytes` of room, of which zstd writes the returned number.
        unsafe {
            let context =
                zstd_sys::ZSTD_initStaticCCtx(self.workspace.as_mut_ptr().cast::<c_void>(), self.workspace.len() * 8);
            if context.is_null() {
                return None;
            }
            let written = zstd_sys::ZSTD_compressCCtx(
                context,
                out.as_mut_ptr().cast::<c_void>(),
                room_bytes,
                plain.as_ptr().cast::<c_void>(),
                plain.len(),
                Self::LEVEL,
            );
            if zstd_sys::ZSTD_isError(written) != 0 {
                return None;
            }
            out.set_len(written);
        }
        Some(out)
    }
}
