//! Rows that were compiled once, kept from one process to the next: compiling those of an interpreter takes 50 ms of CPU.
//! Owns: the folder `rows` beside the agent's file, and what makes a file in it count. Never: maps one (whoever cuts it short would end
//! the program), trusts one that somebody else could have written, keeps more than `SLOTS` files of `BYTES_MAX`. Without that folder
//! everything is compiled. A part of modules.rs.

use crate::reading::cfi::Compiled;
use crate::system::descriptor::Descriptor;
use crate::system::symbols;
use genba_signal::rows::{Row, Rule};
use rustc_hash::FxHasher;
use std::ffi::CString;
use std::hash::Hasher;

const SLOTS: u64 = 256;
const BYTES_MAX: usize = 4 << 20;
/// Fewer rows are compiled as fast as read.
const ROWS_MIN: usize = 1000;

/// The file whose rows they are: by its build id (the executable, where it has none, by what the file system says of it), and by its program
/// headers, since a file that was rearranged after linking keeps its build id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key([u64; 2]);

impl Key {
    /// `None`: nothing tells this file from others.
    pub(super) fn of(build_id: &[u8], headers: &[libc::Elf64_Phdr]) -> Option<Key> {
        const BUILD_ID_BYTES_MIN: usize = 16;
        if build_id.len() < BUILD_ID_BYTES_MIN {
            return None;
        }
        let mut hasher = FxHasher::default();
        hasher.write(build_id);
        for header in headers {
            let kind = u64::from(header.p_type) << 32 | u64::from(header.p_flags);
            for word in [kind, header.p_offset, header.p_vaddr, header.p_memsz] {
                hasher.write_u64(word);
            }
        }
        let first = build_id.first_chunk::<8>().map_or(0, |first| u64::from_le_bytes(*first));
        Some(Key([first, hasher.finish()]))
    }

    fn slot(self, agent: Agent) -> u64 {
        let (Key([_, hash]), Agent(agent)) = (self, agent);
        (hash ^ agent) % SLOTS
    }
}

/// The library that compiled the rows: all versions of genba share the folder, and the rows of one mean nothing to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Agent(u64);

/// Where rows are kept, and whose count.
pub(super) struct Kept {
    /// `None`: nowhere.
    folder: Option<CString>,
    agent: Agent,
}

impl Kept {
    /// In the private folder that the command unpacked this library to, under the hash of its bytes.
    pub(super) fn beside_agent() -> Kept {
        let path = symbols::own_path().unwrap_or_default();
        match path.rsplit_once('/').filter(|(_, name)| name.starts_with("genba-agent-")) {
            Some((folder, name)) => Kept::of(CString::new(format!("{folder}/rows")).ok(), name),
            None => Kept::of(None, ""),
        }
    }

    fn of(folder: Option<CString>, agent: &str) -> Kept {
        Kept { folder, agent: Agent(sum(agent.as_bytes())) }
    }

    pub(super) fn read(&self, key: Key) -> Option<Compiled> {
        let folder = self.folder()?;
        let file = Descriptor::open_at(
            Some(&folder),
            &self.name("", key),
            libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK,
        )
        .ok()?;
        let mut bytes = vec![0; file.private_bytes(libc::S_IFREG).filter(|&bytes| bytes <= BYTES_MAX)?];
        let mut at = 0;
        while let more @ 1.. = file.read(&mut bytes[at..])?.len() {
            at += more;
        }
        decode(self.agent, key, bytes.get(..at)?)
    }

    /// A whole new file, put in place at once: another process may be doing the same, or reading.
    pub(super) fn write(&self, key: Key, compiled: &Compiled) {
        if compiled.rows.len() < ROWS_MIN {
            return;
        }
        let bytes = encode(self.agent, key, compiled);
        if bytes.len() > BYTES_MAX {
            return;
        }
        if let Some(path) = &self.folder {
            // SAFETY: the path ends in NUL. It may be there already.
            unsafe { libc::mkdir(path.as_ptr(), 0o700) };
        }
        let Some(folder) = self.folder() else { return };
        folder.put(&self.name(".", key), &self.name("", key), &bytes);
    }

    fn name(&self, before: &str, key: Key) -> CString {
        CString::new(format!("{before}{}", key.slot(self.agent))).unwrap_or_default()
    }

    fn folder(&self) -> Option<Descriptor> {
        let folder = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let folder = Descriptor::open_at(None, self.folder.as_ref()?, folder).ok()?;
        folder.private_bytes(libc::S_IFDIR).map(|_| folder)
    }
}

const HEAD_WORDS: usize = 6;

/// Words: the library's hash, the key's two, how many rows and functions there are, the sum of what follows; then rows and functions.
fn encode(agent: Agent, key: Key, compiled: &Compiled) -> Vec<u8> {
    let pairs = compiled.rows.len() + compiled.functions.len();
    let mut bytes = vec![0; HEAD_WORDS * 8];
    bytes.reserve_exact(pairs * 8);
    for row in &compiled.rows {
        bytes.extend_from_slice(&pair(row.start, row.rule.bits()));
    }
    for &(first, behind) in &compiled.functions {
        bytes.extend_from_slice(&pair(first, behind));
    }
    let (Agent(agent), Key([build_id, hash])) = (agent, key);
    let (rows, functions) = (compiled.rows.len() as u64, compiled.functions.len() as u64);
    let head = [agent, build_id, hash, rows, functions, sum(&bytes[HEAD_WORDS * 8..])];
    for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(head) {
        *place = word.to_le_bytes();
    }
    bytes
}

fn pair(first: u32, second: u32) -> [u8; 8] {
    (u64::from(second) << 32 | u64::from(first)).to_le_bytes()
}

/// `None`: another file's, another library's, or damaged.
fn decode(agent: Agent, key: Key, bytes: &[u8]) -> Option<Compiled> {
    let (words, []) = bytes.as_chunks::<8>() else { return None };
    let (head, rest) = words.split_first_chunk::<HEAD_WORDS>()?;
    let [compiled_by, build_id, hash, rows, functions, expected] = head.map(u64::from_le_bytes);
    let is_whole = rows.checked_add(functions)? == rest.len() as u64 && sum(&bytes[HEAD_WORDS * 8..]) == expected;
    if Agent(compiled_by) != agent || Key([build_id, hash]) != key || !is_whole {
        return None;
    }
    let (rows, functions) = rest.split_at(rows as usize);
    let halves = |pair: &[u8; 8]| {
        let pair = u64::from_le_bytes(*pair);
        (pair as u32, (pair >> 32) as u32)
    };
    let row = |pair| {
        let (start, rule) = halves(pair);
        Row { start, rule: Rule::from_bits(rule) }
    };
    Some(Compiled { rows: rows.iter().map(row).collect(), functions: functions.iter().map(halves).collect() })
}

fn sum(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_signal::rows::RuleKind;
    use std::os::unix::fs::PermissionsExt;

    fn compiled() -> Compiled {
        let rule = Rule::new(RuleKind::Rsp, 16, None).unwrap();
        let rows = (0..ROWS_MIN as u32).map(|row| Row { start: 16 * row, rule }).collect();
        Compiled { rows, functions: vec![(0, 8), (16, 48)] }
    }

    fn content(compiled: &Compiled) -> [Vec<(u32, u32)>; 2] {
        [compiled.rows.iter().map(|row| (row.start, row.rule.bits())).collect(), compiled.functions.clone()]
    }

    #[test]
    fn only_whole_rows_of_the_same_file_count() {
        let (agent, key) = (Agent(5), Key([1, 2]));
        let bytes = encode(agent, key, &compiled());
        assert_eq!(decode(agent, key, &bytes).as_ref().map(content), Some(content(&compiled())));
        assert!(decode(agent, Key([1, 3]), &bytes).is_none());
        assert!(decode(Agent(6), key, &bytes).is_none());
        for end in [0, 8, 47, 48, 100, bytes.len() - 8, bytes.len() - 1] {
            assert!(decode(agent, key, &bytes[..end]).is_none(), "cut at {end}");
        }
        for at in (0..bytes.len()).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(decode(agent, key, &damaged).is_none(), "damaged at {at}");
        }
    }

    #[test]
    fn only_private_files_count() {
        let folder = temporary("private");
        let kept = beside(&folder, "one");
        let key = Key([1, 2]);
        assert!(kept.read(key).is_none());
        kept.write(key, &compiled());
        assert_eq!(kept.read(key).as_ref().map(content), Some(content(&compiled())));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing unfinished is left");
        let file = folder.join(kept.name("", key).to_str().unwrap());
        let allow = |path: &std::path::Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        for (path, open, private) in [(&file, 0o620, 0o600), (&folder, 0o702, 0o700)] {
            allow(path, open);
            assert!(kept.read(key).is_none());
            allow(path, private);
            assert!(kept.read(key).is_some());
        }
        let other = folder.join("other");
        std::fs::rename(&file, &other).unwrap();
        std::os::unix::fs::symlink(&other, &file).unwrap();
        assert!(kept.read(key).is_none());
        kept.write(key, &compiled());
        assert!(kept.read(key).is_some(), "a link gives way to a file");
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(Kept::of(None, "one").read(key).is_none());
    }

    #[test]
    fn libraries_have_rows_of_their_own() {
        let folder = temporary("libraries");
        let (one, other, key) = (beside(&folder, "one"), beside(&folder, "other"), Key([1, 2]));
        one.write(key, &compiled());
        assert!(one.read(key).is_some());
        assert!(other.read(key).is_none());
        other.write(key, &compiled());
        assert!(one.read(key).is_some() && other.read(key).is_some());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// Threads, which have one pid, as processes of two containers may.
    #[test]
    fn who_writes_at_the_same_time_or_was_killed_leaves_whole_files() {
        let folder = temporary("at-once");
        let (kept, key) = (beside(&folder, "one"), Key([1, 2]));
        let mut most = compiled();
        most.functions = vec![(0, 8); 100_000];
        kept.write(key, &most);
        std::thread::scope(|scope| {
            let writers: Vec<_> =
                (0..2).map(|_| scope.spawn(|| (0..40).for_each(|_| kept.write(key, &most)))).collect();
            while writers.iter().any(|writer| !writer.is_finished()) {
                assert_eq!(kept.read(key).map(|found| found.functions.len()), Some(most.functions.len()));
            }
        });
        let file = folder.join(kept.name("", key).to_str().unwrap());
        let unfinished = folder.join(kept.name(".", key).to_str().unwrap());
        std::fs::rename(&file, &unfinished).unwrap();
        std::fs::File::options().write(true).open(&unfinished).unwrap().set_len(5000).unwrap();
        kept.write(key, &compiled());
        assert_eq!(kept.read(key).as_ref().map(content), Some(content(&compiled())));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing unfinished is left");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    fn temporary(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("genba-kept-{name}-{}", std::process::id()))
    }

    fn beside(folder: &std::path::Path, agent: &str) -> Kept {
        Kept::of(Some(CString::new(folder.to_str().unwrap()).unwrap()), agent)
    }
}
