//! The recording: framing, writing, reading, recovering. FORMAT.md is its description.
#![forbid(unsafe_code)]
