//! Whether the program can be recorded, judged before it starts, from facts about its files (executable.rs).
//! Owns: the refusals by name (PyPy, versions, builds, musl, static, 32-bit, other machines, setuid) and their hints.
//! Never: refuses what cannot be known before the start (launchers), runs a program to find out.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use genba_profile::shell;
use object::elf;

use super::executable::{Elf, Executable};
use super::target::{Kind, Program};
use crate::files::interpreter::find_on_path;
use crate::words::failure::Failure;

const MINOR_MIN: u32 = 11;
const MINOR_MAX: u32 = 15;
const KNOWN: &str = "CPython 3.11 to 3.15";

/// What is known of a program that was not refused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// A CPython that genba knows.
    Python,
    /// A launcher, or no Python at all: its own end will tell.
    Nothing,
}

/// Refuses a program that cannot be recorded; `Ok` for what can, or may.
pub fn check(program: &Program) -> Result<Known, Failure> {
    let executable = Executable::follow(&program.path, &find_on_path);
    let advice = Advice { program };
    let real = executable.way.iter().filter_map(|path| path.canonicalize().ok());
    if let Some(other) = executable.way.iter().cloned().chain(real).find_map(|path| other_implementation(&path)) {
        return Err(Failure::no(format!("cannot record {}: it is {other}", program.path.display()))
            .detail(format!("genba knows {KNOWN}"))
            .hint(advice.known_interpreter()));
    }
    let Some(elf) = executable.elf() else {
        if program.kind == Kind::Interpreter && executable.scripts == 0 {
            return Err(Failure::no(format!("cannot start {}: it is not a program", program.path.display()))
                .detail("expected an ELF file or a script that begins with #!")
                .hint(advice.known_interpreter()));
        }
        return Ok(Known::Nothing);
    };
    check_loading(&executable, elf, &advice)?;
    match python_found(&executable, elf) {
        Some(python) => check_python(&executable, &python, &advice).map(|()| Known::Python),
        None if program.kind == Kind::Interpreter && executable.scripts == 0 => {
            Err(Failure::no(format!("cannot record {}: it is not Python", executable.path().display()))
                .detail("it neither is CPython nor needs its library, libpython")
                .hint(advice.known_interpreter()))
        }
        None => Ok(Known::Nothing),
    }
}

/// The CPython that a program's file leads to by its symlinks and `#!` lines. None: a launcher, or a program with a Python within.
pub fn behind(program: &Program) -> Option<PathBuf> {
    let executable = Executable::follow(&program.path, &find_on_path);
    let is_named_so = executable.names().any(|name| name.as_bytes().starts_with(b"python"));
    let is_python = executable.elf().is_some_and(|elf| python_found(&executable, elf).is_some());
    (is_named_so && is_python).then(|| executable.path().to_owned())
}

/// PyPy and GraalPy, by the names of the files on the way.
fn other_implementation(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    [("pypy", "PyPy"), ("graalpy", "GraalPy")]
        .into_iter()
        .find(|(start, _)| name.starts_with(start))
        .map(|(_, name)| name)
}

/// Whether ld.so would load the agent into this program.
fn check_loading(executable: &Executable, elf: &Elf, advice: &Advice<'_>) -> Result<(), Failure> {
    let path = executable.path().display().to_string();
    let refused = |what: &str| Failure::no(format!("cannot record {path}: {what}"));
    if !elf.is_64_bit {
        return Err(refused("it is a 32-bit program")
            .detail("genba's library is 64-bit and cannot be loaded into it")
            .hint(advice.known_interpreter()));
    }
    if elf.machine != elf::EM_X86_64 {
        return Err(refused(&format!("it is a program for another machine ({})", machine_name(elf.machine)))
            .detail("genba records programs for x86_64")
            .hint(advice.known_interpreter()));
    }
    match &elf.loader {
        Some(loader) if loader.contains("ld-musl") => {
            return Err(refused("it is built for musl")
                .detail(format!("its loader is {loader}; genba needs glibc's, ld-linux-x86-64.so.2"))
                .hint("run it in an image with glibc (python:3-slim instead of python:3-alpine)"));
        }
        None => {
            let kind = if elf.is_position_independent { "static-pie" } else { "static" };
            return Err(refused(&format!("it is a {kind} program"))
                .detail("it has no loader, so LD_PRELOAD does nothing and no library can be added")
                .hint(advice.behind_launcher()));
        }
        Some(_) => {}
    }
    let privilege = [
        (elf.is_setuid, "it is setuid"),
        (elf.is_setgid, "it is setgid"),
        (elf.has_capabilities, "it has file capabilities"),
    ];
    if let Some((_, what)) = privilege.into_iter().find(|(given, _)| *given) {
        return Err(refused(what)
            .detail("the kernel starts it with other rights, and the loader then ignores LD_PRELOAD")
            .hint(advice.behind_launcher()));
    }
    Ok(())
}

fn machine_name(machine: elf::Machine) -> String {
    match machine {
        elf::EM_AARCH64 => "aarch64".to_owned(),
        elf::EM_386 => "i386".to_owned(),
        elf::EM_ARM => "arm".to_owned(),
        elf::EM_RISCV => "riscv".to_owned(),
        elf::EM_PPC64 => "ppc64".to_owned(),
        elf::EM_S390 => "s390".to_owned(),
        other => format!("ELF machine {}", other.0),
    }
}

/// What is known of a Python before it starts.
struct Python {
    version: Option<Version>,
    build: Option<&'static str>,
    has_runtime: bool,
    is_certain: bool,
}

/// As far as the file says: a name tells no micro version.
#[derive(Clone, Copy)]
struct Version {
    major: u32,
    minor: u32,
    micro: Option<u32>,
    stage: Option<(char, u32)>,
}

impl std::fmt::Display for Version {
    fn fmt(&self, page: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(page, "{}.{}", self.major, self.minor)?;
        if let Some(micro) = self.micro {
            write!(page, ".{micro}")?;
        }
        if let Some((letter, serial)) = self.stage {
            write!(page, "{}{serial}", if letter == 'c' { "rc".to_owned() } else { letter.to_string() })?;
        }
        Ok(())
    }
}

/// `None`: nothing says that this is Python.
fn python_found(executable: &Executable, elf: &Elf) -> Option<Python> {
    let library = elf.needed.iter().find(|name| name.starts_with("libpython"));
    let names = executable.names().map(OsStr::to_string_lossy);
    let named: Vec<NamedPython> = library
        .iter()
        .filter_map(|name| named_python(name))
        .chain(names.filter_map(|name| named_python(&name)))
        .collect();
    if library.is_none() && named.is_empty() && !elf.python.has_runtime {
        return None;
    }
    let build = if elf.python.build.is_some() {
        elf.python.build
    } else if named.iter().any(|name| name.flags.contains('t')) {
        Some("free-threaded")
    } else if named.iter().any(|name| name.flags.contains('d')) {
        Some("debug")
    } else {
        None
    };
    let version = elf.python.version_hex.map(version_of_hex).or_else(|| named.iter().find_map(|name| name.version));
    let is_certain = library.is_some() || elf.python.has_runtime;
    Some(Python { version, build, has_runtime: elf.python.has_runtime, is_certain })
}

struct NamedPython {
    version: Option<Version>,
    flags: String,
}

/// `python3.13t`, `libpython3.12d.so.1.0`, `python3`, `python`; nothing else (`python-config`, `pythonista`).
fn named_python(name: &str) -> Option<NamedPython> {
    let rest = name.strip_prefix("lib").unwrap_or(name).strip_prefix("python")?;
    let rest = rest.split_once(".so").map_or(rest, |(before, _)| before);
    let number_ends = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
    let (number, flags) = rest.split_at(number_ends);
    if !flags.chars().all(|letter| "tdmu".contains(letter)) {
        return None;
    }
    let version = number.split_once('.').and_then(|(major, minor)| {
        let (major, minor) = (major.parse().ok()?, minor.parse().ok()?);
        Some(Version { major, minor, micro: None, stage: None })
    });
    Some(NamedPython { version, flags: flags.to_owned() })
}

/// Source: CPython Include/patchlevel.h, `PY_VERSION_HEX`.
fn version_of_hex(hex: u32) -> Version {
    let stage = match (hex >> 4) & 0xF {
        0xA => Some('a'),
        0xB => Some('b'),
        0xC => Some('c'),
        _ => None,
    };
    Version {
        major: hex >> 24,
        minor: (hex >> 16) & 0xFF,
        micro: Some((hex >> 8) & 0xFF),
        stage: stage.map(|letter| (letter, hex & 0xF)),
    }
}

fn check_python(executable: &Executable, python: &Python, advice: &Advice<'_>) -> Result<(), Failure> {
    let path = executable.path().display();
    let refused = || Failure::no(format!("cannot record {path}: genba has no table for this Python"));
    match python.version {
        Some(version) if version.major != 3 || !(MINOR_MIN..=MINOR_MAX).contains(&version.minor) => {
            return Err(refused()
                .detail(format!("found CPython {version}; genba knows 3.{MINOR_MIN} to 3.{MINOR_MAX}"))
                .hint(advice.known_interpreter()));
        }
        None if python.is_certain => {
            let found =
                if python.has_runtime { "a CPython older than 3.11" } else { "a Python that does not say its version" };
            return Err(refused()
                .detail(format!("found {found}; genba knows 3.{MINOR_MIN} to 3.{MINOR_MAX}"))
                .hint(advice.known_interpreter()));
        }
        Some(version) if version.stage.is_some() => {
            return Err(refused()
                .detail(format!("found CPython {version}, a pre-release; its tables are not final"))
                .hint(advice.known_interpreter()));
        }
        _ => {}
    }
    if let Some(build) = python.build {
        let version = python.version.map(|version| format!(" {version}")).unwrap_or_default();
        return Err(refused()
            .detail(format!("found a {build} build of CPython{version}; genba knows the default builds"))
            .hint(advice.known_interpreter()));
    }
    Ok(())
}

/// pyenv's installed interpreters of that name: its shims on PATH are shell scripts that may lead nowhere.
fn of_pyenv(name: &str) -> impl Iterator<Item = PathBuf> {
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let root = root.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pyenv")));
    let versions = root.and_then(|root| std::fs::read_dir(root.join("versions")).ok()).into_iter().flatten().flatten();
    versions.map(move |version| version.path().join("bin").join(name)).filter(|path| path.is_file())
}

/// Hints that name the user's own interpreter and program.
struct Advice<'a> {
    program: &'a Program,
}

impl Advice<'_> {
    /// The newest interpreter on PATH that genba knows.
    fn known_interpreter(&self) -> String {
        let known = (MINOR_MIN..=MINOR_MAX).rev().find_map(|minor| {
            let name = format!("python3.{minor}");
            let candidates = find_on_path(OsStr::new(&name)).into_iter().chain(of_pyenv(&name));
            candidates.into_iter().find(|path| self.is_known(path, minor))
        });
        match (known, self.program.kind) {
            (Some(path), Kind::Interpreter) => {
                format!("genba run --python {} {}", shell::path(&path), self.words_of_target())
            }
            (Some(path), Kind::Command) => format!("start it with {}, which genba knows", path.display()),
            (None, Kind::Interpreter) => format!("install {KNOWN} and name it with --python"),
            (None, Kind::Command) => format!("start it with {KNOWN}"),
        }
    }

    fn is_known(&self, path: &Path, minor: u32) -> bool {
        let executable = Executable::follow(path, &find_on_path);
        let Some(elf) = executable.elf() else { return false };
        let python = python_found(&executable, elf);
        check_loading(&executable, elf, self).is_ok()
            && python.is_some_and(|python| {
                python.build.is_none() && python.version.is_some_and(|version| version.minor == minor)
            })
    }

    /// For a program that starts another one: have genba on the inside.
    fn behind_launcher(&self) -> String {
        let is_python =
            self.program.path.file_name().is_some_and(|name| named_python(&name.to_string_lossy()).is_some());
        if self.program.kind == Kind::Interpreter || is_python {
            return self.known_interpreter();
        }
        if self.program.path.file_name() == Some(OsStr::new("su")) {
            return "when it starts Python, put genba into su's command: su USER -c 'genba run COMMAND'".to_owned();
        }
        if self.program.path.file_name().is_some_and(|name| name == "gosu" || name == "su-exec") {
            // The user comes first.
            let words = self.words_of_target();
            let (user, command) = words.split_once(' ').unwrap_or(("USER", "COMMAND"));
            return format!("put genba behind the user: {} {user} genba run {command}", self.program.name.display());
        }
        let plain = self.program.arguments.first().is_some_and(|word| !word.as_bytes().starts_with(b"-"));
        let behind = if plain { self.words_of_target() } else { "…".to_owned() };
        let name = self.program.name.display();
        format!("when it starts Python, put genba behind it: {name} genba run {behind}")
    }

    fn words_of_target(&self) -> String {
        let words: Vec<String> =
            self.program.arguments.iter().map(|word| shell::word(&word.to_string_lossy())).collect();
        words.join(" ")
    }
}
