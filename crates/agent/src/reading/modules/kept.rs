//! Rows that were compiled once, kept from one process to the next: compiling those of an interpreter takes 50 ms of CPU.
//! Owns: the folder `rows` beside the agent's file, and what makes a file in it count. Never: maps one (whoever cuts it short would end
//! the program), trusts one that somebody else could have written, keeps more than `SLOTS` files of `BYTES_MAX`. Without that folder
//! everything is compiled. A part of modules.rs.

use crate::reading::cfi::Compiled;
use crate::system::descriptor::Descriptor;
use crate::system::proc::own_pid;
use crate::system::symbols;
use genba_signal::rows::{Row, Rule};
use rustc_hash::FxHasher;
use std::ffi::CString;
use std::hash::Hasher;

/// Changes when rows do: their layout, their rules, how they are compiled.
const VERSION: u64 = u64::from_le_bytes(*b"genba r1");
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

    fn name(self) -> CString {
        let Key([_, hash]) = self;
        CString::new(format!("{}", hash % SLOTS)).unwrap_or_default()
    }
}

/// Where rows are kept; `None`: nowhere.
pub(super) struct Kept(Option<CString>);

impl Kept {
    /// In the private folder that the command unpacked this library to.
    pub(super) fn beside_agent() -> Kept {
        let path = symbols::own_path().unwrap_or_default();
        let folder =
            path.rsplit_once('/').filter(|(_, name)| name.starts_with("genba-agent-")).map(|(folder, _)| folder);
        Kept(folder.and_then(|folder| CString::new(format!("{folder}/rows")).ok()))
    }

    pub(super) fn read(&self, key: Key) -> Option<Compiled> {
        let folder = self.folder()?;
        let file =
            Descriptor::open_at(Some(&folder), &key.name(), libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK)
                .ok()?;
        let mut bytes = vec![0; file.private_bytes(libc::S_IFREG).filter(|&bytes| bytes <= BYTES_MAX)?];
        let mut at = 0;
        while let more @ 1.. = file.read(&mut bytes[at..])?.len() {
            at += more;
        }
        decode(key, bytes.get(..at)?)
    }

    /// A whole new file, put in place at once: another process may be doing the same, or reading.
    pub(super) fn write(&self, key: Key, compiled: &Compiled) {
        if compiled.rows.len() < ROWS_MIN {
            return;
        }
        let bytes = encode(key, compiled);
        if bytes.len() > BYTES_MAX {
            return;
        }
        if let Some(path) = &self.0 {
            // SAFETY: the path ends in NUL. It may be there already.
            unsafe { libc::mkdir(path.as_ptr(), 0o700) };
        }
        let Some(folder) = self.folder() else { return };
        let unfinished = CString::new(format!(".{}-{}", key.name().to_string_lossy(), own_pid())).unwrap_or_default();
        folder.put(&unfinished, &key.name(), &bytes);
    }

    fn folder(&self) -> Option<Descriptor> {
        let folder = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let folder = Descriptor::open_at(None, self.0.as_ref()?, folder).ok()?;
        folder.private_bytes(libc::S_IFDIR).map(|_| folder)
    }
}

const HEAD_WORDS: usize = 6;

/// Words: the version, the key's two, how many rows and functions there are, the sum of what follows; then rows and functions.
fn encode(key: Key, compiled: &Compiled) -> Vec<u8> {
    let pairs = compiled.rows.len() + compiled.functions.len();
    let mut bytes = vec![0; HEAD_WORDS * 8];
    bytes.reserve_exact(pairs * 8);
    for row in &compiled.rows {
        bytes.extend_from_slice(&pair(row.start, row.rule.bits()));
    }
    for &(first, behind) in &compiled.functions {
        bytes.extend_from_slice(&pair(first, behind));
    }
    let Key([build_id, hash]) = key;
    let (rows, functions) = (compiled.rows.len() as u64, compiled.functions.len() as u64);
    let head = [VERSION, build_id, hash, rows, functions, sum(&bytes[HEAD_WORDS * 8..])];
    for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(head) {
        *place = word.to_le_bytes();
    }
    bytes
}

fn pair(first: u32, second: u32) -> [u8; 8] {
    (u64::from(second) << 32 | u64::from(first)).to_le_bytes()
}

/// `None`: another file's, another version's, or damaged.
fn decode(key: Key, bytes: &[u8]) -> Option<Compiled> {
    let (words, []) = bytes.as_chunks::<8>() else { return None };
    let (head, rest) = words.split_first_chunk::<HEAD_WORDS>()?;
    let [version, build_id, hash, rows, functions, expected] = head.map(u64::from_le_bytes);
    let is_whole = rows.checked_add(functions)? == rest.len() as u64 && sum(&bytes[HEAD_WORDS * 8..]) == expected;
    if version != VERSION || Key([build_id, hash]) != key || !is_whole {
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
        let key = Key([1, 2]);
        let bytes = encode(key, &compiled());
        assert_eq!(decode(key, &bytes).as_ref().map(content), Some(content(&compiled())));
        assert!(decode(Key([1, 3]), &bytes).is_none());
        for end in [0, 8, 47, 48, 100, bytes.len() - 8, bytes.len() - 1] {
            assert!(decode(key, &bytes[..end]).is_none(), "cut at {end}");
        }
        for at in (0..bytes.len()).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(decode(key, &damaged).is_none(), "damaged at {at}");
        }
    }

    #[test]
    fn only_private_files_count() {
        let folder = std::env::temp_dir().join(format!("genba-kept-{}", std::process::id()));
        let kept = Kept(Some(CString::new(folder.to_str().unwrap()).unwrap()));
        let key = Key([1, 2]);
        assert!(kept.read(key).is_none());
        kept.write(key, &compiled());
        assert_eq!(kept.read(key).as_ref().map(content), Some(content(&compiled())));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing unfinished is left");
        let file = folder.join(key.name().to_str().unwrap());
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
        assert!(Kept(None).read(key).is_none());
    }
}
