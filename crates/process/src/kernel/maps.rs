//! The mappings of a process.
//! Owns: reading `/proc/PID/maps`. Never: opens what a mapping names (files.rs does).

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::kernel::refusal::Refusal;
use crate::kernel::rules::refused_read;

/// A line of `/proc/PID/maps`. `path` is as the process's own mount namespace has it: `[heap]`, `[vdso]`, and `(deleted)` at the end
/// of a file that was removed or replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    pub permissions: Permissions,
    pub offset: u64,
    /// Major and minor number.
    pub device: (u32, u32),
    /// 0: no file.
    pub inode: u64,
    pub path: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    pub read: bool,
    pub write: bool,
    pub execute: bool,
    pub shared: bool,
}

impl Mapping {
    #[must_use]
    pub const fn contains(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }

    /// Which file it is of, if it is of one.
    #[must_use]
    pub fn file(&self) -> Option<(u32, u32, u64)> {
        (self.inode != 0).then_some((self.device.0, self.device.1, self.inode))
    }
}

/// In the order of their addresses.
///
/// # Errors
/// `NoSuchProcess`; `NotPermitted` where this process may not look at that one.
pub fn read(pid: u32) -> Result<Vec<Mapping>, Refusal> {
    let text = fs::read(format!("/proc/{pid}/maps")).map_err(|error| refused_read(pid, &error))?;
    Ok(text.split(|&byte| byte == b'\n').filter_map(parse).collect())
}

/// Whether it still has memory: a process that ends gives that up first.
#[must_use]
pub fn has_any(pid: u32) -> bool {
    read(pid).is_ok_and(|maps| !maps.is_empty())
}

/// `start-end perms offset major:minor inode      path`; blanks in the path are part of it.
fn parse(line: &[u8]) -> Option<Mapping> {
    let mut rest = line;
    let mut word = || {
        let begin = rest.iter().position(|&byte| byte != b' ')?;
        let from = rest.get(begin..)?;
        let length = from.iter().position(|&byte| byte == b' ').unwrap_or(from.len());
        let (word, behind) = from.split_at(length);
        rest = behind;
        std::str::from_utf8(word).ok()
    };
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = word()?.split_once('-')?;
    let permissions = word()?.as_bytes();
    let offset = hex(word()?)?;
    let (major, minor) = word()?.split_once(':')?;
    let inode = word()?.parse().ok()?;
    let path = rest.iter().position(|&byte| byte != b' ').map(|begin| rest[begin..].to_vec());
    let has = |position: usize, letter: u8| permissions.get(position) == Some(&letter);
    Some(Mapping {
        start: hex(start)?,
        end: hex(end)?,
        permissions: Permissions {
            read: has(0, b'r'),
            write: has(1, b'w'),
            execute: has(2, b'x'),
            shared: has(3, b's'),
        },
        offset,
        device: (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?),
        inode,
        path: path.map(|bytes| PathBuf::from(OsString::from_vec(unescape(&bytes)))),
    })
}

/// The kernel writes a newline in a path as `\012`.
fn unescape(path: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&first, behind)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"\\012") {
            bytes.push(b'\n');
            rest = after;
        } else {
            bytes.push(first);
            rest = behind;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{Mapping, Permissions, parse, read};
    use std::path::PathBuf;

    #[test]
    fn a_line_is_read_with_the_blanks_of_its_path() {
        let line = b"7f01a000-7f01b000 r-xp 0001a000 fe:0a 4711      /opt/my python/lib\\012x.so (deleted)";
        assert_eq!(
            parse(line),
            Some(Mapping {
                start: 0x7f01_a000,
                end: 0x7f01_b000,
                permissions: Permissions { read: true, write: false, execute: true, shared: false },
                offset: 0x1a000,
                device: (0xfe, 10),
                inode: 4711,
                path: Some(PathBuf::from("/opt/my python/lib\nx.so (deleted)")),
            })
        );
        assert_eq!(parse(b"1000-2000 rw-p 00000000 00:00 0 ").and_then(|mapping| mapping.path), None);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn this_process_has_mappings() {
        let found = read(std::process::id()).expect("own maps");
        let code = found.iter().find(|mapping| mapping.permissions.execute).expect("code");
        assert!(code.contains(code.start) && !code.contains(code.end) && code.file().is_some());
    }
}
