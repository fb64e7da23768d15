//! The ELF files that a process has mapped, opened as it sees them: in its mount namespace, and by their inode.
//! Owns: which mappings are a loaded file, its load bias, program headers and dynamic symbols. Never: gives a file that is another one
//! than the one mapped, follows a path that is no regular file.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::read::{ReadCache, ReadRef};
use object::{Endianness, SymbolIndex};

use crate::kernel::maps::Mapping;
use crate::kernel::memory::Remote;

const PAGE_BYTES: u64 = 4096;
const NOTE_BYTES_MAX: u64 = 4096;
const DELETED: &[u8] = b" (deleted)";
/// The section where BOLT leaves the code that it replaced.
pub const BOLT: &[u8] = b".bolt.org.text";

type Header = elf::FileHeader64<Endianness>;

/// A file that is mapped with code.
#[derive(Clone, Debug)]
pub struct Mapped {
    pub path: PathBuf,
    /// Its first mapping with code.
    pub code: Mapping,
}

/// Why a mapped file tells nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unopened {
    /// It cannot be opened, or what lies there is another file by now.
    NoFile,
    /// Not ELF.
    NotElf,
    /// ELF for another machine than x86-64.
    Machine(&'static str),
}

/// A mapped file, opened. All addresses that it gives are those of the process.
pub struct Loaded {
    pub path: PathBuf,
    /// What is added to an address in the file.
    pub bias: u64,
    pub segments: Vec<Segment>,
    contents: ReadCache<File>,
    symbols: OnceCell<HashMap<Vec<u8>, u64>>,
}

/// A program header; `address` is that of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub kind: u32,
    pub flags: u32,
    pub offset: u64,
    pub address: u64,
    pub file_bytes: u64,
    pub memory_bytes: u64,
}

impl Segment {
    fn of(header: &elf::ProgramHeader64<Endianness>, endian: Endianness, bias: u64) -> Segment {
        Segment {
            kind: header.p_type(endian).0,
            flags: header.p_flags(endian).0,
            offset: header.p_offset(endian),
            address: header.p_vaddr(endian).wrapping_add(bias),
            file_bytes: header.p_filesz(endian),
            memory_bytes: header.p_memsz(endian),
        }
    }
}

/// The segments and the build id of a file that lies in memory as a whole, at `start`; its addresses begin at 0.
#[must_use]
pub fn of_image(image: &[u8], start: u64) -> Option<(Vec<Segment>, Vec<u8>)> {
    let header = Header::parse(image).ok()?;
    let endian = header.endian().ok()?;
    let headers = header.program_headers(endian, image).ok()?;
    let segments: Vec<Segment> = headers.iter().map(|segment| Segment::of(segment, endian, start)).collect();
    let notes = segments.iter().filter(|segment| segment.kind == elf::PT_NOTE.0);
    let mut notes = notes.filter_map(|segment| {
        let begin = usize::try_from(segment.offset).ok()?;
        build_id_in(image.get(begin..)?.get(..usize::try_from(segment.file_bytes).ok()?)?)
    });
    let build_id = notes.next().unwrap_or_default();
    Some((segments, build_id))
}

/// Of GNU's kind (`NT_GNU_BUILD_ID`, 3) among notes.
fn build_id_in(notes: &[u8]) -> Option<Vec<u8>> {
    const HEAD: &[u8] = b"\x03\0\0\0GNU\0";
    let at = notes.windows(HEAD.len()).position(|window| window == HEAD)?;
    let size = notes.get(at.checked_sub(4)?..)?.first_chunk().map(|four| u32::from_le_bytes(*four))?;
    notes.get(at + HEAD.len()..)?.get(..size as usize).map(<[u8]>::to_vec)
}

/// The flags of the program header that a mapping from this offset on is of, in the file at its path on this machine.
#[must_use]
pub fn flags_at(path: &Path, offset: u64) -> Option<u32> {
    let contents = ReadCache::new(open_regular(path).ok()?);
    let data = &contents;
    let header = Header::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let headers = header.program_headers(endian, data).ok()?.iter();
    let holds = |segment: &&elf::ProgramHeader64<Endianness>| {
        let begin = segment.p_offset(endian);
        segment.p_type(endian) == elf::PT_LOAD
            && (floor(begin)..begin.saturating_add(segment.p_filesz(endian))).contains(&offset)
    };
    // Two may share a page of the file. The later one's mapping begins there.
    headers.filter(holds).max_by_key(|segment| segment.p_offset(endian)).map(|segment| segment.p_flags(endian).0)
}

/// The files with code, in the order of their addresses, each once.
#[must_use]
pub fn mapped(maps: &[Mapping]) -> Vec<Mapped> {
    let mut found: Vec<Mapped> = Vec::new();
    for mapping in maps.iter().filter(|mapping| mapping.permissions.execute) {
        let Some(path) = mapping.path.as_ref().filter(|path| path.is_absolute() && mapping.inode != 0) else {
            continue;
        };
        if !found.iter().any(|known| known.code.file() == mapping.file() && known.path == *path) {
            found.push(Mapped { path: path.clone(), code: mapping.clone() });
        }
    }
    found
}

impl Mapped {
    #[must_use]
    pub fn file_name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.strip_suffix(" (deleted)").unwrap_or(&name).to_owned()
    }

    /// Opens it: by its mapping where that is allowed, else by its path below the process's root.
    ///
    /// # Errors
    /// As `Unopened` says.
    pub fn open(&self, pid: u32, memory: &Remote) -> Result<Loaded, Unopened> {
        let by_mapping = format!("/proc/{pid}/map_files/{:x}-{:x}", self.code.start, self.code.end);
        if let Ok(file) = File::open(by_mapping) {
            return self.load(file);
        }
        let paths = [self.below_root(pid), Some(PathBuf::from(format!("/proc/{pid}/exe")))];
        let mut last = Unopened::NoFile;
        for path in paths.into_iter().flatten() {
            let Ok(file) = open_regular(&path) else { continue };
            let is_same = file.metadata().is_ok_and(|found| self.is_identity(found.dev(), found.ino()));
            match self.load(file) {
                Ok(loaded) if is_same || loaded.has_notes_of(memory) => return Ok(loaded),
                Ok(_) => {}
                Err(why) if is_same => last = why,
                Err(_) => {}
            }
        }
        Err(last)
    }

    /// Opens the file at its path on this machine, for a core file that was made here.
    ///
    /// # Errors
    /// `NoFile` also when its build id is not that in the core; without one, when its headers are not, or it was written after the core.
    pub fn open_here(&self, core: &Path, memory: &Remote) -> Result<(Loaded, File), Unopened> {
        let file = open_regular(&self.path).map_err(|_| Unopened::NoFile)?;
        let loaded = self.load(file.try_clone().map_err(|_| Unopened::NoFile)?)?;
        let written = |path: &Path| fs::metadata(path).map(|status| (status.mtime(), status.mtime_nsec())).ok();
        let is_older = || written(&self.path).zip(written(core)).is_some_and(|(program, core)| program <= core);
        let is_same = match loaded.build_id().is_some() {
            true => loaded.has_notes_of(memory),
            false => loaded.has_headers_of(memory) && is_older(),
        };
        if is_same { Ok((loaded, file)) } else { Err(Unopened::NoFile) }
    }

    /// `None`: it was deleted, so what lies at its path is another file.
    fn below_root(&self, pid: u32) -> Option<PathBuf> {
        let bytes = self.path.as_os_str().as_bytes();
        let below = self.path.strip_prefix("/").ok().filter(|_| !bytes.ends_with(DELETED))?;
        Some(Path::new(&format!("/proc/{pid}/root")).join(below))
    }

    /// How glibc packs the numbers of a device: `gnu_dev_makedev`.
    const fn is_identity(&self, device: u64, inode: u64) -> bool {
        let major = device >> 8 & 0xfff | device >> 32 & !0xfff;
        let minor = device & 0xff | device >> 12 & 0xffff_ff00;
        let (wanted_major, wanted_minor) = self.code.device;
        inode == self.code.inode && major == wanted_major as u64 && minor == wanted_minor as u64
    }

    fn load(&self, file: File) -> Result<Loaded, Unopened> {
        let contents = ReadCache::new(file);
        let data = &contents;
        let ident = data.read_bytes_at(0, 20).map_err(|()| Unopened::NotElf)?;
        if ident.get(..4) != Some(b"\x7fELF") {
            return Err(Unopened::NotElf);
        }
        if let Some(machine) = other_machine(ident) {
            return Err(Unopened::Machine(machine));
        }
        let header = Header::parse(data).map_err(|_| Unopened::NotElf)?;
        let endian = header.endian().map_err(|_| Unopened::NotElf)?;
        let headers = header.program_headers(endian, data).map_err(|_| Unopened::NotElf)?;
        let loads = || headers.iter().filter(|segment| segment.p_type(endian) == elf::PT_LOAD);
        // The mapping begins at the segment's page, or later within it.
        let code = loads().find(|segment| {
            let begin = floor(segment.p_offset(endian));
            (begin..segment.p_offset(endian).saturating_add(segment.p_filesz(endian))).contains(&self.code.offset)
                && segment.p_flags(endian) & elf::PF_X == elf::PF_X
        });
        let code = code.ok_or(Unopened::NotElf)?;
        let into = self.code.offset - floor(code.p_offset(endian));
        let bias = self.code.start.wrapping_sub(into).wrapping_sub(floor(code.p_vaddr(endian)));
        let segments = headers.iter().map(|segment| Segment::of(segment, endian, bias)).collect();
        Ok(Loaded { path: self.path.clone(), bias, segments, contents, symbols: OnceCell::new() })
    }
}

impl Loaded {
    /// The address of a dynamic symbol that this file defines, of its default version. `None` also for thread-local and indirect ones.
    #[must_use]
    pub fn symbol(&self, name: &[u8]) -> Option<u64> {
        let symbols = self.symbols.get_or_init(|| self.dynamic_symbols().unwrap_or_default());
        symbols.get(name).map(|address| address.wrapping_add(self.bias))
    }

    #[must_use]
    pub fn file_name(&self) -> &str {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.strip_suffix(" (deleted)").unwrap_or(name)
    }

    #[must_use]
    pub fn has_section(&self, name: &[u8]) -> bool {
        let data = &self.contents;
        let found = || -> object::read::Result<bool> {
            let header = Header::parse(data)?;
            let endian = header.endian()?;
            Ok(header.sections(endian, data)?.section_by_name(endian, name).is_some())
        };
        found().unwrap_or(false)
    }

    /// Bytes of the file.
    #[must_use]
    pub fn bytes_at(&self, offset: u64, bytes: u64) -> Option<&[u8]> {
        (&self.contents).read_bytes_at(offset, bytes).ok()
    }

    /// By their addresses in the file.
    fn dynamic_symbols(&self) -> object::read::Result<HashMap<Vec<u8>, u64>> {
        let data = &self.contents;
        let header = Header::parse(data)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, data)?;
        let versions = sections.versions(endian, data)?;
        let mut found = HashMap::new();
        let Some(table) = sections.iter().find(|section| section.sh_type(endian) == elf::SHT_DYNSYM) else {
            return Ok(found);
        };
        let names = sections.section(table.link(endian))?.data(endian, data)?;
        let symbols: &[elf::Sym64<Endianness>] = table.data_as_array(endian, data)?;
        for (index, symbol) in symbols.iter().enumerate() {
            let is_plain = matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_OBJECT | elf::STT_NOTYPE);
            if symbol.is_undefined(endian) || !is_plain || symbol.st_value(endian) == 0 {
                continue;
            }
            let behind = names.get(symbol.st_name(endian) as usize..).unwrap_or_default();
            let name = behind.split(|&byte| byte == 0).next().unwrap_or_default();
            let is_default = versions
                .as_ref()
                .is_none_or(|versions| !versions.version_index(endian, SymbolIndex(index)).is_hidden());
            if is_default || !found.contains_key(name) {
                found.insert(name.to_vec(), symbol.st_value(endian));
            }
        }
        Ok(found)
    }

    /// What lies in the file for an address of the process.
    #[must_use]
    pub fn bytes_at_address(&self, address: u64, bytes: u64) -> Option<Vec<u8>> {
        let holds = |segment: &&Segment| {
            let into = address.checked_sub(segment.address);
            segment.kind == elf::PT_LOAD.0
                && into.and_then(|into| into.checked_add(bytes)).is_some_and(|end| end <= segment.file_bytes)
        };
        let segment = self.segments.iter().find(holds)?;
        let offset = segment.offset.checked_add(address - segment.address)?;
        self.bytes_at(offset, bytes).map(<[u8]>::to_vec)
    }

    #[must_use]
    pub fn build_id(&self) -> Option<Vec<u8>> {
        let notes = self.segments.iter().filter(|segment| segment.kind == elf::PT_NOTE.0);
        let mut notes =
            notes.filter_map(|segment| self.bytes_at(segment.offset, segment.file_bytes.min(NOTE_BYTES_MAX)));
        notes.find_map(build_id_in)
    }

    /// Whether the ELF header and the program headers, which tell the size of every segment, lie in the process's memory too.
    fn has_headers_of(&self, memory: &Remote) -> bool {
        const FILE_HEADER_BYTES: u64 = 64;
        const PROGRAM_HEADER_BYTES: u64 = 56;
        let bytes = FILE_HEADER_BYTES + PROGRAM_HEADER_BYTES * self.segments.len() as u64;
        let first = self.segments.iter().find(|segment| segment.kind == elf::PT_LOAD.0 && segment.offset == 0);
        first.is_some_and(|first| {
            let mut there = vec![0; bytes as usize];
            memory.read(first.address, &mut there).is_ok() && self.bytes_at(0, bytes) == Some(there.as_slice())
        })
    }

    /// Whether the notes of the file, of which its build id is one, lie in the process's memory too.
    fn has_notes_of(&self, memory: &Remote) -> bool {
        let notes = self.segments.iter().filter(|segment| segment.kind == elf::PT_NOTE.0);
        let mut notes = notes.filter(|segment| (1..NOTE_BYTES_MAX).contains(&segment.file_bytes)).peekable();
        notes.peek().is_some()
            && notes.all(|segment| {
                let mut there = vec![0; segment.file_bytes as usize];
                let is_read = memory.read(segment.address, &mut there).is_ok();
                is_read && self.bytes_at(segment.offset, segment.file_bytes) == Some(there.as_slice())
            })
    }
}

/// By the first bytes of an ELF file. `None`: x86-64.
fn other_machine(ident: &[u8]) -> Option<&'static str> {
    let machine = ident.get(18..20).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    match (ident.get(4), machine) {
        (Some(1), _) => Some("32-bit processes"),
        (Some(2), Some(62)) => None,
        (_, Some(183)) => Some("aarch64"),
        _ => Some("another machine"),
    }
}

/// The class of the executable, which the kernel lets open for whoever may look at the process.
#[must_use]
pub fn machine_of(path: &Path) -> Option<&'static str> {
    let file = open_regular(path).ok()?;
    let contents = ReadCache::new(file);
    let ident = (&contents).read_bytes_at(0, 20).ok()?;
    other_machine(ident)
}

fn open_regular(path: &Path) -> std::io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    File::open(path)
}

const fn floor(address: u64) -> u64 {
    address & !(PAGE_BYTES - 1)
}

#[cfg(test)]
mod tests {
    use super::flags_at;
    use crate::kernel::maps;
    use object::elf::{PF_W, PF_X};

    /// The kernel maps each segment of this test with the rights that its header asks for.
    #[test]
    fn the_rights_of_a_mapping_are_those_of_its_program_header() {
        let program = std::env::current_exe().unwrap();
        let maps = maps::read(std::process::id()).unwrap();
        let own: Vec<_> = maps.iter().filter(|mapping| mapping.path.as_ref() == Some(&program)).collect();
        let flags = own.iter().map(|mapping| flags_at(&program, mapping.offset).unwrap());
        let has_code: Vec<bool> = flags.clone().map(|flags| flags & PF_X.0 != 0).collect();
        assert_eq!(has_code, own.iter().map(|mapping| mapping.permissions.execute).collect::<Vec<_>>());
        assert!(has_code.contains(&true) && has_code.contains(&false), "{own:?}");
        // The linker has taken the right to write from some of its pages since.
        assert!(own.iter().zip(flags).all(|(mapping, flags)| !mapping.permissions.write || flags & PF_W.0 != 0));
        assert_eq!(flags_at(&program, u64::MAX), None);
    }
}
