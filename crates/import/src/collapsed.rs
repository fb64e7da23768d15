//! Collapsed stacks: `root;…;leaf 12`, a line a stack, as flamegraph.pl, py-spy, async-profiler and `genba export` write them.
//! Owns: how a frame is read. Never: skips a line that it cannot read; a line that is none is an error with its place.
//! What a count is (samples, nanoseconds, bytes) no such file says: it is read as a count.

use std::borrow::Cow;

use genba_format::{NO_FILE, proto};

use crate::builder::{Builder, Frame, Sample};
use crate::room::Room;
use crate::{Imported, Refused};

const KIND: &str = "collapsed stacks";
/// Most that all counts may be together: beyond, one count would take more rows than a file has bytes.
const COUNT_MAX: u64 = 1 << 48;
/// A deeper stack than any profiler writes.
const DEPTH_MAX: usize = 1 << 16;
/// A longer name than any compiler writes.
const FRAME_BYTES_MAX: usize = 1 << 20;

/// Whether the first line that is not empty is a stack and a count.
pub fn is_collapsed(bytes: &[u8]) -> bool {
    let first = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).find(|line| !line.is_empty());
    first.and_then(parted).is_some() && !bytes.iter().take(1 << 12).any(|byte| *byte == 0)
}

pub fn read(bytes: &[u8], room: Room) -> Result<Imported, Refused> {
    let mut builder = Builder::within(room);
    let thread = builder.thread(0, "")?;
    let (mut counted, mut stacks, mut doubled, mut not_text) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut byte = 0;
    for (number, line) in (1_u64..).zip(bytes.split(|byte| *byte == b'\n')) {
        let begin = byte;
        byte += line.len() as u64 + 1;
        let line = line.trim_ascii_end();
        if line.is_empty() {
            continue;
        }
        let damaged = |expected: &str| Refused::Damaged {
            kind: KIND,
            byte: begin,
            expected: format!("{expected} in line {number}"),
            found: format!("\"{}\"", excerpt(line)),
        };
        let (stack, count) = parted(line).ok_or_else(|| damaged("frames, a space and a whole number"))?;
        counted = counted.saturating_add(count);
        if counted > COUNT_MAX {
            return Err(damaged("counts of at most 281,474,976,710,656 together"));
        }
        stacks += 1;
        doubled += u64::from(parted(stack).is_some());
        not_text += u64::from(std::str::from_utf8(stack).is_err());
        let mut leaf = None;
        for (depth, name) in frames(stack).enumerate() {
            if depth == DEPTH_MAX {
                return Err(damaged("at most 65,536 frames"));
            }
            if name.len() > FRAME_BYTES_MAX {
                return Err(damaged("frames of at most 1,048,576 bytes"));
            }
            leaf = Some(builder.node(leaf, &frame(&text(name)))?);
        }
        let mut rest = count;
        while rest > 0 {
            let ticks = u32::try_from(rest).unwrap_or(u32::MAX);
            builder.sample(Sample { thread, leaf, ticks, ..Sample::default() })?;
            rest -= u64::from(ticks);
        }
    }
    if stacks > 0 && doubled == stacks {
        return Err(Refused::Unsupported(
            "every line has two counts: this is a difference of two profiles (difffolded.pl), which genba does not read"
                .to_owned(),
        ));
    }
    let mut faults = Vec::new();
    if not_text > 0 {
        faults.push(format!("{not_text} of {stacks} lines are not UTF-8: what is not is shown as \u{fffd}"));
    }
    Ok(Imported {
        recording: builder.finish(bytes, proto::Start { native: true, ..proto::Start::default() }, 0),
        words: "imported from collapsed stacks: counts only; no clocks, no states, no accounting".to_owned(),
        unknown: "collapsed stacks tell counts alone: no clocks for law 2, and no ticks that gave no sample for law 1"
            .to_owned(),
        faults,
        notes: Vec::new(),
        timeless: Some("collapsed stacks tell no times"),
        counts_calls: false,
    })
}

/// The stack and its count; py-spy writes an empty stack where it found none. None: the line is none.
fn parted(line: &[u8]) -> Option<(&[u8], u64)> {
    let space = line.iter().rposition(|byte| *byte == b' ')?;
    let (stack, digits) = (line.get(..space)?.trim_ascii(), line.get(space + 1..)?);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let count = std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()?;
    Some((stack, count))
}

/// Split at each `;` that is not `\;`, which `genba export` writes where a name holds one. One at a time: a line may be as long as the file.
fn frames(stack: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = (!stack.is_empty()).then_some(stack);
    std::iter::from_fn(move || {
        let bytes = rest?;
        let end = (0..bytes.len()).find(|at| bytes[*at] == b';' && (*at == 0 || bytes[*at - 1] != b'\\'));
        rest = end.map(|end| &bytes[end + 1..]);
        Some(&bytes[..end.unwrap_or(bytes.len())])
    })
}

/// A frame without the `\` of `\;`.
fn text(frame: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(frame);
    if text.contains("\\;") { Cow::Owned(text.replace("\\;", ";")) } else { text }
}

/// `name (file:line)`, `name (file)` of Python, or of C by the file's suffix; `name [module]` of C, `(words)` of none; any other is a name alone.
fn frame(text: &str) -> Frame {
    if let Some(words) = mark(text) {
        return Frame::Mark(words.into());
    }
    if let Some((name, place)) = text.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        if is_compiled(place) {
            return Frame::C { name: name.into(), module: Some(place.into()) };
        }
        let (file, line) = match place.rsplit_once(':') {
            Some((file, digits)) => (file, digits.parse::<u32>().ok().filter(|line| *line > 0)),
            None => (place, None),
        };
        let is_file = file.contains('/') || file.ends_with(".py") || file.starts_with('<');
        if let Some(line) = line.filter(|_| !file.is_empty()) {
            return python(name, file, Some(line));
        } else if is_file && !place.contains(':') {
            return python(name, place, None);
        }
    }
    if let Some((name, module)) = text.strip_suffix(']').and_then(|rest| rest.rsplit_once(" [")) {
        return Frame::C { name: name.into(), module: Some(module.into()) };
    }
    python(text, NO_FILE, None)
}

/// `words` of `(words)`. `(anonymous namespace)::work (libx.so)` is none: the first parenthesis ends before the last one.
fn mark(text: &str) -> Option<&str> {
    let words = text.strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 1_u32;
    for character in words.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return None;
        }
    }
    Some(words)
}

/// A library, or a source of C, C++ or Rust, with or without its line.
fn is_compiled(place: &str) -> bool {
    const SUFFIXES: [&str; 10] = ["so", "c", "cc", "cpp", "cxx", "h", "hh", "hpp", "rs", "S"];
    let file = match place.rsplit_once(':') {
        Some((file, digits)) if digits.parse::<u32>().is_ok() => file,
        _ => place,
    };
    let suffix = file.rsplit_once('.').map(|(_, suffix)| suffix);
    suffix.is_some_and(|suffix| SUFFIXES.contains(&suffix)) || file.contains(".so.")
}

fn python(name: &str, file: &str, line: Option<u32>) -> Frame {
    Frame::Python { name: name.into(), file: file.into(), first_line: 0, line }
}

/// The first bytes of a line, for an error.
fn excerpt(line: &[u8]) -> String {
    const SHOWN: usize = 60;
    let more = if line.len() > SHOWN { "…" } else { "" };
    format!("{}{more}", line[..line.len().min(SHOWN)].escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_told_apart() {
        let with_line = Frame::Python { name: "load".into(), file: "a b.py".into(), first_line: 0, line: Some(4) };
        assert_eq!(frame("load (a b.py:4)"), with_line);
        assert_eq!(frame("load (/a/b.py)"), python("load", "/a/b.py", None));
        assert_eq!(frame("<lambda> (<string>:1)"), python("<lambda>", "<string>", Some(1)));
        assert_eq!(frame("memmove [libc]"), Frame::C { name: "memmove".into(), module: Some("libc".into()) });
        let in_c = |name: &str, module: &str| Frame::C { name: name.into(), module: Some(module.into()) };
        assert_eq!(frame("parse (src/foo.cpp:12)"), in_c("parse", "src/foo.cpp:12"));
        assert_eq!(frame("gemm (/v/libblas.so.3)"), in_c("gemm", "/v/libblas.so.3"));
        assert_eq!(
            frame("(anonymous namespace)::work(int) (libfoo.so)"),
            in_c("(anonymous namespace)::work(int)", "libfoo.so")
        );
        assert_eq!(frame("(truncated)"), Frame::Mark("truncated".into()));
        assert_eq!(frame("(in gc (full))"), Frame::Mark("in gc (full)".into()));
        assert_eq!(frame("java/lang/String.hash_[j]"), python("java/lang/String.hash_[j]", NO_FILE, None));
        assert_eq!(frame("vector::push (int)"), python("vector::push (int)", NO_FILE, None));
        let split = |stack: &'static str| frames(stack.as_bytes()).map(text).collect::<Vec<_>>();
        assert_eq!(split("a\\;b;c\\d;"), ["a;b", "c\\d", ""]);
        assert_eq!(split(";a\\\\;b"), ["", "a\\;b"]);
        assert_eq!(split(""), [""; 0]);
    }

    #[test]
    fn different_calls_have_a_bound() {
        let room = Room::within(100_000);
        assert!(read("a;b;c 1\n".repeat(50).as_bytes(), room).is_ok());
        // Each depth of a recursion is a call of its own, and the bound holds within a line.
        let deep = format!("a{} 1\n", ";a".repeat(300));
        let Err(Refused::Unsupported(words)) = read(deep.as_bytes(), room) else { panic!("it was read") };
        assert!(words.starts_with("its stacks and functions need more than 0 MB"), "{words}");
    }

    #[test]
    fn a_line_that_is_none_is_an_error_with_its_place() {
        let read = |bytes: &[u8]| read(bytes, crate::room::Size::of(bytes).room());
        let refused = read(b"a;b 3\nno count here\nc 1\n").err();
        let expected = "frames, a space and a whole number in line 2".to_owned();
        assert_eq!(
            refused,
            Some(Refused::Damaged { kind: KIND, byte: 6, expected, found: "\"no count here\"".to_owned() })
        );
        assert!(matches!(read(b"a 1.5\n"), Err(Refused::Damaged { byte: 0, .. })));
        assert!(matches!(read(b"a;b 3 4\nc 1 0\n"), Err(Refused::Unsupported(_))));
        assert!(matches!(read(b"a 281474976710656\nb 1\n"), Err(Refused::Damaged { byte: 18, .. })));
    }
}
