//! What is added to a recording after the run: names of the C functions and text of the source files that were hit.
//! Owns: the command's own block (names, sources, how the program ended). Never: changes what the program's processes
//! wrote, stores a name or a text that no sample touched.
//! Keeps: names come only from files with the build id that was mapped.

mod c_names;
mod elf_files;
mod source_encoding;
mod sources;

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use genba_format::{BlockHeader, ProcessKey, Recording, VERSION, compress, encode_block, proto};
use genba_profile::build::Additions;
use genba_profile::hits;

use crate::failure::Failure;
use crate::run::SourceText;

/// Appends one block to the recording at `path`, whose content is `recording`. Ok: what was left out, in words.
/// Err: the block could not be written; the recording is as it was, or ends in a cut block that readers skip.
pub fn append_names_and_sources(
    path: &Path,
    recording: &Recording,
    recorder: proto::Recorder,
    source: SourceText,
) -> Result<Vec<String>, Failure> {
    let hits = hits::hits(recording);
    let c_names = c_names::find(&hits.modules);
    let (sources, left_out) = sources::read(&hits.files, source);
    let block = proto::Block { c_names, sources, recorder: Some(recorder), ..Default::default() };
    let encoded = encoded(&block).map_err(|error| cannot_append(path, &error.to_string()))?;
    append(path, &encoded).map_err(|error| cannot_append(path, &error.to_string()))?;
    Ok(left_out)
}

/// Names and sources for a recording whose run did not end in order, as far as the files are still there unchanged.
/// Nothing when the recording has its own.
pub fn found_beside(recording: &Recording) -> Additions {
    let finished = recording.blocks.iter().any(|read| read.block.recorder.is_some());
    let named = recording.blocks.iter().any(|read| !read.block.c_names.is_empty());
    if finished || named {
        return Additions::default();
    }
    let hits = hits::hits(recording);
    let ended_ns = sources::realtime_end_ns(recording);
    Additions { c_names: c_names::find(&hits.modules), sources: sources::read_unchanged(&hits.files, ended_ns) }
}

fn encoded(block: &proto::Block) -> std::io::Result<Vec<u8>> {
    let now_ns = monotonic_ns();
    let header =
        BlockHeader { version: VERSION, process_key: random_key()?, sequence: 0, start_ns: now_ns, end_ns: now_ns };
    let mut bytes = Vec::new();
    encode_block(&header, block, &mut compress, &mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes)
}

/// One write, as every block: children of the program may still be appending theirs.
fn append(path: &Path, block: &[u8]) -> std::io::Result<()> {
    let written = OpenOptions::new().append(true).open(path)?.write(block)?;
    if written < block.len() {
        let (total, found) = (block.len(), written);
        return Err(std::io::Error::other(format!(
            "{found} of {total} bytes written, the disk is full or a limit set"
        )));
    }
    Ok(())
}

fn cannot_append(path: &Path, words: &str) -> Failure {
    Failure::no(format!("cannot add C names and sources to {}: {words}", path.display()))
        .detail("the samples in it are intact")
        .hint("genba report finds the names while the program's files are still where they were")
}

fn random_key() -> std::io::Result<ProcessKey> {
    let mut key = ProcessKey::default();
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    Ok(key)
}

fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
