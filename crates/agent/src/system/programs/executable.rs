//! Whether genba's libraries can be in a program: word size, machine and loader of its file, of a script its interpreter's; the rights that it gets.
//! Owns: looking at that file. Never: allocates, locks or waits: a vfork child runs it in its parent's memory. What cannot be looked at is taken for fit.

use crate::system::errno;
use crate::system::programs::words::{base_name, own_environment, words};
use genba_bells::programs::{NAME_BYTES, Reason};
use std::ffi::{CStr, c_char, c_int};

/// How the caller names it.
#[derive(Clone, Copy)]
pub enum Program {
    /// A relative one begins in this folder, also where a child is told to change it first: CPython never tells it so.
    Path(*const c_char),
    /// Looked for in PATH, if no `/` is in it.
    File(*const c_char),
    Descriptor(c_int),
}

/// What was seen of it.
pub struct Seen {
    name: [u8; NAME_BYTES],
    length: usize,
    /// Why it cannot have genba's libraries.
    pub reason: Option<Reason>,
}

impl Seen {
    /// A long path keeps its end.
    fn of(path: &[u8], reason: Option<Reason>) -> Seen {
        let path = path.split(|&byte| byte == 0).next().unwrap_or_default();
        let end = &path[path.len().saturating_sub(NAME_BYTES)..];
        let mut name = [0; NAME_BYTES];
        name[..end.len()].copy_from_slice(end);
        Seen { name, length: end.len(), reason }
    }

    #[must_use]
    pub fn name(&self) -> &[u8] {
        &self.name[..self.length]
    }
}

const LOADER: &[u8] = b"ld-linux-x86-64.so.2";
const MUSL: &[u8] = b"ld-musl-";
/// As libc's `execvp`, where PATH is not set.
const PATH_UNSET: &[u8] = b"/bin:/usr/bin";
/// Longer paths are left alone.
pub const PATH_BYTES: usize = 4096;
/// As the kernel's own bound on scripts that scripts interpret.
const SCRIPTS_MAX: usize = 5;
/// As much of a script's first line as the kernel reads.
const LINE_BYTES: usize = 256;
const HEADERS_MAX: u64 = 64;

/// # Safety
/// What is named is valid, or null.
pub unsafe fn look(program: Program) -> Seen {
    let named = |name: *const c_char| match name.is_null() {
        true => &b"\0"[..],
        // SAFETY: the caller's promise.
        false => unsafe { CStr::from_ptr(name) }.to_bytes_with_nul(),
    };
    match program {
        Program::Descriptor(descriptor) => {
            let mut path = [0; NAME_BYTES];
            look_at(descriptor, path_of(descriptor, &mut path), 0)
        }
        Program::Path(path) => look_at_path(named(path)),
        Program::File(file) if named(file).contains(&b'/') => look_at_path(named(file)),
        Program::File(file) => {
            let file = named(file);
            // SAFETY: as `own_environment`.
            let path = unsafe { words(own_environment()) }.find_map(|word| word.strip_prefix(b"PATH="));
            path.unwrap_or(PATH_UNSET)
                .split(|&byte| byte == b':')
                .find_map(|folder| in_folder(folder, file))
                .map_or_else(|| Seen::of(file, None), |path| look_at_path(&path))
        }
    }
}

/// The path of `file`, which ends with a zero, in `folder`, if it can be executed there.
fn in_folder(folder: &[u8], file: &[u8]) -> Option<[u8; PATH_BYTES]> {
    let mut path = [0; PATH_BYTES];
    let folder = if folder.is_empty() { b"." } else { folder };
    path.get_mut(..folder.len())?.copy_from_slice(folder);
    *path.get_mut(folder.len())? = b'/';
    path.get_mut(folder.len() + 1..folder.len() + 1 + file.len())?.copy_from_slice(file);
    // SAFETY: a path on this stack.
    (unsafe { libc::syscall(libc::SYS_access, path.as_ptr(), libc::X_OK) } == 0).then_some(path)
}

/// `path` ends with a zero.
fn look_at_path(path: &[u8]) -> Seen {
    match Open::file(path) {
        Some(file) => look_at(file.0, path, 0),
        // Some systems let nobody but root read `sudo`. Its mode is told all the same, and its capabilities are not.
        None => {
            let gets_rights = Open::unread(path).is_some_and(|file| gets_rights(file.0));
            Seen::of(path, gets_rights.then_some(Reason::Setuid))
        }
    }
}

fn look_at(descriptor: c_int, path: &[u8], scripts: usize) -> Seen {
    let Some((head, length)) = read::<LINE_BYTES>(descriptor, 0) else { return Seen::of(path, None) };
    let head = &head[..length];
    if let Some(line) = head.strip_prefix(b"#!") {
        let Some(interpreter) = interpreter_of(line).and_then(terminated::<LINE_BYTES>) else {
            return Seen::of(path, None);
        };
        return match Open::file(&interpreter) {
            Some(file) if scripts < SCRIPTS_MAX => look_at(file.0, &interpreter, scripts + 1),
            _ => Seen::of(path, None),
        };
    }
    Seen::of(path, reason(descriptor, head, path))
}

fn reason(descriptor: c_int, head: &[u8], path: &[u8]) -> Option<Reason> {
    if !head.starts_with(b"\x7fELF") || head.len() < 64 {
        return None;
    }
    let machine = u16::from_le_bytes([head[18], head[19]]);
    let unlike = match (head[4], machine) {
        (2, 62) => None,
        (1, 3 | 62) => Some(Reason::Bits32),
        _ => Some(Reason::OtherMachine),
    };
    unlike.or_else(|| gets_rights(descriptor).then_some(Reason::Setuid)).or_else(|| {
        let Some((name, length)) = loader_of(descriptor, head) else {
            // The loader is a program, too, and loads what it is told to.
            let is_loader = base_name(path).strip_suffix(&[0]).unwrap_or(base_name(path)) == LOADER;
            return (!is_loader).then_some(Reason::Static);
        };
        match base_name(&name[..length]) {
            LOADER => None,
            name if name.starts_with(MUSL) => Some(Reason::Musl),
            _ => Some(Reason::OtherLoader),
        }
    })
}

/// Whether the kernel will tell the loader to be careful (AT_SECURE): other users or groups are in force than the real ones, or the file has capabilities.
fn gets_rights(descriptor: c_int) -> bool {
    // The kernel's `struct statfs` (include/uapi/asm-generic/statfs.h): `f_flags` is the word behind `f_frsize`.
    const STATFS_WORDS: usize = 15;
    const FLAGS_WORD: usize = 10;
    const ST_NOSUID: i64 = 2;
    // SAFETY: asks only; the kernel writes a stat and a statfs on this stack.
    unsafe {
        let (user, group) = (libc::getuid(), libc::getgid());
        let (mut user_then, mut group_then) = (libc::geteuid(), libc::getegid());
        let mut has_capabilities = false;
        let mut found: libc::stat = core::mem::zeroed();
        let mut place = [0_i64; STATFS_WORDS];
        let bits = libc::S_ISUID | libc::S_ISGID;
        let is_found = libc::syscall(libc::SYS_fstat, descriptor, &raw mut found) == 0;
        let mut counts = || {
            libc::syscall(libc::SYS_prctl, libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0
                && libc::syscall(libc::SYS_fstatfs, descriptor, place.as_mut_ptr()) == 0
                && place[FLAGS_WORD] & ST_NOSUID == 0
        };
        if is_found && found.st_mode & bits != 0 && counts() {
            if found.st_mode & libc::S_ISUID != 0 {
                user_then = found.st_uid;
            }
            if found.st_mode & libc::S_ISGID != 0 && found.st_mode & libc::S_IXGRP != 0 {
                group_then = found.st_gid;
            }
        }
        if user != 0 {
            let name = c"security.capability".as_ptr();
            let bytes = libc::syscall(libc::SYS_fgetxattr, descriptor, name, core::ptr::null_mut::<u8>(), 0);
            has_capabilities = bytes > 0 && counts();
        }
        user_then != user || group_then != group || has_capabilities
    }
}

/// Of a script's first line, behind `#!`.
fn interpreter_of(line: &[u8]) -> Option<&[u8]> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let begin = line.iter().position(|byte| !is_blank(byte))?;
    let path = line[begin..].split(|byte| is_blank(byte) || *byte == b'\n').next()?;
    (!path.is_empty()).then_some(path)
}

/// The program's PT_INTERP.
fn loader_of(descriptor: c_int, head: &[u8]) -> Option<([u8; 256], usize)> {
    const PT_INTERP: u64 = 3;
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
    let (table, size, count) = (number(&head[32..40]), number(&head[54..56]), number(&head[56..58]));
    (0..count.min(HEADERS_MAX)).find_map(|position| {
        let (header, length) = read::<56>(descriptor, table.checked_add(position * size)?)?;
        if length < header.len() || number(&header[..4]) != PT_INTERP {
            return None;
        }
        let (name, length) = read::<256>(descriptor, number(&header[8..16]))?;
        let length = length.min(usize::try_from(number(&header[32..40])).ok()?);
        Some((name, name[..length].iter().position(|&byte| byte == 0).unwrap_or(length)))
    })
}

/// The path of an open file, as far as there is room for it; empty without `/proc`.
fn path_of(descriptor: c_int, path: &mut [u8; NAME_BYTES]) -> &[u8] {
    if descriptor < 0 {
        return b"";
    }
    let mut link = *b"/proc/self/fd/0000000000\0";
    let digits = b"/proc/self/fd/".len();
    let mut rest = descriptor.unsigned_abs();
    for place in link[digits..digits + 10].iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // The kernel takes no number with zeros before it.
    let zeros = link[digits..digits + 9].iter().take_while(|&&byte| byte == b'0').count();
    link.copy_within(digits + zeros.., digits);
    // SAFETY: a path on this stack that ends with a zero, and at most as many bytes as there are.
    let length = unsafe { libc::syscall(libc::SYS_readlink, link.as_ptr(), path.as_mut_ptr(), path.len()) };
    path.get(..usize::try_from(length).unwrap_or(0)).unwrap_or_default()
}

/// A path as the kernel takes it; None where it is too long.
pub fn terminated<const BYTES: usize>(path: &[u8]) -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    bytes.get_mut(..path.len())?.copy_from_slice(path);
    (path.len() < BYTES).then_some(bytes)
}

/// Whether this process may read the file, for all that is known: what it lacks itself (descriptors, memory) the next program has.
pub fn is_readable(path: &[u8]) -> bool {
    let is_short = || matches!(errno::get(), libc::EMFILE | libc::ENFILE | libc::ENOMEM);
    terminated::<PATH_BYTES>(path).is_none_or(|path| Open::file(&path).is_some() || is_short())
}

/// A file that is open while it is looked at.
struct Open(c_int);

impl Open {
    /// `path` ends with a zero. It never waits, so that a pipe in its place does no harm.
    fn file(path: &[u8]) -> Option<Open> {
        Open::with(path, libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY)
    }

    /// The same of a file whose bytes are not to be read.
    fn unread(path: &[u8]) -> Option<Open> {
        Open::with(path, libc::O_PATH | libc::O_CLOEXEC)
    }

    fn with(path: &[u8], flags: c_int) -> Option<Open> {
        // SAFETY: a path on this stack.
        let descriptor = unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags) };
        c_int::try_from(descriptor).ok().filter(|&descriptor| descriptor >= 0).map(Open)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: opened here.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}

fn read<const BYTES: usize>(descriptor: c_int, offset: u64) -> Option<([u8; BYTES], usize)> {
    let mut bytes = [0; BYTES];
    // SAFETY: the kernel writes at most as many bytes as there are.
    let length = unsafe { libc::syscall(libc::SYS_pread64, descriptor, bytes.as_mut_ptr(), BYTES, offset) };
    Some((bytes, usize::try_from(length).ok()?))
}

#[cfg(test)]
mod tests {
    use super::{NAME_BYTES, path_of};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_descriptor_has_a_path() {
        let file = std::fs::File::open("/proc/self/exe").expect("this program");
        let expected = std::env::current_exe().expect("its path");
        let expected = expected.to_str().expect("text").as_bytes();
        let mut path = [0; NAME_BYTES];
        assert_eq!(path_of(file.as_raw_fd(), &mut path), &expected[..expected.len().min(NAME_BYTES)]);
        assert_eq!(path_of(-1, &mut [0; NAME_BYTES]), b"");
    }
}
