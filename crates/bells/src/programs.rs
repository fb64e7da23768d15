//! Programs that the processes of a run start and that genba's library cannot be in, each with how often it was started; and processes that cannot
//! open their recording, by the program that they run.
//! Owns: the layout of that list, one way to add to it and one to read it. Never: takes memory or a lock, waits: a vfork child adds to the list in its
//! parent's memory, and may be killed while it does.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::SeqCst};

/// Of more programs only the starts are counted.
pub const ROWS: usize = 48;
/// Of a longer path the end is kept.
pub const NAME_BYTES: usize = 116;

/// A word for such processes, which are not told by the program that they run: others with it may be recorded.
pub const RECORDING_OUT_OF_REACH: &str = "recording out of reach";

const FREE: u32 = 0;
/// Being filled. Whoever is killed then leaves a row that nobody uses.
const TAKEN: u32 = 1;

/// Why genba's library is not in a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Reason {
    Musl = 2,
    /// Neither glibc's dynamic loader nor musl's.
    OtherLoader,
    Bits32,
    OtherMachine,
    /// No dynamic loader at all.
    Static,
    /// The library cannot be read there: by that user, below that root.
    OutOfReach,
    /// It gets other rights than its caller has, so that the loader ignores preloaded libraries.
    Setuid,
    /// The library is in it, but it had lost the way to its recording before it could open that.
    RecordingOutOfReach,
}

impl Reason {
    const ALL: [Reason; 8] = [
        Reason::Musl,
        Reason::OtherLoader,
        Reason::Bits32,
        Reason::OtherMachine,
        Reason::Static,
        Reason::OutOfReach,
        Reason::Setuid,
        Reason::RecordingOutOfReach,
    ];

    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Reason::Musl => "musl",
            Reason::OtherLoader => "another loader",
            Reason::Bits32 => "32-bit",
            Reason::OtherMachine => "another machine",
            Reason::Static => "static",
            Reason::OutOfReach => "library out of reach",
            Reason::Setuid => "setuid",
            Reason::RecordingOutOfReach => RECORDING_OUT_OF_REACH,
        }
    }
}

/// SeqCst throughout: whoever moves `state` from FREE to TAKEN has the name alone until the next store.
#[repr(C)]
struct Row {
    /// Else a `Reason`.
    state: AtomicU32,
    count: AtomicU32,
    length: AtomicU32,
    name: [AtomicU8; NAME_BYTES],
}

impl Row {
    const fn new() -> Row {
        Row {
            state: AtomicU32::new(FREE),
            count: AtomicU32::new(0),
            length: AtomicU32::new(0),
            name: [const { AtomicU8::new(0) }; NAME_BYTES],
        }
    }

    fn fill(&self, reason: Reason, name: &[u8]) {
        for (place, byte) in self.name.iter().zip(name) {
            place.store(*byte, SeqCst);
        }
        self.length.store(name.len() as u32, SeqCst);
        self.count.store(1, SeqCst);
        self.state.store(reason as u32, SeqCst);
    }

    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.name.iter().take(self.length.load(SeqCst) as usize).map(|byte| byte.load(SeqCst))
    }

    fn is_of(&self, reason: Reason, name: &[u8]) -> bool {
        self.state.load(SeqCst) == reason as u32 && self.bytes().eq(name.iter().copied())
    }
}

#[repr(C)]
pub struct Programs {
    /// Starts of programs for which there was no row.
    more: AtomicU64,
    rows: [Row; ROWS],
}

/// A program that was started without genba's library.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Started {
    pub name: Vec<u8>,
    pub reason: Reason,
    pub count: u64,
}

impl Programs {
    #[must_use]
    #[expect(clippy::new_without_default, reason = "the kernel makes those that are used: all zeros")]
    pub const fn new() -> Programs {
        Programs { more: AtomicU64::new(0), rows: [const { Row::new() }; ROWS] }
    }

    /// One more start.
    pub fn add(&self, reason: Reason, path: &[u8]) {
        let name = &path[path.len().saturating_sub(NAME_BYTES)..];
        for row in &self.rows {
            if row.state.compare_exchange(FREE, TAKEN, SeqCst, SeqCst).is_ok() {
                return row.fill(reason, name);
            }
            if row.is_of(reason, name) {
                row.count.fetch_add(1, SeqCst);
                return;
            }
        }
        self.more.fetch_add(1, SeqCst);
    }

    /// It was not started after all.
    pub fn take_back(&self, reason: Reason, path: &[u8]) {
        let name = &path[path.len().saturating_sub(NAME_BYTES)..];
        let counter = self.rows.iter().find(|row| row.is_of(reason, name)).map(|row| &row.count);
        let is_less =
            counter.is_some_and(|count| count.fetch_update(SeqCst, SeqCst, |count| count.checked_sub(1)).is_ok());
        if !is_less {
            let _ = self.more.fetch_update(SeqCst, SeqCst, |more| more.checked_sub(1));
        }
    }

    /// All of them, and how many starts there were of others.
    #[must_use]
    pub fn started(&self) -> (Vec<Started>, u64) {
        let mut all: Vec<Started> = Vec::new();
        for row in &self.rows {
            let state = row.state.load(SeqCst);
            let Some(reason) = Reason::ALL.into_iter().find(|reason| *reason as u32 == state) else { continue };
            let (name, count): (Vec<u8>, _) = (row.bytes().collect(), u64::from(row.count.load(SeqCst)));
            match all.iter_mut().find(|other| other.reason == reason && other.name == name) {
                // Two processes began with it in the same instant.
                Some(other) => other.count += count,
                None if count > 0 => all.push(Started { name, reason, count }),
                None => {}
            }
        }
        (all, self.more.load(SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::{NAME_BYTES, Programs, ROWS, Reason, Started};

    fn started(name: &[u8], reason: Reason, count: u64) -> Started {
        Started { name: name.to_vec(), reason, count }
    }

    #[test]
    fn each_program_is_counted_by_its_reason() {
        let programs = Programs::new();
        for _ in 0..3 {
            programs.add(Reason::Musl, b"/bin/busybox");
        }
        programs.add(Reason::Static, b"/bin/busybox");
        programs.add(Reason::Bits32, b"/bin/old");
        programs.take_back(Reason::Musl, b"/bin/busybox");
        programs.take_back(Reason::Bits32, b"/bin/old");
        let expected = [started(b"/bin/busybox", Reason::Musl, 2), started(b"/bin/busybox", Reason::Static, 1)];
        assert_eq!(programs.started(), (expected.to_vec(), 0));
    }

    #[test]
    fn what_has_no_row_is_counted_and_a_long_path_keeps_its_end() {
        let programs = Programs::new();
        let long = [vec![b'a'; NAME_BYTES], b"/end".to_vec()].concat();
        programs.add(Reason::Static, &long);
        for number in 0..ROWS {
            programs.add(Reason::Musl, format!("/{number}").as_bytes());
        }
        let (rows, more) = programs.started();
        assert_eq!((rows.len(), more), (ROWS, 1));
        assert_eq!(rows[0], started(&long[4..], Reason::Static, 1));
        programs.take_back(Reason::Musl, b"/none");
        assert_eq!(programs.started().1, 0);
    }
}
