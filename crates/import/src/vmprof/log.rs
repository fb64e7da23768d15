//! The records of a vmprof log: five words of header, then records that begin with a marker.
//! Owns: offsets, lengths and the faults that name them. Never: copies a stack (it stays where it is in the bytes), gives up what stands
//! before a damaged place.

use crate::Refused;
use crate::room::{Room, SAMPLE_BYTES};

const KIND: &str = "a log of vmprof";
const WORD: usize = 8;
const HEADER_BYTES: usize = 5 * WORD;
/// Source: `assert depth <= 2**16` in vmprof's reader.
const DEPTH_MAX: u64 = 1 << 16;
/// vmprof writes at most 1,024 bytes of a name; a value of META may be a command line.
const TEXT_BYTES_MAX: u64 = 1 << 20;

const STACKTRACE: u8 = 1;
const VIRTUAL_IP: u8 = 2;
const TRAILER: u8 = 3;
const HEADER: u8 = 5;
const TIME_N_ZONE: u8 = 6;
const META: u8 = 7;
const NATIVE_SYMBOLS: u8 = 8;

const VERSION_THREAD_ID: u16 = 1;
const VERSION_MEMORY: u16 = 3;
const VERSION_MODE_AWARE: u16 = 4;
const VERSION_DURATION: u16 = 5;
const VERSION_SAMPLE_TIME: u16 = 7;

const PROFILE_MEMORY: u8 = 1;
const PROFILE_LINES: u8 = 2;
const PROFILE_NATIVE: u8 = 4;
const PROFILE_RPYTHON: u8 = 8;
const PROFILE_REAL_TIME: u8 = 16;

#[derive(Debug, Default)]
pub struct Log<'a> {
    pub version: u16,
    pub period_us: u64,
    pub memory: bool,
    pub lines: bool,
    pub native: bool,
    pub real_time: bool,
    /// Since 1970.
    pub start_us: Option<u64>,
    pub end_us: Option<u64>,
    pub argv: Option<String>,
    pub stacks: Vec<Stack<'a>>,
    /// In the order of the log.
    pub names: Vec<(u64, &'a [u8])>,
    pub faults: Vec<String>,
    pub notes: Vec<String>,
    has_header: bool,
}

#[derive(Debug)]
pub struct Stack<'a> {
    /// Words, innermost first.
    pub trace: &'a [u8],
    pub thread: u64,
    pub resident_kb: Option<i64>,
    pub time_ns: Option<u64>,
}

/// One frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    pub address: u64,
    pub line: Option<u32>,
}

impl Log<'_> {
    /// Innermost first. With lines, each address has its line before it.
    pub fn entries<'s>(&self, stack: &'s Stack<'_>) -> impl DoubleEndedIterator<Item = Entry> + use<'s> {
        let has_lines = self.lines;
        let words = if has_lines { 2 } else { 1 };
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        stack.trace.chunks_exact(WORD * words).map(move |entry| {
            let (before, address) = entry.split_at(WORD * (words - 1));
            let line = if has_lines { u32::try_from(word(before)).ok().filter(|line| *line > 0) } else { None };
            Entry { address: word(address), line }
        })
    }

    pub const fn has_sample_times(&self) -> bool {
        self.version >= VERSION_SAMPLE_TIME
    }

    /// None: the log does not tell, or the clock was set back.
    pub fn run_us(&self) -> Option<u64> {
        self.end_us?.checked_sub(self.start_us?).filter(|run_us| *run_us > 0)
    }
}

/// Whether the five words at the beginning are those of a log. Err: of one that is not read.
pub fn is_log(bytes: &[u8]) -> Result<bool, Refused> {
    let refused =
        |what: &str| Err(Refused::Unsupported(format!("{what}: genba reads those of CPython on 64-bit Linux")));
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Ok(false) };
    let narrow: Vec<u32> = header.chunks_exact(4).map(|word| word.try_into().map_or(0, u32::from_le_bytes)).collect();
    let wide: Vec<u64> = header.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes)).collect();
    if wide[..3] == [0, 3, 0] {
        return if wide[4] <= 1 { Ok(true) } else { Ok(false) };
    }
    if narrow[..3] == [0, 3, 0] && narrow[4] == 1 {
        return refused("a log of vmprof on Windows");
    }
    if narrow[..3] == [0, 3, 0] && narrow[4] == 0 && header[20] == HEADER {
        return refused("a log of vmprof on a 32-bit machine");
    }
    let big = |word: u64| word.swap_bytes();
    if wide[..3] == [0, big(3), 0] {
        return refused("a log of vmprof on a big-endian machine");
    }
    Ok(false)
}

/// What stands before a damaged place, with a fault about it. Err: nothing does, or the log is of a kind that is not read.
pub fn read<'a>(bytes: &'a [u8], room: &mut Room) -> Result<Log<'a>, Refused> {
    let mut at = Cursor { bytes, byte: 3 * WORD };
    let mut log = Log { period_us: at.word("the period").unwrap_or(0), ..Log::default() };
    at.byte = HEADER_BYTES;
    loop {
        let begin = at.byte;
        let record = record(&mut at, &mut log, room);
        let samples = log.stacks.len();
        match record {
            Ok(Next::Record) => {}
            Ok(Next::Trailer) => {
                let rest = bytes.len() - at.byte;
                if rest > 0 {
                    log.faults.push(format!("{rest} bytes behind the trailer at byte {begin} are not read"));
                }
                break;
            }
            Ok(Next::End) => {
                log.notes.push(format!(
                    "the log ends at byte {begin} without a trailer: the program was killed, or it is still running"
                ));
                break;
            }
            Err(Stop::Refused(refused)) => return Err(refused),
            Err(Stop::Wrong(Wrong { byte, expected, found })) => {
                if !log.has_header {
                    return Err(Refused::Damaged { kind: KIND, byte, expected, found });
                }
                log.faults.push(format!(
                    "the log is damaged at byte {byte}: expected {expected}, found {found}; the {samples} samples before it are read, \
                     what follows is not"
                ));
                break;
            }
        }
    }
    Ok(log)
}

enum Next {
    Record,
    Trailer,
    /// No byte is left.
    End,
}

struct Wrong {
    byte: u64,
    expected: String,
    found: String,
}

enum Stop {
    Wrong(Wrong),
    Refused(Refused),
}

fn record<'a>(at: &mut Cursor<'a>, log: &mut Log<'a>, room: &mut Room) -> Result<Next, Stop> {
    let begin = at.byte;
    let Some(&marker) = at.bytes.get(begin) else {
        return if log.has_header { Ok(Next::End) } else { Err(at.wrong(begin, "a header", "the end of the file")) };
    };
    at.byte += 1;
    match marker {
        HEADER if log.has_header => return Err(at.wrong(begin, "one header", "a second one")),
        HEADER => header(at, log)?,
        STACKTRACE | VIRTUAL_IP | NATIVE_SYMBOLS | TIME_N_ZONE | META | TRAILER if !log.has_header => {
            return Err(at.wrong(begin, "a header", format!("marker {marker}")));
        }
        META => {
            let (key, value) = (at.text("a key")?, at.text("a value")?);
            if key == b"argv" {
                log.argv = Some(String::from_utf8_lossy(value).into_owned());
            }
        }
        TIME_N_ZONE => log.start_us = at.time()?,
        STACKTRACE => {
            let stack = stack(at, log)?;
            room.take(SAMPLE_BYTES).map_err(Stop::Refused)?;
            log.stacks.push(stack);
        }
        VIRTUAL_IP | NATIVE_SYMBOLS => {
            let address = at.word("an address")?;
            room.take(SAMPLE_BYTES).map_err(Stop::Refused)?;
            log.names.push((address, at.text("a name")?));
        }
        TRAILER => {
            if log.version >= VERSION_DURATION {
                log.end_us = at.time()?;
            }
            return Ok(Next::Trailer);
        }
        other => return Err(at.wrong(begin, "a marker from 1 to 8 but 4", format!("{other}"))),
    }
    Ok(Next::Record)
}

fn header(at: &mut Cursor, log: &mut Log) -> Result<(), Stop> {
    let begin = at.byte;
    let version = at.take(2, "the version")?;
    log.version = version.try_into().map_or(0, u16::from_be_bytes);
    if log.version > VERSION_SAMPLE_TIME {
        return Err(Stop::Refused(Refused::Unsupported(format!(
            "a log of vmprof in format {}: genba reads 0 to {VERSION_SAMPLE_TIME}",
            log.version
        ))));
    }
    let mode = if log.version >= VERSION_MODE_AWARE { at.take(1, "the mode")?[0] } else { 0 };
    log.memory = mode & PROFILE_MEMORY != 0 || log.version == VERSION_MEMORY;
    log.lines = mode & PROFILE_LINES != 0;
    log.native = mode & PROFILE_NATIVE != 0;
    log.real_time = mode & PROFILE_REAL_TIME != 0;
    let length = at.take(1, "the length of a name")?[0];
    let interpreter = at.take(usize::from(length), "the interpreter's name")?;
    if mode & PROFILE_RPYTHON != 0 || interpreter == b"pypy" {
        let what = "a log of vmprof for PyPy: genba reads those of CPython on 64-bit Linux";
        return Err(Stop::Refused(Refused::Unsupported(what.to_owned())));
    }
    if log.period_us > 1_000_000_000 {
        return Err(at.wrong(begin, "a period below 1,000 s", format!("{} us", log.period_us)));
    }
    log.has_header = true;
    Ok(())
}

fn stack<'a>(at: &mut Cursor<'a>, log: &Log) -> Result<Stack<'a>, Stop> {
    let begin = at.byte as u64;
    let wrong = |expected: &str, found: u64| {
        Err(Stop::Wrong(Wrong { byte: begin, expected: expected.to_owned(), found: format!("{found}") }))
    };
    let count = at.word("a count of stacks")?;
    if count != 1 {
        return wrong("one stack", count);
    }
    let depth = at.word("a depth")?;
    if depth > DEPTH_MAX {
        return wrong("a depth of at most 65,536", depth);
    }
    if log.lines && depth % 2 == 1 {
        return wrong("a line for each address", depth);
    }
    let trace = at.take(depth as usize * WORD, "a stack")?;
    let thread = if log.version >= VERSION_THREAD_ID { at.word("a thread")? } else { 0 };
    let resident_kb = if log.memory { Some(at.word("a resident size")? as i64) } else { None };
    let time_ns = if log.has_sample_times() { u64::try_from(at.word("a time")? as i64).ok() } else { None };
    Ok(Stack { trace, thread, resident_kb, time_ns })
}

struct Cursor<'a> {
    bytes: &'a [u8],
    byte: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8], Stop> {
        let taken = self.byte.checked_add(count).and_then(|end| self.bytes.get(self.byte..end));
        let Some(taken) = taken else {
            let left = self.bytes.len() - self.byte;
            return Err(self.wrong(
                self.byte,
                format!("{what} of {count} bytes"),
                format!("{left} bytes and the end of the file"),
            ));
        };
        self.byte += count;
        Ok(taken)
    }

    fn word(&mut self, what: &str) -> Result<u64, Stop> {
        let bytes = self.take(WORD, what)?;
        Ok(bytes.try_into().map_or(0, u64::from_le_bytes))
    }

    fn text(&mut self, what: &str) -> Result<&'a [u8], Stop> {
        let begin = self.byte;
        let length = self.word(what)?;
        if length > TEXT_BYTES_MAX {
            return Err(self.wrong(begin, format!("{what} of at most 1,048,576 bytes"), format!("{length}")));
        }
        self.take(length as usize, what)
    }

    /// Seconds and microseconds, then a zone that vmprof's reader leaves out, too. None: no time that a clock can have.
    fn time(&mut self) -> Result<Option<u64>, Stop> {
        let (seconds, micros) = (self.word("seconds")?, self.word("microseconds")?);
        self.take(WORD, "a zone")?;
        Ok(seconds.checked_mul(1_000_000).and_then(|time_us| time_us.checked_add(micros)))
    }

    fn wrong(&self, byte: usize, expected: impl Into<String>, found: impl Into<String>) -> Stop {
        Stop::Wrong(Wrong { byte: byte as u64, expected: expected.into(), found: found.into() })
    }
}
