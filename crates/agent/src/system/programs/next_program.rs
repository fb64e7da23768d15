//! The environment of the program that is about to run in this process or in a child: with genba's libraries where they fit it, also if this program left
//! them out; without them where they do not. Another libc ends a program that it cannot load them into, and a loader that cannot open them writes a
//! line to stderr.
//! Owns: that environment, and the count of programs that cannot be followed. Never: takes the program's memory, locks or waits: a vfork child runs it in
//! its parent's memory (room.rs). An environment that is empty stays so.

use crate::system::errno;
use crate::system::programs::executable;
use crate::system::programs::handed::{self, Handed};
use crate::system::programs::room;
use crate::system::programs::words::{PRELOAD, SESSION, first_of, is_own, items, words};
use genba_bells::programs::{Programs, Reason};
use std::ffi::c_int;

pub use crate::system::programs::executable::Program;
pub use crate::system::programs::words::{Words, own_environment};

/// `start` gets the environment that fits `program`; `errno` is that of `start`, which says by 0 that there is a child, and otherwise that there is none.
///
/// # Safety
/// As `execve` or `posix_spawn`: what is named is valid, or null.
pub unsafe fn in_environment(program: Program, given: Words, start: impl FnOnce(Words) -> c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { in_environment_of(handed::handed(), handed::programs(), program, given, start) }
}

/// # Safety
/// As above.
unsafe fn in_environment_of(
    handed: Option<&Handed>,
    programs: Option<&Programs>,
    program: Program,
    given: Words,
    start: impl FnOnce(Words) -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let found = unsafe { Found::in_words(given) };
    let libraries = found.preload.filter(|_| found.has_libraries).or_else(|| {
        let handed = handed.filter(|_| !found.is_empty)?;
        Some(&handed.preload.as_bytes()[PRELOAD.len()..])
    });
    let Some(libraries) = libraries else { return start(given) };
    let before = errno::get();
    // SAFETY: the caller's promise.
    let mut seen = unsafe { executable::look(program) };
    if seen.reason.is_none() && !items(libraries).filter(|path| is_own(path)).all(executable::is_readable) {
        seen.reason = Some(Reason::OutOfReach);
    }
    let counted = programs.zip(seen.reason);
    if let Some((programs, reason)) = counted {
        programs.add(reason, seen.name());
    }
    errno::set(before);
    let result = match seen.reason {
        Some(Reason::Setuid) => start(given),
        // What that one starts may be another matter.
        None | Some(Reason::Static) => match handed.filter(|_| !found.has_libraries || !found.has_session) {
            // SAFETY: the caller's promise.
            Some(handed) => unsafe { with(handed, &found, given, start) },
            None => start(given),
        },
        // SAFETY: the caller's promise.
        Some(_) if found.has_libraries || found.has_session => unsafe { without(&found, given, start) },
        Some(_) => start(given),
    };
    if let Some((programs, reason)) = counted.filter(|_| result != 0) {
        programs.take_back(reason, seen.name());
    }
    result
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
    let is_missing = unsafe { libc::syscall(libc::SYS_faccessat, libc::AT_FDCWD, path, libc::F_OK) } != 0
        && matches!(errno::get(), libc::ENOENT | libc::ENOTDIR);
    errno::set(before);
    !is_missing
}

/// What of genba's is in an environment.
struct Found<'a> {
    is_empty: bool,
    words: usize,
    /// The value of LD_PRELOAD.
    preload: Option<&'a [u8]>,
    has_libraries: bool,
    has_session: bool,
}

impl<'a> Found<'a> {
    /// # Safety
    /// As above.
    unsafe fn in_words(environment: Words) -> Found<'a> {
        let mut found = Found { is_empty: true, words: 0, preload: None, has_libraries: false, has_session: false };
        // SAFETY: the caller's promise.
        for word in unsafe { words(environment) } {
            found.is_empty = false;
            found.words += 1;
            found.has_session |= word.starts_with(SESSION);
            if let Some(value) = word.strip_prefix(PRELOAD) {
                found.has_libraries |= items(value).any(is_own);
                found.preload = Some(value);
            }
        }
        found
    }
}

/// Genba's two, and the null pointer.
const WORDS_MORE: usize = 3;

/// # Safety
/// As above.
unsafe fn with(handed: &Handed, found: &Found, given: Words, start: impl FnOnce(Words) -> c_int) -> c_int {
    let own = handed.preload.as_bytes();
    let list_bytes = own.len() + found.preload.map_or(0, |others| others.len() + 2) + 1;
    room::with(found.words + WORDS_MORE, list_bytes, |room| {
        let made = room.and_then(|room| {
            if !found.has_libraries {
                let (first, others) = first_of(found.preload.unwrap_or_default());
                room.append(PRELOAD)?;
                if !first.is_empty() {
                    room.append(first)?;
                    room.append(b":")?;
                }
                room.append(&own[PRELOAD.len()..])?;
                if !others.is_empty() {
                    room.append(b":")?;
                    room.append(others)?;
                }
                room.push_list()?;
            }
            if !found.has_session {
                room.push(handed.session.as_ptr())?;
            }
            // SAFETY: the caller's promise.
            for word in unsafe { words(given) } {
                if found.has_libraries || !word.starts_with(PRELOAD) {
                    room.push(word.as_ptr().cast())?;
                }
            }
            Some(room.environment())
        });
        start(made.unwrap_or(given))
    })
}

/// # Safety
/// As above.
unsafe fn without(found: &Found, given: Words, start: impl FnOnce(Words) -> c_int) -> c_int {
    let list_bytes = found.preload.map_or(0, |list| PRELOAD.len() + list.len() + 1) + 1;
    room::with(found.words + WORDS_MORE, list_bytes, |room| {
        let made = room.and_then(|room| {
            // SAFETY: the caller's promise.
            for word in unsafe { words(given) } {
                let Some(list) = word.strip_prefix(PRELOAD) else {
                    if !word.starts_with(SESSION) {
                        room.push(word.as_ptr().cast())?;
                    }
                    continue;
                };
                room.clear_list();
                for item in items(list).filter(|item| !is_own(item)) {
                    room.append(if room.is_list_empty() { PRELOAD } else { b":" })?;
                    room.append(item)?;
                }
                if !room.is_list_empty() {
                    room.push_list()?;
                }
            }
            Some(room.environment())
        });
        start(made.unwrap_or(given))
    })
}

#[cfg(test)]
mod tests {
    use super::{Handed, Program, Words, in_environment_of, items};
    use crate::system::programs::words::base_name;
    use genba_bells::programs::{Programs, Reason};
    use std::cell::RefCell;
    use std::ffi::{CString, c_int};
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

    /// What a program is given of `environment`, where `handed` is handed on, and what is counted.
    fn given_with(
        handed: Option<&Handed>,
        program: Program,
        environment: &[&str],
        result: c_int,
    ) -> (Vec<String>, Vec<(String, Reason)>) {
        let kept: Vec<CString> = environment.iter().map(|word| CString::new(*word).expect("no zero")).collect();
        let mut pointers: Vec<_> = kept.iter().map(|word| word.as_ptr()).collect();
        pointers.push(core::ptr::null());
        let (given, programs) = (RefCell::new(Vec::new()), Programs::new());
        let read = |words: Words| {
            // SAFETY: either the words above, or those made of them; a null pointer ends both.
            let words = unsafe { super::words(words) };
            given.replace(words.map(|word| String::from_utf8_lossy(word).into_owned()).collect());
            result
        };
        // SAFETY: all lives as long as the call.
        let said = unsafe { in_environment_of(handed, Some(&programs), program, pointers.as_ptr(), read) };
        assert_eq!(said, result);
        let name = |name: &[u8]| String::from_utf8_lossy(base_name(name)).into_owned();
        let counted = programs.started().0.iter().map(|started| (name(&started.name), started.reason)).collect();
        (given.into_inner(), counted)
    }

    fn given(program: Program, environment: &[&str]) -> Vec<String> {
        given_with(None, program, environment, 0).0
    }

    fn path_of(path: &Path) -> CString {
        CString::new(path.to_str().expect("text")).expect("no zero")
    }

    /// Why a program does not get the environment that it was to get, if it does not.
    fn refused(path: &Path) -> Option<(String, Reason)> {
        let library = made("genba-agent-1.so", b"");
        let preload = format!("LD_PRELOAD={}:/l/a.so", library.display());
        let path = path_of(path);
        let all = ["A=1", &preload, "GENBA_SESSION=x", "B=2"];
        let (given, counted) = given_with(None, Program::Path(path.as_ptr()), &all, 0);
        let is_static = counted.first().is_some_and(|(_, reason)| *reason == Reason::Static);
        if counted.is_empty() || is_static {
            assert_eq!(given, all);
        } else {
            assert_eq!(given, ["A=1", "LD_PRELOAD=/l/a.so", "B=2"]);
        }
        assert!(given_with(None, Program::Path(path.as_ptr()), &all, -1).1.is_empty(), "it was not started");
        counted.into_iter().next()
    }

    fn is_given_all(path: &Path) -> bool {
        refused(path).is_none()
    }

    #[test]
    fn programs_of_this_libc_and_scripts_that_they_interpret() {
        let glibc = elf("glibc", 2, 62, Some("/lib64/ld-linux-x86-64.so.2"));
        assert!(is_given_all(&glibc));
        assert_eq!(refused(&elf("static", 2, 62, None)), Some(("static".to_owned(), Reason::Static)));
        assert!(is_given_all(&elf("ld-linux-x86-64.so.2", 2, 62, None)), "the loader loads");
        assert!(is_given_all(&made("script", format!("#! {} -x\n", glibc.display()).as_bytes())));
        assert!(is_given_all(&made("text", b"echo")));
        assert!(is_given_all(Path::new("/nowhere")));
    }

    #[test]
    fn programs_that_cannot_load_the_agent() {
        let musl = elf("musl", 2, 62, Some("/lib/ld-musl-x86_64.so.1"));
        let of = |path: &Path| refused(path).map(|(name, reason)| format!("{name} {reason:?}")).unwrap_or_default();
        assert_eq!(of(&musl), "musl Musl");
        assert_eq!(of(&elf("small", 1, 3, Some("/lib/ld-linux.so.2"))), "small Bits32");
        assert_eq!(of(&elf("arm", 2, 183, Some("/lib/ld-linux-aarch64.so.1"))), "arm OtherMachine");
        assert_eq!(of(&elf("bionic", 2, 62, Some("/system/bin/linker64"))), "bionic OtherLoader");
        let script = made("of-musl", format!("#!{}\n", musl.display()).as_bytes());
        assert_eq!(of(&made("of-script", format!("#!\t{}", script.display()).as_bytes())), "musl Musl");
    }

    #[test]
    fn what_a_program_left_out_is_handed_on() {
        let library = made("genba-agent-4.so", b"");
        let list = [library.display().to_string(), "/l/a.so".to_owned()];
        let handed = Handed::new(list.into_iter(), "x").expect("a library");
        let own = format!("LD_PRELOAD={}", library.display());
        let glibc = path_of(&elf("glibc-2", 2, 62, Some("/lib64/ld-linux-x86-64.so.2")));
        let given = |words: &[&str]| given_with(Some(&handed), Program::Path(glibc.as_ptr()), words, 0).0;
        assert_eq!(given(&["A=1"]), [&own, "GENBA_SESSION=x", "A=1"]);
        let others = format!("{own}:/l/jemalloc.so /l/b.so");
        let replaced = ["LD_PRELOAD=/l/jemalloc.so /l/b.so", "GENBA_SESSION=y"];
        assert_eq!(given(&replaced), [&others, "GENBA_SESSION=y"]);
        let second = format!("LD_PRELOAD=/libasan.so.8:{}:/b.so c.so", library.display());
        assert_eq!(given(&["LD_PRELOAD=/libasan.so.8 /b.so c.so", "GENBA_SESSION=y"]), [&second, "GENBA_SESSION=y"]);
        let last = format!("LD_PRELOAD=/libasan.so.8:{}", library.display());
        assert_eq!(given(&["LD_PRELOAD=/libasan.so.8", "GENBA_SESSION=y"]), [&last, "GENBA_SESSION=y"]);
        assert_eq!(given(&["LD_PRELOAD=", "A=1"]), [&own, "GENBA_SESSION=x", "A=1"]);
        assert_eq!(given(&[&own]), ["GENBA_SESSION=x", &own]);
        assert_eq!(given(&[&own, "GENBA_SESSION=y"]), [&own, "GENBA_SESSION=y"]);
        assert_eq!(given(&[]), [""; 0], "it is to have none");
        let many: Vec<String> = (0..5000).map(|number| format!("A{number}=1")).collect();
        let mut many: Vec<&str> = many.iter().map(String::as_str).collect();
        let (own, session) = (own.as_str(), "GENBA_SESSION=x");
        assert_eq!(given(&many), [&[own, session], &many[..]].concat());
        let musl = path_of(&elf("musl-2", 2, 62, Some("/lib/ld-musl-x86_64.so.1")));
        let (given, counted) = given_with(Some(&handed), Program::Path(musl.as_ptr()), &["A=1"], 0);
        assert_eq!((given, counted), (vec!["A=1".to_owned()], vec![("musl-2".to_owned(), Reason::Musl)]));
        many.extend([own, session]);
        let (given, _) = given_with(Some(&handed), Program::Path(musl.as_ptr()), &many, 0);
        assert_eq!(given, many[..5000]);
        assert!(Handed::new(std::iter::once("/l/a.so".to_owned()), "x").is_none());
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
        assert_eq!(given_of(&[&long]), [format!("LD_PRELOAD={}", "/l".repeat(4000))], "longer than a path");
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
    fn a_setuid_program_that_only_root_may_read() {
        /// By its number: it is none of the system calls that genba makes in a program.
        const SETRESUID: libc::c_long = 117;
        // SAFETY: asks.
        if unsafe { libc::geteuid() } != 0 {
            return;
        }
        let path = elf("unread", 2, 62, Some("/lib64/ld-linux-x86-64.so.2"));
        let name = path_of(&path);
        let seen = [0o4755, 0o4111].map(|mode| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode");
            // SAFETY: a child that only looks and ends, as another user.
            unsafe {
                let pid = libc::fork();
                if pid == 0 {
                    libc::syscall(SETRESUID, 65534, 65534, 65534);
                    let reason = super::executable::look(Program::Path(name.as_ptr())).reason;
                    libc::_exit(i32::from(reason == Some(Reason::Setuid)));
                }
                let mut status = 0;
                libc::waitpid(pid, &raw mut status, 0);
                status
            }
        });
        // Where the folder is mounted nosuid, neither is one.
        assert_eq!(seen[0], seen[1]);
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
