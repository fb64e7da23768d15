//! The bytes that are pushed: what a file held when the upload began, up to its length then.
//! Owns: that length and the hash of those bytes. Never: writes; sends what was appended later.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::progress::Progress;

const BUFFER_BYTES: usize = 1 << 20;

pub struct Content {
    file: File,
    pub bytes: u64,
    /// In hexadecimal.
    pub sha256: String,
}

impl Content {
    pub fn open(path: &Path, progress: &Progress) -> std::io::Result<Content> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        progress.set_whole(bytes);
        let mut hash = Sha256::new();
        let mut offset = 0;
        while offset < bytes {
            let piece = piece(&file, offset, BUFFER_BYTES.min(usize::try_from(bytes - offset).unwrap_or(usize::MAX)))?;
            hash.update(&piece);
            offset += piece.len() as u64;
        }
        let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Content { file, bytes, sha256 })
    }

    /// At most `bytes_max` from there on, at least one byte.
    pub fn piece(&self, offset: u64, bytes_max: u64) -> std::io::Result<Vec<u8>> {
        piece(&self.file, offset, usize::try_from(bytes_max.min(self.bytes - offset)).unwrap_or(usize::MAX))
    }
}

/// Err: the file has become shorter.
pub fn piece(file: &File, offset: u64, bytes: usize) -> std::io::Result<Vec<u8>> {
    let mut piece = vec![0; bytes];
    file.read_exact_at(&mut piece, offset)?;
    Ok(piece)
}
