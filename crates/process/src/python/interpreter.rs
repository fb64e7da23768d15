//! The CPython in a process.
//! Owns: in which of its files it is looked for, and the refusals that follow. Never: guesses where a struct lies (crates/python).

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use genba_python::find::{self, Found, Python};
use genba_python::memory::{Address, Memory};
use genba_python::symbols::Symbols;

use crate::elf::files::{self, Loaded, Mapped, Unopened};
use crate::elf::symbols::RemoteSymbols;
use crate::kernel::core_file::CoreFile;
use crate::kernel::facts::Facts;
use crate::kernel::identity::Identity;
use crate::kernel::maps::{self, Mapping};
use crate::kernel::memory::Remote;
use crate::kernel::refusal::Refusal;
use crate::kernel::rights;

/// A process whose Python genba knows.
pub struct Interpreter {
    pub facts: Facts,
    /// Of the program that all the rest is about. Nothing in a core file.
    pub identity: Identity,
    pub python: Box<Python>,
    /// `3.13.1`.
    pub version: String,
    /// The file that defines `_PyRuntime`.
    pub file: PathBuf,
    pub memory: Remote,
    /// Those of that file.
    pub symbols: RemoteSymbols,
    pub maps: Vec<Mapping>,
    /// `None`: a living process.
    pub core: Option<Arc<CoreFile>>,
}

/// Which files are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// The executable, and files with a name like Python's: what `genba ps` has time for.
    Likely,
    All,
}

/// Finds the interpreter of a process.
///
/// # Errors
/// Each `Refusal` but `Traced`: that it is traced does not keep its memory from being read.
pub fn find(pid: u32) -> Result<Interpreter, Refusal> {
    find_in(Facts::of(pid)?, Search::All)
}

/// The same of a process whose facts are known.
///
/// # Errors
/// As `find`.
pub fn find_in(facts: Facts, search: Search) -> Result<Interpreter, Refusal> {
    rights::check(&facts)?;
    let pid = facts.pid;
    // What is missing then says nothing about its Python.
    find_there(facts, search).map_err(|refusal| if maps::has_any(pid) { refusal } else { Refusal::Ended { pid } })
}

fn find_there(facts: Facts, search: Search) -> Result<Interpreter, Refusal> {
    let pid = facts.pid;
    // Before anything is read of it.
    let identity = Identity::of(pid);
    let program = facts.executable.clone().unwrap_or_else(|| PathBuf::from(&facts.name));
    if let Some(machine) = files::machine_of(Path::new(&format!("/proc/{pid}/exe"))) {
        return Err(Refusal::OtherMachine { pid, program, machine });
    }
    let maps = maps::read(pid)?;
    let memory = Remote::new(pid);
    let mapped = files::mapped(&maps);
    let Some(file) = runtime_file(&facts, &memory, &mapped, search)? else {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Err(match name.starts_with("python") {
            true => Refusal::NoSymbols { pid, program },
            false => Refusal::NotPython { pid, program },
        });
    };
    let path = file.path.clone();
    let symbols = RemoteSymbols { files: vec![file] };
    let found = find::find(&memory, &symbols);
    memory.forget();
    match found {
        Found::No => Err(Refusal::NotPython { pid, program }),
        Found::Refused { version, reason } => Err(Refusal::UnknownVersion { pid, program: path, version, reason }),
        Found::Yes { version, .. } if mapped.iter().any(|mapped| mapped.file_name().starts_with("ld-musl-")) => {
            Err(Refusal::Musl { pid, program: path, version })
        }
        Found::Yes { python, version } => {
            Ok(Interpreter { facts, identity, python, version, file: path, memory, symbols, maps, core: None })
        }
    }
}

/// What a person can send in about an interpreter, known or not.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The file that defines `_PyRuntime`.
    pub file: PathBuf,
    pub build_id: Option<Vec<u8>>,
    /// The symbols that genba looks for, and whether the file exports them.
    pub symbols: Vec<(&'static str, bool)>,
    /// `Py_Version`
    pub version: Option<u32>,
    /// The table of offsets that CPython keeps since 3.13, as it lies in memory. Empty: there is none.
    pub offsets: Vec<u8>,
}

/// What `find` looks at, without a judgement.
///
/// # Errors
/// As `find`, but for what it judges.
pub fn evidence(pid: u32) -> Result<Evidence, Refusal> {
    const OFFSETS_BYTES: u64 = 1024;
    const COOKIE: &[u8] = b"xdebugpy";
    const NAMES: [(&CStr, &str); 12] = [
        (c"_PyRuntime", "_PyRuntime"),
        (c"Py_Version", "Py_Version"),
        (c"PyCode_Type", "PyCode_Type"),
        (c"PyType_Type", "PyType_Type"),
        (c"PyUnicode_Type", "PyUnicode_Type"),
        (c"PyBytes_Type", "PyBytes_Type"),
        (c"PyDict_Type", "PyDict_Type"),
        (c"PyLong_Type", "PyLong_Type"),
        (c"PyObject_GetItem", "PyObject_GetItem"),
        (c"_PyJIT_Entry", "_PyJIT_Entry"),
        (c"_Py_RefTotal", "_Py_RefTotal"),
        (c"pypy_main_startup", "pypy_main_startup"),
    ];
    let facts = Facts::of(pid)?;
    rights::check(&facts)?;
    let (maps, memory) = (maps::read(pid)?, Remote::new(pid));
    let program = facts.executable.clone().unwrap_or_else(|| PathBuf::from(&facts.name));
    let found = runtime_file(&facts, &memory, &files::mapped(&maps), Search::All)?;
    let Some(file) = found else { return Err(Refusal::NotPython { pid, program }) };
    let (path, build_id) = (file.path.clone(), file.build_id());
    let symbols = RemoteSymbols { files: vec![file] };
    let version = symbols.address(c"Py_Version").and_then(|at| memory.word(Address(at)).ok()).map(|hex| hex as u32);
    let offsets = symbols.address(c"_PyRuntime").map(|at| memory.copy_from(at, OFFSETS_BYTES)).unwrap_or_default();
    Ok(Evidence {
        file: path,
        build_id,
        symbols: NAMES.iter().map(|(symbol, name)| (*name, symbols.address(symbol).is_some())).collect(),
        version,
        offsets: if offsets.starts_with(COOKIE) { table_of(offsets) } else { Vec::new() },
    })
}

/// Without what lies behind the table, which does not say how long it is: its words behind the name and the version are small, and those behind
/// it are addresses of the process.
fn table_of(mut offsets: Vec<u8>) -> Vec<u8> {
    const WORD_BYTES: usize = 8;
    const SMALL_MAX: u64 = u32::MAX as u64;
    let mut words = offsets.chunks_exact(WORD_BYTES).skip(2);
    let is_behind = |word: &[u8]| word.try_into().map_or(true, |word| u64::from_le_bytes(word) > SMALL_MAX);
    if let Some(at) = words.position(is_behind) {
        offsets.truncate((2 + at) * WORD_BYTES);
    }
    offsets
}

/// What a core file tells of its process.
fn facts_of(core: &CoreFile) -> Facts {
    let command_line = core.command_line.split_whitespace().map(str::to_owned).collect();
    let users = [core.user; 4];
    Facts { name: core.name.clone(), parent: core.parent, users, command_line, ..Facts::parse(core.pid, "") }
}

/// Finds the interpreter of the process that a core file was made of.
///
/// # Errors
/// `BadCore`, `NoFileOfCore` when the interpreter's file is not on this machine any more, and what this Python is refused for.
pub fn of_core(path: &Path) -> Result<Interpreter, Refusal> {
    let mut core = CoreFile::open(path)?;
    core.complete_rights(files::flags_at);
    let core = Arc::new(core);
    let (facts, maps) = (facts_of(&core), core.maps.clone());
    let memory = Remote::over(Arc::clone(&core));
    let pid = facts.pid;
    let mapped = files::mapped(&maps);
    let program = mapped.first().map_or_else(|| PathBuf::from(&facts.name), |mapped| mapped.path.clone());
    let facts = Facts { executable: Some(program.clone()), ..facts };
    let mut unopened = None;
    for mapped in &mapped {
        match mapped.open_here(path, &memory) {
            Ok((loaded, file)) if is_runtime(&loaded) => {
                core.attach(&mapped.path, file);
                memory.forget();
                let (file, symbols) = (mapped.path.clone(), RemoteSymbols { files: vec![loaded] });
                return match find::find(&memory, &symbols) {
                    Found::Yes { python, version } => {
                        let (identity, core) = (Identity::default(), Some(core));
                        Ok(Interpreter { facts, identity, python, version, file, memory, symbols, maps, core })
                    }
                    Found::Refused { version, reason } => {
                        Err(Refusal::UnknownVersion { pid, program: file, version, reason })
                    }
                    Found::No => Err(Refusal::NotPython { pid, program }),
                };
            }
            Err(Unopened::NoFile) if mapped.file_name().contains("python") => unopened = unopened.or(Some(mapped)),
            _ => {}
        }
    }
    Err(match unopened {
        Some(mapped) => Refusal::NoFileOfCore { core: path.to_path_buf(), path: mapped.path.clone() },
        None => Refusal::NotPython { pid, program },
    })
}

/// The file that defines the runtime of CPython, or PyPy's. The executable is asked first.
fn runtime_file(facts: &Facts, memory: &Remote, mapped: &[Mapped], search: Search) -> Result<Option<Loaded>, Refusal> {
    let is_named = |mapped: &&Mapped| {
        let name = mapped.file_name();
        Some(&mapped.path) == facts.executable.as_ref() || name.contains("python") || name.contains("pypy")
    };
    let (mut likely, others): (Vec<_>, Vec<_>) = mapped.iter().partition(is_named);
    likely.sort_by_key(|mapped| Some(&mapped.path) != facts.executable.as_ref());
    let mut unopened = None;
    for (mapped, is_likely) in
        likely.into_iter().map(|mapped| (mapped, true)).chain(others.into_iter().map(|mapped| (mapped, false)))
    {
        if !is_likely && search == Search::Likely {
            break;
        }
        match mapped.open(facts.pid, memory) {
            Ok(loaded) if is_runtime(&loaded) => return Ok(Some(loaded)),
            Err(Unopened::NoFile) if is_likely => unopened = unopened.or(Some(mapped)),
            _ => {}
        }
    }
    match unopened {
        Some(mapped) => Err(Refusal::NoFile { pid: facts.pid, path: mapped.path.clone() }),
        None => Ok(None),
    }
}

fn is_runtime(file: &Loaded) -> bool {
    let names: [&[u8]; 3] = [b"_PyRuntime", b"pypy_main_startup", b"rpython_startup_code"];
    names.into_iter().any(|name| file.symbol(name).is_some())
}

impl Interpreter {
    /// BOLT leaves the code that it replaced in a section of its own.
    #[must_use]
    pub fn is_bolted(&self) -> bool {
        self.symbols.files.iter().any(|file| file.has_section(files::BOLT))
    }

    /// Its file as the process itself would name it: /proc names the file of a process with another root by ours, unless it is in another mount
    /// namespace.
    #[must_use]
    pub fn file_inside(&self) -> PathBuf {
        inside(&self.file, self.facts.root.as_deref())
    }

    /// The root of the process, below which its files are, in whichever mount namespace it is.
    #[must_use]
    pub fn root_here(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root", self.facts.pid))
    }

    /// An address that its file exports, such as a type.
    #[must_use]
    pub fn symbol(&self, name: &CStr) -> Option<u64> {
        self.symbols.address(name)
    }
}

fn inside(file: &Path, root: Option<&Path>) -> PathBuf {
    match root.and_then(|root| file.strip_prefix(root).ok()) {
        Some(below) => Path::new("/").join(below),
        None => file.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::{inside, table_of};
    use std::path::Path;

    #[test]
    fn a_file_is_named_as_its_process_sees_it() {
        let name = |file: &str, root: &str| inside(Path::new(file), Some(Path::new(root))).display().to_string();
        assert_eq!(name("/srv/root/usr/bin/python3", "/srv/root"), "/usr/bin/python3");
        assert_eq!(name("/usr/bin/python3", "/srv/root"), "/usr/bin/python3");
        assert_eq!(name("/usr/bin/python3", "/"), "/usr/bin/python3");
    }

    #[test]
    fn the_table_of_offsets_ends_before_the_first_address() {
        let words = [u64::from_le_bytes(*b"xdebugpy"), 0x0003_0d00_f000, 16, 48, 0x7fff_1234_5678, 8];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(table_of(bytes.clone()), bytes[..32]);
        assert_eq!(table_of(bytes[..30].to_vec()), bytes[..30]);
    }
}
