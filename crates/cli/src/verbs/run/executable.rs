//! What the kernel would start for a path, read from the files and without running anything: the `#!` scripts on the
//! way, and facts about the ELF file at the end (loader, word size, machine, needed libraries, CPython's version).
//! Owns: following and reading. Never: judges (interpreter.rs does), runs a program, reads a file as a whole.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::elf;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, FileKind, ReadCache, ReadRef, StringTable};

/// The kernel follows four `#!` lines (fs/exec.c, `exec_binprm`); one more may come from `env`.
const SCRIPTS_MAX: usize = 5;
const SCRIPT_LINE_BYTES_MAX: usize = 256;

/// Where a path leads.
pub struct Executable {
    /// Every path on the way, as written, then the final file with symlinks resolved.
    pub way: Vec<PathBuf>,
    /// How many `#!` scripts came before the final file.
    pub scripts: usize,
    pub kind: Kind,
}

pub enum Kind {
    Elf(Box<Elf>),
    /// Neither ELF nor `#!`, unreadable, or a `#!` line that leads nowhere: the kernel will say.
    Unknown,
}

/// Facts about an ELF file.
#[derive(Default)]
pub struct Elf {
    pub is_64_bit: bool,
    pub machine: elf::Machine,
    pub loader: Option<String>,
    pub is_position_independent: bool,
    pub is_program: bool,
    /// For another user than the one who starts it.
    pub is_setuid: bool,
    /// The same of a group.
    pub is_setgid: bool,
    /// The same of capabilities: root has them.
    pub has_capabilities: bool,
    pub needed: Vec<String>,
    pub python: PythonSymbols,
}

/// What the dynamic symbols of the program, or of the libpython it needs, say.
#[derive(Default)]
pub struct PythonSymbols {
    /// `_PyRuntime` is there: CPython 3.7 or later.
    pub has_runtime: bool,
    /// The value of `Py_Version` (3.11 and later), laid out as `PY_VERSION_HEX`.
    pub version_hex: Option<u32>,
    /// The kind of build that a symbol gives away; `None` for the default one.
    pub build: Option<&'static str>,
}

impl Executable {
    /// Follows symlinks and `#!` lines from `path`; `find` looks a bare name up on PATH (for `#!/usr/bin/env NAME`).
    pub fn follow(path: &Path, find: &dyn Fn(&OsStr) -> Option<PathBuf>) -> Executable {
        let mut way = vec![path.to_path_buf()];
        let mut current = path.to_path_buf();
        for scripts in 0..=SCRIPTS_MAX {
            let Some(first_bytes) = first_bytes(&current) else { break };
            if first_bytes.starts_with(&elf::ELFMAG) {
                let real = fs::canonicalize(&current).unwrap_or(current);
                let kind = read_elf(&real).map_or(Kind::Unknown, |elf| Kind::Elf(Box::new(elf)));
                if way.last() != Some(&real) {
                    way.push(real);
                }
                return Executable { way, scripts, kind };
            }
            let Some(next) = interpreter_of_script(&first_bytes, find) else { break };
            way.push(next.clone());
            current = next;
        }
        Executable { scripts: way.len() - 1, way, kind: Kind::Unknown }
    }

    /// The final file.
    pub fn path(&self) -> &Path {
        &self.way[self.way.len() - 1]
    }

    /// The names of the final file: as it was called, and with symlinks resolved.
    pub fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.way[self.scripts..].iter().filter_map(|path| path.file_name())
    }

    pub fn elf(&self) -> Option<&Elf> {
        match &self.kind {
            Kind::Elf(elf) => Some(elf),
            Kind::Unknown => None,
        }
    }
}

fn first_bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(SCRIPT_LINE_BYTES_MAX as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The program that a `#!` line names; behind `env` it is the first word that is neither option nor assignment.
fn interpreter_of_script(first_bytes: &[u8], find: &dyn Fn(&OsStr) -> Option<PathBuf>) -> Option<PathBuf> {
    let line = first_bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let interpreter = PathBuf::from(OsStr::from_bytes(words.next()?));
    if interpreter.file_name() != Some(OsStr::new("env")) {
        return Some(interpreter);
    }
    let named = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?;
    let named = OsStr::from_bytes(named);
    if named.as_bytes().contains(&b'/') { Some(PathBuf::from(named)) } else { find(named) }
}

fn read_elf(path: &Path) -> Option<Elf> {
    let file = File::open(path).ok()?;
    let about = file.metadata().ok()?;
    let (mode, user, group) = (about.mode(), rustix::process::getuid(), rustix::process::getgid());
    let mut capability = [0_u8; 64];
    let capability_bytes = rustix::fs::fgetxattr(&file, "security.capability", &mut capability).unwrap_or(0);
    let cache = ReadCache::new(file);
    let kind = FileKind::parse(&cache).ok()?;
    let mut found = Elf {
        is_64_bit: kind == FileKind::Elf64,
        is_setuid: mode & 0o4000 != 0 && about.uid() != user.as_raw(),
        is_setgid: mode & 0o2010 == 0o2010 && about.gid() != group.as_raw(),
        has_capabilities: capability_bytes > 0 && !user.is_root(),
        ..Elf::default()
    };
    if found.is_64_bit {
        let header = elf::FileHeader64::<Endianness>::parse(&cache).ok()?;
        read_headers(header, &cache, path, &mut found)?;
    } else {
        let header = elf::FileHeader32::<Endianness>::parse(&cache).ok()?;
        found.machine = header.e_machine(header.endian().ok()?);
    }
    Some(found)
}

fn read_headers(
    header: &elf::FileHeader64<Endianness>,
    cache: &ReadCache<File>,
    path: &Path,
    found: &mut Elf,
) -> Option<()> {
    let endian = header.endian().ok()?;
    found.machine = header.e_machine(endian);
    found.is_position_independent = header.e_type(endian) == elf::ET_DYN;
    let mut run_path = None;
    for segment in header.program_headers(endian, cache).ok()? {
        found.is_program |= segment.p_type(endian) == elf::PT_LOAD;
        if let Ok(Some(loader)) = segment.interpreter(endian, cache) {
            found.loader = Some(String::from_utf8_lossy(loader).into_owned());
        }
    }
    let sections = header.sections(endian, cache).ok()?;
    if let Ok(Some((entries, strings_index))) = sections.dynamic(endian, cache) {
        let strings = sections.strings(endian, cache, strings_index).ok()?;
        for entry in entries {
            let text = || entry.string(endian, strings).ok().map(|name| String::from_utf8_lossy(name).into_owned());
            match entry.tag(endian) {
                elf::DT_NEEDED => found.needed.extend(text()),
                elf::DT_RPATH | elf::DT_RUNPATH => run_path = text(),
                _ => {}
            }
        }
    }
    found.python = read_python_symbols(header, cache).unwrap_or_default();
    if let Some(name) = found.needed.iter().find(|name| name.starts_with("libpython")) {
        let library =
            library_folders(path, run_path.as_deref()).map(|folder| folder.join(name)).find(|file| file.is_file());
        let symbols = library.and_then(|library| {
            let cache = ReadCache::new(File::open(library).ok()?);
            let header = elf::FileHeader64::<Endianness>::parse(&cache).ok()?;
            read_python_symbols(header, &cache)
        });
        found.python = symbols.unwrap_or_default();
    }
    Some(())
}

/// Where ld.so would look, in its order, as far as that is known without /etc/ld.so.cache.
fn library_folders(program: &Path, run_path: Option<&str>) -> impl Iterator<Item = PathBuf> {
    let origin = program.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    let mut folders = Vec::new();
    if let Some(listed) = std::env::var_os("LD_LIBRARY_PATH") {
        folders.extend(std::env::split_paths(&listed));
    }
    for folder in run_path.unwrap_or_default().split(':').filter(|folder| !folder.is_empty()) {
        folders.push(PathBuf::from(folder.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin)));
    }
    const DEFAULT: [&str; 7] = [
        "/lib/x86_64-linux-gnu",
        "/usr/lib/x86_64-linux-gnu",
        "/lib64",
        "/usr/lib64",
        "/usr/local/lib",
        "/lib",
        "/usr/lib",
    ];
    folders.extend(DEFAULT.iter().map(PathBuf::from));
    folders.into_iter()
}

fn read_python_symbols(header: &elf::FileHeader64<Endianness>, cache: &ReadCache<File>) -> Option<PythonSymbols> {
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, cache).ok()?;
    let symbols = sections.symbols(endian, cache, elf::SHT_DYNSYM).ok()?;
    // At once: the cache would read each name by itself.
    let names = sections.section(symbols.string_section()).ok()?.data(endian, cache).ok()?;
    let names = StringTable::new(names, 0, names.len() as u64);
    let mut found = PythonSymbols::default();
    for symbol in symbols.iter() {
        if symbol.st_value(endian) == 0 {
            continue;
        }
        match symbol.name(endian, names) {
            Ok(b"_PyRuntime") => found.has_runtime = true,
            // Source: CPython 3.11 to 3.13 Include/object.h, cpython/object.h, Objects/object.c.
            Ok(b"_Py_MergeZeroLocalRefcount") => found.build = Some("free-threaded"),
            Ok(b"_Py_RefTotal" | b"_Py_GetGlobalRefTotal") => found.build = Some("debug"),
            Ok(b"Py_Version") => {
                let address = symbol.st_value(endian);
                found.version_hex = header.program_headers(endian, cache).ok()?.iter().find_map(|segment| {
                    let offset = address.checked_sub(segment.p_vaddr(endian))?;
                    if segment.p_type(endian) != elf::PT_LOAD || offset + 8 > segment.p_filesz(endian) {
                        return None;
                    }
                    let value: &[u8; 8] = cache.read_at(segment.p_offset(endian) + offset).ok()?;
                    u32::try_from(u64::from_le_bytes(*value)).ok()
                });
            }
            _ => {}
        }
    }
    Some(found)
}
