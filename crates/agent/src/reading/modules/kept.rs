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
/// Read at a time. Room for a whole file would be fresh memory: each of its pages costs more than what is read into it.
const PIECE_BYTES: usize = 64 << 10;

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

    /// Two, so that two files which share one do not push each other out at each run.
    fn slots(self, agent: Agent) -> [u64; 2] {
        let (Key([_, hash]), Agent(agent)) = (self, agent);
        [(hash ^ agent) % SLOTS, (hash ^ agent) / SLOTS % SLOTS]
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
        key.slots(self.agent).into_iter().find_map(|slot| self.read_slot(&folder, slot, key))
    }

    fn read_slot(&self, folder: &Descriptor, slot: u64, key: Key) -> Option<Compiled> {
        let file = open(folder, slot)?;
        let bytes = file.private_bytes(libc::S_IFREG).filter(|&bytes| bytes <= BYTES_MAX)?;
        decode(self.agent, key, bytes, |room| {
            let mut at = 0;
            while at < room.len() {
                match file.read(&mut room[at..])?.len() {
                    0 => return None,
                    more => at += more,
                }
            }
            Some(())
        })
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
        let slot = self.slot_for(&folder, key);
        folder.put(&name(".", slot), &name("", slot), &bytes);
    }

    /// The first that is free or has this key; else the one that was written longer ago, which may be nobody's any more.
    fn slot_for(&self, folder: &Descriptor, key: Key) -> u64 {
        let (Agent(agent), Key([build_id, hash])) = (self.agent, key);
        let slots = key.slots(self.agent);
        let is_open = |slot: u64| holder(folder, slot).is_none_or(|holder| holder == [agent, build_id, hash]);
        let oldest = || slots.into_iter().min_by_key(|&slot| open(folder, slot).and_then(|file| file.written()));
        slots.into_iter().find(|&slot| is_open(slot)).or_else(oldest).unwrap_or(slots[0])
    }

    fn folder(&self) -> Option<Descriptor> {
        let folder = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let folder = Descriptor::open_at(None, self.folder.as_ref()?, folder).ok()?;
        folder.private_bytes(libc::S_IFDIR).map(|_| folder)
    }
}

fn name(before: &str, slot: u64) -> CString {
    CString::new(format!("{before}{slot}")).unwrap_or_default()
}

fn open(folder: &Descriptor, slot: u64) -> Option<Descriptor> {
    let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    Descriptor::open_at(Some(folder), &name("", slot), flags).ok()
}

/// Whose rows lie there, as the head says: the library and the key. `None`: nobody's.
fn holder(folder: &Descriptor, slot: u64) -> Option<[u64; 3]> {
    let file = open(folder, slot)?;
    let mut bytes = [0; 24];
    let (words, _) = file.read(&mut bytes)?.as_chunks::<8>();
    Some(words.first_chunk::<3>()?.map(u64::from_le_bytes))
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

/// `None`: another file's, another library's, or damaged. `bytes`: how many there are; `read` fills the room it is given with the next ones.
fn decode(agent: Agent, key: Key, bytes: usize, mut read: impl FnMut(&mut [u8]) -> Option<()>) -> Option<Compiled> {
    let mut head = [0_u8; HEAD_WORDS * 8];
    let mut left = bytes.checked_sub(head.len())?;
    read(&mut head)?;
    let head = head.as_chunks::<8>().0.first_chunk::<HEAD_WORDS>()?;
    let [compiled_by, build_id, hash, rows, functions, expected] = head.map(u64::from_le_bytes);
    let is_whole = rows.checked_add(functions)?.checked_mul(8)? == left as u64;
    if Agent(compiled_by) != agent || Key([build_id, hash]) != key || !is_whole {
        return None;
    }
    let rows = rows as usize;
    let mut compiled = Compiled { rows: Vec::with_capacity(rows), functions: Vec::with_capacity(functions as usize) };
    let halves = |pair: &[u8; 8]| {
        let pair = u64::from_le_bytes(*pair);
        (pair as u32, (pair >> 32) as u32)
    };
    let row = |pair: &[u8; 8]| {
        let (start, rule) = halves(pair);
        Row { start, rule: Rule::from_bits(rule) }
    };
    let mut room = vec![0_u8; left.min(PIECE_BYTES)];
    let mut hasher = FxHasher::default();
    while left > 0 {
        room.truncate(left);
        read(&mut room)?;
        left -= room.len();
        hasher.write(&room);
        let pairs = room.as_chunks::<8>().0;
        let (of_rows, of_functions) = pairs.split_at(pairs.len().min(rows - compiled.rows.len()));
        compiled.rows.extend(of_rows.iter().map(row));
        compiled.functions.extend(of_functions.iter().map(halves));
    }
    (hasher.finish() == expected).then_some(compiled)
}

/// Piece by piece, as `decode` gets them.
fn sum(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    bytes.chunks(PIECE_BYTES).for_each(|piece| hasher.write(piece));
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

    fn decoded(agent: Agent, key: Key, bytes: &[u8]) -> Option<Compiled> {
        let mut rest = bytes;
        decode(agent, key, bytes.len(), |room| {
            let (next, others) = rest.split_at_checked(room.len())?;
            room.copy_from_slice(next);
            rest = others;
            Some(())
        })
    }

    #[test]
    fn only_whole_rows_of_the_same_file_count() {
        let (agent, key) = (Agent(5), Key([1, 2]));
        let bytes = encode(agent, key, &compiled());
        assert_eq!(decoded(agent, key, &bytes).as_ref().map(content), Some(content(&compiled())));
        assert!(decoded(agent, Key([1, 3]), &bytes).is_none());
        assert!(decoded(Agent(6), key, &bytes).is_none());
        for end in [0, 8, 47, 48, 100, bytes.len() - 8, bytes.len() - 1] {
            assert!(decoded(agent, key, &bytes[..end]).is_none(), "cut at {end}");
        }
        for at in (0..bytes.len()).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(decoded(agent, key, &damaged).is_none(), "damaged at {at}");
        }
    }

    #[test]
    fn rows_of_many_pieces_are_read_whole() {
        let (agent, key) = (Agent(5), Key([1, 2]));
        let rule = Rule::new(RuleKind::Rsp, 16, None).unwrap();
        let in_a_piece = PIECE_BYTES / 8;
        for (rows, functions) in [(in_a_piece, 0), (in_a_piece, in_a_piece), (2 * in_a_piece + 3, in_a_piece + 1)] {
            let most = Compiled {
                rows: (0..rows as u32).map(|row| Row { start: 16 * row, rule }).collect(),
                functions: (0..functions as u32).map(|function| (16 * function, 16 * function + 8)).collect(),
            };
            let bytes = encode(agent, key, &most);
            assert_eq!(decoded(agent, key, &bytes).as_ref().map(content), Some(content(&most)));
            for at in (HEAD_WORDS * 8..bytes.len()).step_by(PIECE_BYTES) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x10;
                assert!(decoded(agent, key, &damaged).is_none(), "damaged at {at}");
            }
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
        let file = first_file(&folder, "", &kept, key);
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

    #[test]
    fn two_files_that_share_a_place_are_both_kept() {
        let folder = temporary("shared");
        let kept = beside(&folder, "one");
        let slots = |key: Key| key.slots(kept.agent);
        let mut keys = (0..).map(|hash| Key([1, hash])).filter(|key| slots(*key)[0] == 7 && slots(*key)[1] != 7);
        let pair = [keys.next().unwrap(), keys.next().unwrap()];
        for key in pair.into_iter().chain(pair) {
            kept.write(key, &compiled());
        }
        assert!(pair.iter().all(|key| kept.read(*key).is_some()));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "each in one place");
        // A third one, with no free place, takes the older.
        let third = keys.find(|key| slots(*key)[1] == slots(pair[1])[1]).unwrap();
        kept.write(third, &compiled());
        assert!(kept.read(third).is_some() && kept.read(pair[0]).is_none() && kept.read(pair[1]).is_some());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_in_use_takes_the_place_of_one_that_was_written_long_ago() {
        let folder = temporary("long-ago");
        let kept = beside(&folder, "one");
        let slots = |key: Key| key.slots(kept.agent);
        let mut keys = (0..).map(|hash| Key([1, hash]));
        let mut beginning_at = |slot| keys.find(|key| slots(*key)[0] == slot && slots(*key)[1] != slot).unwrap();
        let used = [beginning_at(7), beginning_at(7)];
        let unused = beginning_at(slots(used[1])[1]);
        kept.write(unused, &compiled());
        let file = std::fs::File::options().write(true).open(first_file(&folder, "", &kept, unused)).unwrap();
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(3600)).unwrap();
        for key in used.into_iter().chain(used) {
            kept.write(key, &compiled());
        }
        assert!(used.iter().all(|key| kept.read(*key).is_some()) && kept.read(unused).is_none());
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
        let [file, unfinished] = ["", "."].map(|before| first_file(&folder, before, &kept, key));
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

    fn first_file(folder: &std::path::Path, before: &str, kept: &Kept, key: Key) -> std::path::PathBuf {
        folder.join(name(before, key.slots(kept.agent)[0]).to_str().unwrap())
    }

    fn beside(folder: &std::path::Path, agent: &str) -> Kept {
        Kept::of(Some(CString::new(folder.to_str().unwrap()).unwrap()), agent)
    }
}
