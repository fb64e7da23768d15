//! What the command asks of the agent: the variable GENBA_SESSION, read once.
//! Owns: its syntax (`key=value` fields between `;`, bytes percent-encoded). Never: reads other variables.
//! Partner: crates/cli/src/verbs/run and verbs/attach write it.

use genba_signal::request::REQUESTS;

/// One recording, as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Absolute path of the recording; the command has created it.
    pub out: String,
    pub interval_ns: u64,
    /// The interval grows until sampling takes no more than so many thousandths of the program's CPU. `None`: it is kept.
    pub budget_per_mille: Option<u32>,
    pub native: bool,
    pub children: bool,
    pub memory: bool,
    /// Copied bytes, by the library that was preloaded beside this one.
    pub copies: bool,
    /// Allocated bytes, in the same way.
    pub allocations: bool,
    /// Garbage collections are recorded.
    pub gc: bool,
    /// What `gc.set_threshold` gets when the program begins; empty: nothing. Only together with `gc`.
    pub gc_threshold: Vec<u32>,
    /// `gc.freeze` before each fork; the same.
    pub gc_freeze: bool,
    /// When the heap is walked.
    pub heap: Heap,
    /// CLOCK_MONOTONIC when the recording stops.
    pub until_ns: Option<u64>,
    /// It goes on as long as the command holds its lock on the recording: `genba attach` began it in a program that was running.
    pub is_leased: bool,
    /// It is begun on the program's main thread, and not on one that `genba attach` made.
    pub is_asked: bool,
    pub tags: Vec<String>,
    /// Every call is counted, and nothing is sampled: the pid of the command, whose child writes the file `out`.
    pub trace: Option<u32>,
    /// Where the command reads which files were written.
    pub notes: Option<Table>,
    /// Where those that are about to be killed are told so.
    pub bells: Option<Table>,
    /// Where genba hands the recording to processes that cannot open it: the recording, and for a path the name of a socket and what to say
    /// there, with a comma between.
    pub door: Option<Table>,
    /// The pid of `genba run`, whose child is the run's first process.
    pub command: Option<u32>,
    /// So many questions may be open at once: fewer than there are buffers in tests only.
    pub questions_max: usize,
    /// A segment of the recording has so many rows of a kind: fewer than indices allow in tests only.
    pub rows_max: u32,
    /// So many allocations succeed: fewer than all in tests only.
    pub allocations_max: u64,
}

/// When the heap is walked, and where the answers go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// The command has created it; empty: it is never walked.
    pub out: String,
    /// Its device and inode.
    pub file: Option<(u64, u64)>,
    pub every_ns: Option<u64>,
    /// When the process has grown to this, once.
    pub resident_bytes: Option<u64>,
    /// When the word at the file's beginning changes.
    pub on_demand: bool,
    /// Around each collection of all generations.
    pub before_gc: bool,
    pub after_gc: bool,
    pub at_exit: bool,
    /// Garbage in cycles, before collections of all generations.
    pub cycles: bool,
    /// A full collection comes first, except around one.
    pub collects: bool,
}

/// A file that counts only if it is this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub path: String,
    pub device: u64,
    pub inode: u64,
}

impl Table {
    fn parse(text: &str) -> Option<Table> {
        let mut fields = text.splitn(3, ',');
        let (device, inode) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(Table { path: fields.next()?.to_owned(), device, inode })
    }
}

impl Session {
    const VERSION: &'static str = "1";
    /// Indices end at 2^32, and a block adds far fewer than the other half.
    const ROWS_MAX: u32 = 1 << 31;

    /// `None` for what no command of this version wrote: then nothing is recorded.
    #[must_use]
    pub fn parse(text: &str) -> Option<Session> {
        let mut session = Session {
            out: String::new(),
            interval_ns: 1_000_000,
            budget_per_mille: None,
            native: true,
            children: true,
            memory: false,
            copies: false,
            allocations: false,
            gc: false,
            gc_threshold: Vec::new(),
            gc_freeze: false,
            heap: Heap::default(),
            until_ns: None,
            is_leased: false,
            is_asked: false,
            tags: Vec::new(),
            trace: None,
            notes: None,
            bells: None,
            door: None,
            command: None,
            questions_max: REQUESTS,
            rows_max: Self::ROWS_MAX,
            allocations_max: u64::MAX,
        };
        let mut version = String::new();
        for field in text.split(';').filter(|field| !field.is_empty()) {
            let (key, value) = field.split_once('=')?;
            let value = decode(value)?;
            match key {
                "v" => version = value,
                "out" => session.out = value,
                "interval_ns" => session.interval_ns = value.parse().ok()?,
                "budget_per_mille" => {
                    session.budget_per_mille = Some(value.parse().ok()?).filter(|&share: &u32| share != 0)
                }
                "native" => session.native = value != "0",
                "children" => session.children = value != "0",
                "memory" => session.memory = value != "0",
                "copies" => session.copies = value != "0",
                "alloc" => session.allocations = value != "0",
                "gc" => session.gc = value != "0",
                "gc_threshold" => {
                    session.gc_threshold = value.split(',').map(|number| number.parse().ok()).collect::<Option<_>>()?
                }
                "gc_freeze" => session.gc_freeze = value != "0",
                "heap_out" => session.heap.out = value,
                "heap_file" => {
                    let (device, inode) = value.split_once(',')?;
                    session.heap.file = Some((device.parse().ok()?, inode.parse().ok()?));
                }
                "heap_every_ns" => session.heap.every_ns = Some(value.parse().ok()?),
                "heap_rss_bytes" => session.heap.resident_bytes = Some(value.parse().ok()?),
                "heap_on_demand" => session.heap.on_demand = value != "0",
                "heap_before_gc" => session.heap.before_gc = value != "0",
                "heap_after_gc" => session.heap.after_gc = value != "0",
                "heap_at_exit" => session.heap.at_exit = value != "0",
                "heap_cycles" => session.heap.cycles = value != "0",
                "heap_collect" => session.heap.collects = value != "0",
                "until_ns" => session.until_ns = Some(value.parse().ok()?).filter(|&until_ns: &u64| until_ns != 0),
                "leased" => session.is_leased = value != "0",
                "asked" => session.is_asked = value != "0",
                "tag" => session.tags.push(value),
                "trace" => session.trace = Some(value.parse().ok()?),
                "notes" => session.notes = Some(Table::parse(&value)?),
                "bells" => session.bells = Some(Table::parse(&value)?),
                "door" => session.door = Some(Table::parse(&value)?),
                "command" => session.command = Some(value.parse().ok()?),
                "questions_max" => session.questions_max = value.parse::<usize>().ok()?.min(REQUESTS),
                "rows_max" => session.rows_max = value.parse::<u32>().ok()?.min(Self::ROWS_MAX),
                "allocations_max" => session.allocations_max = value.parse().ok()?,
                // A later command of the same version may say more.
                _ => {}
            }
        }
        let sane = version == Self::VERSION && session.out.starts_with('/') && session.interval_ns >= 10_000;
        sane.then_some(session)
    }
}

pub fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = tail.get(2..)?;
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{Heap, Session, Table};

    #[test]
    fn reads_what_the_command_writes() {
        let session = Session::parse(
            "v=1;out=/a%20b.genba;interval_ns=250000;budget_per_mille=20;children=0;gc=1;gc_threshold=10000,5;leased=1;asked=1;tag=k=v;until_ns=7;command=3;bells=1,22,/proc/3/fd/4;door=3,44,name,secret",
        )
        .unwrap();
        assert_eq!(session.out, "/a b.genba");
        assert_eq!((session.interval_ns, session.budget_per_mille, session.children), (250_000, Some(20), false));
        assert!(session.gc && !session.memory && !session.gc_freeze);
        assert_eq!((session.gc_threshold, session.command), (vec![10_000, 5], Some(3)));
        assert_eq!((session.tags, session.until_ns), (vec!["k=v".to_owned()], Some(7)));
        assert!(session.is_leased && session.is_asked);
        assert_eq!(session.bells, Some(Table { path: "/proc/3/fd/4".to_owned(), device: 1, inode: 22 }));
        assert_eq!(session.door, Some(Table { path: "name,secret".to_owned(), device: 3, inode: 44 }));
    }

    #[test]
    fn reads_when_the_heap_is_walked() {
        let session = Session::parse(
            "v=1;out=/a;heap_out=/b;heap_file=3,44;heap_every_ns=7;heap_rss_bytes=8;heap_after_gc=1;heap_at_exit=1;heap_cycles=1",
        )
        .unwrap();
        let expected = Heap {
            out: "/b".to_owned(),
            file: Some((3, 44)),
            every_ns: Some(7),
            resident_bytes: Some(8),
            after_gc: true,
            at_exit: true,
            cycles: true,
            ..Heap::default()
        };
        assert_eq!(session.heap, expected);
        assert_eq!(Session::parse("v=1;out=/a").unwrap().heap, Heap::default());
    }

    #[test]
    fn reads_that_calls_are_counted() {
        let session = Session::parse("v=1;out=/a.prof;trace=7;notes=1,22,/proc/7/fd/4").unwrap();
        assert_eq!(session.trace, Some(7));
        assert_eq!(session.notes, Some(Table { path: "/proc/7/fd/4".to_owned(), device: 1, inode: 22 }));
    }

    #[test]
    fn refuses_other_versions_and_damage() {
        for text in [
            "",
            "v=2;out=/a",
            "v=1;out=relative",
            "v=1;out=/a%2",
            "v=1;out=/a;interval_ns=x",
            "v=1;out=/a;bells=1,/b",
            "v=1;out",
            "v=1;out=/a;gc_threshold=7,x",
        ] {
            assert_eq!(Session::parse(text), None, "{text}");
        }
    }
}
