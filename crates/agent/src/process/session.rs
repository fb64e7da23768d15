//! What the command asks of the agent: the variable GENBA_SESSION, read once.
//! Owns: its syntax (`key=value` fields between `;`, bytes percent-encoded). Never: reads other variables.
//! Partner: crates/cli/src/verbs/run writes it.

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
    /// CLOCK_MONOTONIC when the recording stops.
    pub until_ns: Option<u64>,
    pub tags: Vec<String>,
    /// Where those that are about to be killed are told so.
    pub bells: Option<Table>,
    /// So many questions may be open at once: fewer than there are buffers in tests only.
    pub questions_max: usize,
    /// A segment of the recording has so many rows of a kind: fewer than indices allow in tests only.
    pub rows_max: u32,
    /// So many allocations succeed: fewer than all in tests only.
    pub allocations_max: u64,
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
            until_ns: None,
            tags: Vec::new(),
            bells: None,
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
                "until_ns" => session.until_ns = Some(value.parse().ok()?).filter(|&until_ns: &u64| until_ns != 0),
                "tag" => session.tags.push(value),
                "bells" => session.bells = Some(Table::parse(&value)?),
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

fn decode(text: &str) -> Option<String> {
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
    use super::{Session, Table};

    #[test]
    fn reads_what_the_command_writes() {
        let session = Session::parse(
            "v=1;out=/a%20b.genba;interval_ns=250000;budget_per_mille=20;children=0;tag=k=v;until_ns=7;bells=1,22,/proc/3/fd/4",
        )
        .unwrap();
        assert_eq!(session.out, "/a b.genba");
        assert_eq!((session.interval_ns, session.budget_per_mille, session.children), (250_000, Some(20), false));
        assert_eq!((session.tags, session.until_ns), (vec!["k=v".to_owned()], Some(7)));
        assert_eq!(session.bells, Some(Table { path: "/proc/3/fd/4".to_owned(), device: 1, inode: 22 }));
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
        ] {
            assert_eq!(Session::parse(text), None, "{text}");
        }
    }
}
