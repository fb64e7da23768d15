//! Programs of the run that are not in the recording, from the two that know some: the processes that started them, and the look from outside.
//! Owns: one list of both, as the recording has it. Never: names a Python that left a
//! recording of its own; one that an `exec` put into the place of such a one left none.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use genba_bells::programs::{RECORDING_OUT_OF_REACH, Started};
use genba_format::{Recording, proto};

use super::watch::Python;

/// `more`: starts of programs whose names found no room.
pub fn rows(
    started: Vec<Started>,
    more: u64,
    pythons: &[Python],
    recorded: &BTreeMap<u32, u64>,
) -> Vec<proto::NotFollowed> {
    let mut rows: Vec<proto::NotFollowed> = started
        .into_iter()
        .map(|Started { name, reason, count }| proto::NotFollowed {
            name: String::from_utf8_lossy(&name).into_owned(),
            reason: reason.word().to_owned(),
            count,
            ..Default::default()
        })
        .collect();
    let counted = rows.len();
    // The library stays in a process until the next exec: what it wrote before was written by another program.
    let is_recorded = |python: &Python| recorded.get(&python.pid).is_some_and(|&until_ns| until_ns >= python.seen_ns);
    for python in pythons.iter().filter(|python| !is_recorded(python)) {
        let path = python.executable.display().to_string();
        let is_same = |row: &proto::NotFollowed| row.name == path && row.reason == python.reason;
        // Not the row of processes that have the library: this one has none.
        let is_started = |row: &proto::NotFollowed| !row.python && row.reason != RECORDING_OUT_OF_REACH;
        let known =
            rows.iter().position(|row| is_same(row) || is_started(row) && whole(&row.name) == python.executable);
        match known.and_then(|at| Some((at, rows.get_mut(at)?))) {
            Some((at, row)) => {
                // Whoever started the others has counted each start.
                row.count += u64::from(at >= counted);
                row.python = true;
                row.wall_ns += python.wall_ns;
                row.cpu_ns += python.cpu_ns;
                if row.command.is_empty() {
                    row.command.clone_from(&python.command);
                }
            }
            None => rows.push(proto::NotFollowed {
                name: path,
                reason: python.reason.to_owned(),
                count: 1,
                python: true,
                wall_ns: python.wall_ns,
                cpu_ns: python.cpu_ns,
                command: python.command.clone(),
            }),
        }
    }
    // What took the most time is named first.
    rows.sort_by_key(|row| std::cmp::Reverse((row.python, row.cpu_ns, row.count)));
    if more > 0 {
        rows.push(proto::NotFollowed { count: more, ..Default::default() });
    }
    rows
}

/// Behind symbolic links, as the kernel names an executable.
fn whole(name: &str) -> PathBuf {
    fs::canonicalize(name).unwrap_or_else(|_| Path::new(name).to_path_buf())
}

/// The processes that wrote into the recording, and until when.
pub fn recorded(recording: Option<&Recording>) -> BTreeMap<u32, u64> {
    let blocks = || recording.into_iter().flat_map(|recording| &recording.blocks);
    let mut ends = BTreeMap::new();
    for read in blocks() {
        let end_ns: &mut u64 = ends.entry(read.header.process_key).or_default();
        *end_ns = read.header.end_ns.max(*end_ns);
    }
    let mut until = BTreeMap::new();
    for read in blocks() {
        if let Some(start) = &read.block.start {
            let until_ns: &mut u64 = until.entry(start.pid).or_default();
            *until_ns = ends.get(&read.header.process_key).copied().unwrap_or(0).max(*until_ns);
        }
    }
    until
}

#[cfg(test)]
mod tests {
    use super::{Python, rows};
    use genba_bells::programs::{Reason, Started};
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    fn python(pid: u32, path: &str, reason: &'static str) -> Python {
        let command = format!("{path} app.py");
        Python { pid, executable: PathBuf::from(path), command, reason, seen_ns: 50, wall_ns: 100, cpu_ns: 90 }
    }

    #[test]
    fn both_lists_are_one() {
        let started = |name: &[u8], reason, count| Started { name: name.to_vec(), reason, count };
        let known = vec![
            started(b"/nowhere/busybox", Reason::Musl, 3),
            started(b"/nowhere/python3", Reason::Musl, 2),
            started(b"/nowhere/python7", Reason::RecordingOutOfReach, 5),
        ];
        let pythons = [
            python(7, "/nowhere/python3", "musl"),
            python(8, "/nowhere/python4", "filtered"),
            python(9, "/nowhere/python4", "filtered"),
            python(10, "/nowhere/python5", "filtered"),
            python(11, "/nowhere/python6", "filtered"),
            python(12, "/nowhere/python7", "filtered"),
        ];
        let found = rows(known, 4, &pythons, &BTreeMap::from([(10, 50), (11, 49)]));
        let found: Vec<_> =
            found.iter().map(|row| (row.name.as_str(), row.count, row.python, row.cpu_ns, row.wall_ns)).collect();
        assert_eq!(
            found,
            [
                ("/nowhere/python4", 2, true, 180, 200),
                ("/nowhere/python3", 2, true, 90, 100),
                ("/nowhere/python6", 1, true, 90, 100),
                ("/nowhere/python7", 1, true, 90, 100),
                ("/nowhere/python7", 5, false, 0, 0),
                ("/nowhere/busybox", 3, false, 0, 0),
                ("", 4, false, 0, 0)
            ]
        );
    }
}
