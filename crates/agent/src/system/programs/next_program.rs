//! The program that is about to run in this process or in a child: whether the libraries that genba preloads fit it, and its environment without
//! them where they do not. Another libc ends a program that it cannot load them into, and a loader that cannot open them writes a line to stderr.
//! Owns: looking at its file (word size, machine, loader; of a script its interpreter's) and at the libraries. Never: allocates, locks or waits: a vfork
//! child runs it in its parent's memory. What cannot be looked at gets the environment that it was given.

use crate::system::errno;
use std::ffi::{CStr, c_char, c_int};

/// `NAME=VALUE` each, and a null pointer behind the last one.
pub type Words = *const *const c_char;

/// How the caller names it.
#[derive(Clone, Copy)]
pub enum Program {
    Path(*const c_char),
    /// Looked for in PATH, if no `/` is in it.
    File(*const c_char),
    Descriptor(c_int),
    /// From a folder that is not known here.
    Unseen,
}

const LOADER: &[u8] = b"ld-linux-x86-64.so.2";
/// As `genba run` names its libraries.
const LIBRARIES: [&[u8]; 3] = [b"genba-agent-", b"genba-copies-", b"genba-allocations-"];
const PRELOAD: &[u8] = b"LD_PRELOAD=";
const SESSION: &[u8] = b"GENBA_SESSION=";
/// As libc's `execvp`, where PATH is not set.
const PATH_UNSET: &[u8] = b"/bin:/usr/bin";
/// Longer environments, lists and paths are left alone.
const WORDS_MAX: usize = 1024;
const PATH_BYTES: usize = 4096;
/// As the kernel's own bound on scripts that scripts interpret.
const SCRIPTS_MAX: usize = 5;
/// As much of a script's first line as the kernel reads.
const LINE_BYTES: usize = 256;
const HEADERS_MAX: u64 = 64;

unsafe extern "C" {
    static environ: Words;
}

/// This process's own, for calls that name none.
#[must_use]
pub fn own_environment() -> Words {
    // SAFETY: libc's pointer. Reading it beside a thread that calls `setenv` is what `execv` does itself.
    unsafe { environ }
}

/// `start` gets the environment that fits `program`; `errno` is that of `start`.
///
/// # Safety
/// As `execve` or `posix_spawn`: what is named is valid, or null.
pub unsafe fn in_environment<T>(program: Program, given: Words, start: impl FnOnce(Words) -> T) -> T {
    let before = errno::get();
    // SAFETY: the caller's promise.
    let is_fit = unsafe { preloads(given) }.is_none_or(|preloads| is_readable(preloads) && unsafe { fits(program) });
    errno::set(before);
    // SAFETY: as above.
    if is_fit { start(given) } else { unsafe { without(given, start) } }
}

/// False: there is no such file. Who looks for a program along PATH himself asks for many that are not there. `errno` stays.
///
/// # Safety
/// As above.
#[must_use]
pub unsafe fn is_there(program: Program) -> bool {
    let Program::Path(path) = program else { return true };
    let before = errno::get();
    // SAFETY: the caller's promise; the kernel judges any address.
    let is_missing = unsafe { libc::syscall(libc::SYS_access, path, libc::F_OK) } != 0
        && matches!(errno::get(), libc::ENOENT | libc::ENOTDIR);
    errno::set(before);
    !is_missing
}

/// The value of LD_PRELOAD, if libraries of genba's are in it.
///
/// # Safety
/// As above.
unsafe fn preloads<'a>(environment: Words) -> Option<&'a [u8]> {
    // SAFETY: the caller's promise.
    let mut words = unsafe { words(environment) };
    let value = words.find_map(|word| word.strip_prefix(PRELOAD))?;
    items(value).any(is_own).then_some(value)
}

/// # Safety
/// As above.
unsafe fn words<'a>(environment: Words) -> impl Iterator<Item = &'a [u8]> {
    let is_there = !environment.is_null();
    (0..).take_while(move |_| is_there).map_while(move |position| {
        // SAFETY: the caller's promise; the null pointer behind the last one ends it.
        unsafe {
            let word = *environment.add(position);
            (!word.is_null()).then(|| CStr::from_ptr(word).to_bytes())
        }
    })
}

fn items(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|&byte| byte == b':' || byte == b' ').filter(|item| !item.is_empty())
}

fn is_own(path: &[u8]) -> bool {
    LIBRARIES.iter().any(|name| base_name(path).starts_with(name))
}

fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// As the loader of the next program will see it, which may run as another user by now. What this process lacks (descriptors, memory) the next one has.
fn is_readable(preloads: &[u8]) -> bool {
    let is_short = || matches!(errno::get(), libc::EMFILE | libc::ENFILE | libc::ENOMEM);
    items(preloads)
        .filter(|path| is_own(path))
        .all(|path| terminated::<PATH_BYTES>(path).is_none_or(|path| Open::file(&path).is_some() || is_short()))
}

/// A path as the kernel takes it; None where it is too long.
fn terminated<const BYTES: usize>(path: &[u8]) -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    bytes.get_mut(..path.len())?.copy_from_slice(path);
    (path.len() < BYTES).then_some(bytes)
}

/// A file that is open while it is looked at.
struct Open(c_int);

impl Open {
    /// `path` ends with a zero. It never waits, so that a pipe in its place does no harm.
    fn file(path: &[u8]) -> Option<Open> {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
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

/// # Safety
/// As above.
unsafe fn fits(program: Program) -> bool {
    // SAFETY: the caller's promise.
    let named = |name: *const c_char| (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_bytes_with_nul());
    match program {
        Program::Unseen => true,
        Program::Descriptor(descriptor) => is_fit(descriptor, 0),
        Program::Path(path) => named(path).is_none_or(path_fits),
        Program::File(file) => named(file).is_none_or(|file| {
            if file.contains(&b'/') {
                return path_fits(file);
            }
            // SAFETY: as `own_environment`.
            let path = unsafe { words(own_environment()) }.find_map(|word| word.strip_prefix(b"PATH="));
            path.unwrap_or(PATH_UNSET)
                .split(|&byte| byte == b':')
                .find_map(|folder| in_folder(folder, file))
                .is_none_or(|path| path_fits(&path))
        }),
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

fn path_fits(path: &[u8]) -> bool {
    Open::file(path).is_none_or(|file| is_fit(file.0, 0))
}

fn is_fit(descriptor: c_int, scripts: usize) -> bool {
    let Some((head, length)) = read::<LINE_BYTES>(descriptor, 0) else { return true };
    let head = &head[..length];
    if let Some(line) = head.strip_prefix(b"#!") {
        let Some(interpreter) = interpreter_of(line).and_then(terminated::<LINE_BYTES>) else { return true };
        return scripts == SCRIPTS_MAX || Open::file(&interpreter).is_none_or(|file| is_fit(file.0, scripts + 1));
    }
    if !head.starts_with(b"\x7fELF") || length < 64 {
        return true;
    }
    let (is_64_bit, machine) = (head[4] == 2, u16::from_le_bytes([head[18], head[19]]));
    // Without a loader nothing is loaded.
    is_64_bit
        && machine == 62
        && loader_of(descriptor, head).is_none_or(|(name, length)| base_name(&name[..length]) == LOADER)
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

/// # Safety
/// As above.
#[inline(never)]
unsafe fn without<T>(given: Words, start: impl FnOnce(Words) -> T) -> T {
    let mut kept = [core::ptr::null::<c_char>(); WORDS_MAX];
    let mut rest = [0_u8; PATH_BYTES];
    let mut count = 0;
    // SAFETY: the caller's promise.
    for word in unsafe { words(given) } {
        let mut pointer = word.as_ptr().cast();
        if word.starts_with(SESSION) {
            continue;
        }
        if let Some(value) = word.strip_prefix(PRELOAD) {
            let mut length = PRELOAD.len();
            rest[..length].copy_from_slice(PRELOAD);
            for item in items(value).filter(|item| !is_own(item)) {
                let Some(room) = rest.get_mut(length..length + item.len() + 1) else { return start(given) };
                room[..item.len()].copy_from_slice(item);
                room[item.len()] = b':';
                length += item.len() + 1;
            }
            if length == PRELOAD.len() {
                continue;
            }
            rest[length - 1] = 0;
            pointer = rest.as_ptr().cast();
        }
        // The last place is the null pointer's.
        if count + 1 == WORDS_MAX {
            return start(given);
        }
        kept[count] = pointer;
        count += 1;
    }
    start(kept.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::{Program, Words, in_environment, items};
    use std::ffi::CString;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    /// A file that can be executed, with these bytes.
    fn made(name: &str, bytes: &[u8]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("genba-next-program-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let path = folder.join(name);
        fs::write(&path, bytes).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
        path
    }

    /// An ELF file with one program header, that of its loader.
    fn elf(name: &str, class: u8, machine: u16, loader: Option<&str>) -> PathBuf {
        let mut bytes = vec![0_u8; 64];
        bytes[..5].copy_from_slice(&[0x7f, b'E', b'L', b'F', class]);
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32] = 64;
        bytes[54] = 56;
        if let Some(loader) = loader {
            bytes[56] = 1;
            let mut header = [0_u8; 56];
            header[0] = 3;
            header[8] = 120;
            header[32] = loader.len() as u8 + 1;
            bytes.extend(header);
            bytes.extend(loader.as_bytes());
            bytes.push(0);
        }
        made(name, &bytes)
    }

    /// What a program is given of `environment`.
    fn given(program: Program, environment: &[&str]) -> Vec<String> {
        let kept: Vec<CString> = environment.iter().map(|word| CString::new(*word).expect("no zero")).collect();
        let mut pointers: Vec<_> = kept.iter().map(|word| word.as_ptr()).collect();
        pointers.push(core::ptr::null());
        let read = |words: Words| {
            // SAFETY: either the words above, or those made of them; a null pointer ends both.
            let words = unsafe { super::words(words) };
            words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
        };
        // SAFETY: all lives as long as the call.
        unsafe { in_environment(program, pointers.as_ptr(), read) }
    }

    fn is_given_all(path: &Path) -> bool {
        let library = made("genba-agent-1.so", b"");
        let preload = format!("LD_PRELOAD={}:/l/a.so", library.display());
        let path = CString::new(path.to_str().expect("text")).expect("no zero");
        let all = ["A=1", &preload, "GENBA_SESSION=x", "B=2"];
        let given = given(Program::Path(path.as_ptr()), &all);
        assert!(given == all || given == ["A=1", "LD_PRELOAD=/l/a.so", "B=2"], "{given:?}");
        given == all
    }

    #[test]
    fn programs_of_this_libc_and_scripts_that_they_interpret() {
        let glibc = elf("glibc", 2, 62, Some("/lib64/ld-linux-x86-64.so.2"));
        assert!(is_given_all(&glibc));
        assert!(is_given_all(&elf("static", 2, 62, None)));
        assert!(is_given_all(&made("script", format!("#! {} -x\n", glibc.display()).as_bytes())));
        assert!(is_given_all(&made("text", b"echo")));
        assert!(is_given_all(Path::new("/nowhere")));
    }

    #[test]
    fn programs_that_cannot_load_the_agent() {
        let musl = elf("musl", 2, 62, Some("/lib/ld-musl-x86_64.so.1"));
        assert!(!is_given_all(&musl));
        assert!(!is_given_all(&elf("small", 1, 3, Some("/lib/ld-linux.so.2"))));
        assert!(!is_given_all(&elf("arm", 2, 183, Some("/lib/ld-linux-aarch64.so.1"))));
        let script = made("of-musl", format!("#!{}\n", musl.display()).as_bytes());
        assert!(!is_given_all(&made("of-script", format!("#!\t{}", script.display()).as_bytes())));
    }

    #[test]
    fn a_script_that_interprets_itself_ends() {
        let path = std::env::temp_dir().join(format!("genba-next-program-{}/itself", std::process::id()));
        assert!(is_given_all(&made("itself", format!("#!{}\n", path.display()).as_bytes())));
    }

    #[test]
    fn libraries_that_are_out_of_reach() {
        let glibc = elf("reaches", 2, 62, Some("/lib64/ld-linux-x86-64.so.2"));
        let path = CString::new(glibc.to_str().expect("text")).expect("no zero");
        let given_of = |environment: &[&str]| given(Program::Path(path.as_ptr()), environment);
        assert_eq!(given_of(&["LD_PRELOAD=/nowhere/genba-agent-1.so", "GENBA_SESSION=x"]), [""; 0]);
        let too_long = format!("LD_PRELOAD=/{}/genba-agent-1.so", "l".repeat(300));
        assert_eq!(given_of(&[&too_long, "GENBA_SESSION=x"]), [""; 0], "no file system has such a name");
        assert_eq!(given_of(&["LD_PRELOAD=/nowhere/other.so"]), ["LD_PRELOAD=/nowhere/other.so"], "not genba's");
        assert_eq!(given_of(&[]), [""; 0]);
        let long = format!("LD_PRELOAD=/nowhere/genba-agent-1.so:{}", "/l".repeat(4000));
        assert_eq!(given_of(&[&long]), [long], "longer than the room for it");
    }

    #[test]
    fn a_process_without_a_free_descriptor_gives_all() {
        let library = made("genba-agent-3.so", b"");
        let preload = format!("LD_PRELOAD={}", library.display());
        // SAFETY: a child that only looks and ends; the limit is its own.
        let status = unsafe {
            let pid = libc::fork();
            if pid == 0 {
                let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::setrlimit(libc::RLIMIT_NOFILE, &raw const none);
                let is_all = given(Program::Path(c"/bin/sh".as_ptr()), &[&preload]) == [preload.as_str()];
                libc::_exit(i32::from(!is_all));
            }
            let mut status = 0;
            libc::waitpid(pid, &raw mut status, 0);
            status
        };
        assert_eq!(status, 0);
    }

    #[test]
    fn a_program_is_found_as_execvp_finds_it() {
        let library = made("genba-agent-2.so", b"");
        let preload = format!("LD_PRELOAD={}", library.display());
        // The shell is somewhere in PATH, and of this libc.
        for name in [c"sh", c"no-such-program"] {
            assert_eq!(given(Program::File(name.as_ptr()), &[&preload]), [preload.as_str()]);
        }
    }

    #[test]
    fn items_of_a_list() {
        assert_eq!(items(b"/a.so: b.so::c.so").collect::<Vec<_>>(), [&b"/a.so"[..], b"b.so", b"c.so"]);
    }
}
