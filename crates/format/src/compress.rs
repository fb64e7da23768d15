//! The payload of a block that the command writes.
//! Owns: how it is compressed. The agent has a compressor of its own, which allocates nothing (crates/agent/src/writing/compressor.rs).

use std::io::Write;

/// Level of the command's own blocks; the agent chooses its own.
const COMPRESSION_LEVEL: i32 = 3;

/// One zstd frame for the pieces, each in blocks of its own, as `encode_block` asks for.
pub fn compress(pieces: &[&[u8]]) -> Vec<u8> {
    // Fails only without memory, and then the frame is empty and the reader names the block.
    framed(pieces).unwrap_or_default()
}

fn framed(pieces: &[&[u8]]) -> std::io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), COMPRESSION_LEVEL)?;
    encoder.set_pledged_src_size(Some(pieces.iter().map(|piece| piece.len() as u64).sum()))?;
    for piece in pieces {
        encoder.write_all(piece)?;
        encoder.flush()?;
    }
    encoder.finish()
}
