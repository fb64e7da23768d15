//! What an existing file is, before genba replaces it: empty, a recording, something that genba exported, or somebody else's.
//! Owns: how genba recognises its own files by their first bytes, and the words for other ones. Never: changes a file; decides
//! by a name. Collapsed stacks are plain lines without room for a mark, so genba does not recognise them.

use std::fs::File;
use std::os::unix::fs::FileExt;

use genba_format::MAGIC;

/// How a page of genba's begins.
pub const MARKED_HEAD: &str =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta name=\"generator\" content=\"genba\">\n";
/// How each export begins. crates/cli/tests/command/replacing.rs exports each format twice.
const EXPORTS: [&str; 3] = [
    MARKED_HEAD,
    "{\"format\":\"genba-profile\",",
    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"genba@",
];
/// More than any of these beginnings.
const BEGIN_BYTES: usize = 256;
/// As many of a foreign file's first bytes as an error shows.
const SHOWN_BYTES: usize = 24;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    Empty,
    /// Of any version, perhaps damaged further on.
    Recording,
    Export,
    /// Functions with their counts, of genba's or of cProfile's.
    Prof,
    /// Its first bytes, escaped.
    Foreign(String),
}

impl Content {
    pub fn of(file: &File) -> std::io::Result<Content> {
        let mut begin = [0; BEGIN_BYTES];
        let mut bytes = 0;
        while let Some(rest) = begin.get_mut(bytes..).filter(|rest| !rest.is_empty()) {
            match file.read_at(rest, bytes as u64) {
                Ok(0) => break,
                Ok(read) => bytes += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let begin = begin.get(..bytes).unwrap_or_default();
        Ok(if begin.is_empty() {
            Content::Empty
        } else if begin.starts_with(&MAGIC) {
            Content::Recording
        } else if EXPORTS.iter().any(|export| begin.starts_with(export.as_bytes())) {
            Content::Export
        } else if genba_pstats::is_prof(begin) {
            Content::Prof
        } else {
            Content::Foreign(begin.get(..SHOWN_BYTES).unwrap_or(begin).escape_ascii().to_string())
        })
    }
}

/// The kind of JSON that a file of genba's is: what its first key, `format`, says.
pub fn format_of(bytes: &[u8]) -> Option<&[u8]> {
    let begin = bytes.get(..BEGIN_BYTES).unwrap_or(bytes);
    let mut parts = begin.split(|byte| *byte == b'"');
    let [before, key, between] = [parts.next()?, parts.next()?, parts.next()?];
    let is_first = before.trim_ascii() == b"{" && key == b"format" && between.trim_ascii() == b":";
    if is_first { parts.next() } else { None }
}

impl std::fmt::Display for Content {
    fn fmt(&self, page: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Content::Empty => page.write_str("it is empty"),
            Content::Recording => page.write_str("it is a recording"),
            Content::Export => page.write_str("it is an export of genba's"),
            Content::Prof => page.write_str("it is a .prof file"),
            Content::Foreign(begin) => write!(page, "it begins with \"{begin}\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::format_of;

    #[test]
    fn json_says_what_it_is() {
        let kinds = [
            "{\n  \"format\": \"genba-heap\",\n  \"version\": 1",
            "{\"format\":\"genba-gc-cycles\",\"version\":1}",
            "{\"version\": 1, \"format\": \"genba-heap\"}",
            "[\"format\", \"genba-heap\"]",
            "{\"format\"",
            "",
        ];
        let kinds = kinds.map(|text| format_of(text.as_bytes()));
        assert_eq!(kinds[..2], [Some(b"genba-heap".as_slice()), Some(b"genba-gc-cycles".as_slice())]);
        assert_eq!(kinds[2..], [None; 4]);
    }
}
