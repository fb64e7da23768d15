//! What `genba run`, `genba attach` and `genba trace` do alike: the options, the agent and what it is told, the file, how the recording ended.
//! Owns: one meaning for each. Never: starts or enters a process, reads a sample.

pub mod agent_file;
pub mod budget;
mod clock;
pub mod heap_options;
pub mod notes;
mod options;
pub mod output;
pub mod session;

use genba_format::{masking, proto};

pub use clock::monotonic_ns;
pub use options::RecordingOptions;

/// How this recording ended, for whoever reads it.
pub fn recorder(exit_code: i32, exit_signal: i32, wall: std::time::Duration) -> proto::Recorder {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    proto::Recorder {
        genba_version: env!("CARGO_PKG_VERSION").to_owned(),
        argv: masking::masked(words.iter().map(String::as_str)),
        exit_code,
        exit_signal,
        wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
    }
}
