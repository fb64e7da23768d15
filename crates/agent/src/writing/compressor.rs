//! The compressor of the agent's blocks.
//! Owns: one compression context. Never: calls malloc through zstd, or allocates anything but its workspace and the frame.

use std::ffi::c_void;
use std::mem::MaybeUninit;

/// A zstd context in a workspace of our own: zstd allocates nothing. The default one has none, and compresses nothing.
#[derive(Default)]
pub struct Compressor {
    /// As zstd leaves it: of its pages, those that it never uses are none of the process's memory.
    workspace: Box<[MaybeUninit<u64>]>,
}

impl Compressor {
    /// The fastest: planes of samples hold little that repeats, and what it finds less of costs less to tell.
    const LEVEL: i32 = 1;

    #[must_use]
    pub fn new() -> Compressor {
        // SAFETY: a pure function of the level.
        let workspace_bytes = unsafe { zstd_sys::ZSTD_estimateCCtxSize(Self::LEVEL) };
        Compressor { workspace: Box::new_uninit_slice(workspace_bytes.div_ceil(8)) }
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
