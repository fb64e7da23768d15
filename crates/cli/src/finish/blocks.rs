//! The command's blocks: names, sources and how the program ended, in as few blocks as the format's limit allows.
//! Owns: where they are cut. Never: leaves anything out but a single line or table that no block can hold.

use genba_format::{PLAIN_BYTES_MAX, proto};
use prost::Message;

/// Of a payload. What frames an item of a list in its message takes a few bytes more.
const BYTES_MAX: usize = PLAIN_BYTES_MAX as usize - (64 << 10);

/// In the order in which they are written; the last one has the `recorder`. And what was left out, in words.
pub fn of(whole: proto::Block, bytes_max: usize) -> (Vec<proto::Block>, Vec<String>) {
    if whole.encoded_len() <= bytes_max {
        return (vec![whole], Vec::new());
    }
    let proto::Block { c_names, c_places, sources, packages, recorder, not_followed, heaps, reaped, .. } = whole;
    let mut blocks = Blocks { bytes_max, ..Blocks::default() };
    for name in c_names {
        blocks.add(&name.module.clone(), name, |block| &mut block.c_names);
    }
    for places in c_places {
        blocks.add(&places.module.clone(), places, |block| &mut block.c_places);
    }
    for source in sources {
        for part in parts(source, bytes_max) {
            blocks.add(&part.path.clone(), part, |block| &mut block.sources);
        }
    }
    for package in packages {
        blocks.add(&package.clone(), package, |block| &mut block.packages);
    }
    for program in not_followed {
        blocks.add(&program.name.clone(), program, |block| &mut block.not_followed);
    }
    for heap in heaps {
        blocks.add(&heap.file.clone(), heap, |block| &mut block.heaps);
    }
    blocks.last.recorder = recorder;
    blocks.last.reaped = reaped;
    blocks.full.push(blocks.last);
    (blocks.full, blocks.left_out)
}

pub fn of_format(whole: proto::Block) -> (Vec<proto::Block>, Vec<String>) {
    of(whole, BYTES_MAX)
}

#[derive(Default)]
struct Blocks {
    bytes_max: usize,
    full: Vec<proto::Block>,
    last: proto::Block,
    last_bytes: usize,
    left_out: Vec<String>,
}

impl Blocks {
    fn add<Item: Message>(&mut self, of: &str, item: Item, list: impl Fn(&mut proto::Block) -> &mut Vec<Item>) {
        // Its tag and length, besides.
        let bytes = item.encoded_len() + 12;
        if bytes > self.bytes_max {
            self.left_out.push(format!("{of}: {bytes} bytes about it are more than a block of a recording holds"));
            return;
        }
        if self.last_bytes + bytes > self.bytes_max {
            self.full.push(std::mem::take(&mut self.last));
            self.last_bytes = 0;
        }
        self.last_bytes += bytes;
        list(&mut self.last).push(item);
    }
}

/// A text in pieces that a block holds, cut between lines; a reader puts them together.
fn parts(source: proto::Source, bytes_max: usize) -> Vec<proto::Source> {
    if source.encoded_len() <= bytes_max / 2 {
        return vec![source];
    }
    let piece_bytes_max = bytes_max / 4;
    let mut parts: Vec<proto::Source> = Vec::new();
    let with = |chunk| proto::Source { chunks: vec![chunk], ..proto::Source { chunks: Vec::new(), ..source.clone() } };
    for chunk in &source.chunks {
        let mut piece = proto::SourceChunk { first_line: chunk.first_line, text: String::new() };
        for (line, text) in (chunk.first_line..).zip(chunk.text.split_inclusive('\n')) {
            if !piece.text.is_empty() && piece.text.len() + text.len() > piece_bytes_max {
                let next = proto::SourceChunk { first_line: line, text: String::new() };
                parts.push(with(std::mem::replace(&mut piece, next)));
            }
            piece.text.push_str(text);
        }
        parts.push(with(piece));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(lines: u32) -> proto::Source {
        let text = (1..=lines).map(|line| format!("line number {line}\n")).collect();
        let chunks = vec![proto::SourceChunk { first_line: 1, text }];
        proto::Source { path: "/app/long.py".to_owned(), lines, chunks, ..proto::Source::default() }
    }

    #[test]
    fn what_fits_is_one_block() {
        let whole = proto::Block { sources: vec![source(9)], ..proto::Block::default() };
        assert_eq!(of(whole.clone(), 1 << 20), (vec![whole], vec![]));
    }

    #[test]
    fn what_does_not_fit_is_cut_and_nothing_is_lost() {
        let name =
            |number: u64| proto::CName { name: format!("function_{number}"), start: number, ..proto::CName::default() };
        let heap = |number: u32| proto::Heap {
            file: format!("app.heap-{number}.json"),
            classes: vec!["x".repeat(600)],
            ..proto::Heap::default()
        };
        let whole = proto::Block {
            c_names: (0..200).map(name).collect(),
            sources: vec![source(500), source(3)],
            packages: vec!["/app/deps".to_owned()],
            not_followed: vec![proto::NotFollowed { name: "/bin/cat".to_owned(), ..Default::default() }],
            heaps: (1..4).map(heap).collect(),
            recorder: Some(proto::Recorder { wall_ns: 7, ..proto::Recorder::default() }),
            reaped: vec![proto::Reaped { pid: 7, at_ns: 8, cpu_ns: 9 }],
            ..proto::Block::default()
        };
        let (blocks, left_out) = of(whole.clone(), 2_000);
        assert_eq!(left_out, Vec::<String>::new());
        assert!(blocks.iter().all(|block| block.encoded_len() <= 2_000), "{blocks:?}");
        let names: Vec<_> = blocks.iter().flat_map(|block| block.c_names.clone()).collect();
        assert_eq!(names, whole.c_names);
        let heaps: Vec<_> = blocks.iter().flat_map(|block| block.heaps.clone()).collect();
        assert_eq!(heaps, whole.heaps);
        let not_followed: Vec<_> = blocks.iter().flat_map(|block| block.not_followed.clone()).collect();
        assert_eq!(not_followed, whole.not_followed);
        assert_eq!(blocks.last().map(|last| &last.reaped), Some(&whole.reaped));
        let mut profile = genba_profile::source_text::Sources::default();
        blocks.iter().flat_map(|block| &block.sources).for_each(|source| profile.add(source));
        let text = profile.get("/app/long.py").expect("a text");
        assert_eq!((text.line(1), text.line(499)), (Some("line number 1"), Some("line number 499")));
        let with_recorder: Vec<_> = blocks.iter().map(|block| block.recorder.is_some()).collect();
        assert_eq!(with_recorder.iter().position(|has| *has), Some(blocks.len() - 1));
    }

    #[test]
    fn a_line_that_no_block_holds_is_said_to_be_left_out() {
        let chunks = vec![proto::SourceChunk { first_line: 1, text: "x".repeat(5_000) }];
        let long = proto::Source { path: "/app/one_line.py".to_owned(), chunks, ..proto::Source::default() };
        let (_, left_out) = of(proto::Block { sources: vec![long], ..proto::Block::default() }, 2_000);
        assert_eq!(left_out.len(), 1);
        assert!(left_out[0].starts_with("/app/one_line.py: "), "{left_out:?}");
    }
}
