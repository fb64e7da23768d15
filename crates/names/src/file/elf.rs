//! One ELF file of x86-64 as bytes by file address.
//! Owns: which bytes stand at an address, which addresses are code, the build id. Never: reads files, trusts an offset.
//! Keeps: any bytes give an `Image` or `NotAnElf`, never a panic; reads beyond the file are `None`.

use object::LittleEndian;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};
use std::fmt;
use std::ops::Range;

pub(crate) type Header = FileHeader64<LittleEndian>;
pub(crate) const LITTLE: LittleEndian = LittleEndian;

/// Why bytes cannot be searched for names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAnElf {
    /// What was found instead of a 64-bit little-endian ELF file for x86-64.
    pub found: String,
}

impl fmt::Display for NotAnElf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "expected a 64-bit ELF file for x86-64, found {}", self.found)
    }
}

impl std::error::Error for NotAnElf {}

/// No file is mapped at or above this address, so that adding the size of a structure to an address cannot overflow.
pub(crate) const ADDRESS_MAX: u64 = 1 << 56;
/// A stub of a linkage table is not larger than this.
const STUB_BYTES_MAX: u64 = 64;

/// A stretch of the address space that comes from the file.
#[derive(Debug, Clone)]
struct Segment<'a> {
    addresses: Range<u64>,
    bytes: &'a [u8],
    executable: bool,
}

/// A section that holds instructions.
#[derive(Debug, Clone)]
pub(crate) struct CodeSection<'a> {
    pub name: &'a [u8],
    pub start: u64,
    pub bytes: &'a [u8],
    /// Size of one entry when the section is a table of stubs.
    pub entry_bytes: u64,
}

pub struct Image<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) sections: SectionTable<'a, Header>,
    pub(crate) position_independent: bool,
    segments: Vec<Segment<'a>>,
    code_sections: Vec<CodeSection<'a>>,
    /// Where these lie, by address.
    code: Vec<Range<u64>>,
}

impl<'a> Image<'a> {
    /// Err: not ELF, another machine, or tables that lie outside the file.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, NotAnElf> {
        let broken =
            |what: &'static str| move |error: object::read::Error| NotAnElf { found: format!("{what}: {error}") };
        let header = Header::parse(bytes).map_err(broken("another kind of file"))?;
        if !header.is_little_endian() || header.e_machine(LITTLE) != elf::EM_X86_64 {
            return Err(NotAnElf { found: format!("machine {:?}", header.e_machine(LITTLE)) });
        }
        let sections = header.sections(LITTLE, bytes).map_err(broken("a damaged section table"))?;
        let headers = header.program_headers(LITTLE, bytes).map_err(broken("a damaged program header"))?;
        let mut segments = Vec::new();
        for segment in headers {
            if segment.p_type(LITTLE) != elf::PT_LOAD {
                continue;
            }
            let start = segment.p_vaddr(LITTLE);
            let Some(end) = start.checked_add(segment.p_memsz(LITTLE)).filter(|&end| end <= ADDRESS_MAX) else {
                continue;
            };
            segments.push(Segment {
                addresses: start..end,
                bytes: segment.data(LITTLE, bytes).unwrap_or_default(),
                executable: segment.p_flags(LITTLE).contains(elf::PF_X),
            });
        }
        segments.sort_by_key(|segment| segment.addresses.start);
        let mut image = Image {
            bytes,
            sections,
            position_independent: header.e_type(LITTLE) == elf::ET_DYN,
            segments,
            code_sections: Vec::new(),
            code: Vec::new(),
        };
        image.code_sections = image.read_code_sections();
        image.code =
            image.code_sections().map(|section| section.start..section.start + section.bytes.len() as u64).collect();
        image.code.sort_by_key(|range| range.start);
        Ok(image)
    }

    /// The build id, when the file carries one.
    pub fn build_id(&self) -> Option<&'a [u8]> {
        for section in self.sections.iter() {
            let Ok(Some(mut notes)) = section.notes(LITTLE, self.bytes) else {
                continue;
            };
            while let Ok(Some(note)) = notes.next() {
                if note.name() == elf::ELF_NOTE_GNU && note.n_type(LITTLE) == elf::NT_GNU_BUILD_ID {
                    return Some(note.desc());
                }
            }
        }
        None
    }

    /// Whether the file itself names all its functions, as it does unless it was stripped.
    pub fn has_symbol_table(&self) -> bool {
        let tables = self.sections.symbols(LITTLE, self.bytes, elf::SHT_SYMTAB);
        tables.is_ok_and(|symbols| !symbols.is_empty())
    }

    /// File name of the separate file with the symbols (`.gnu_debuglink`).
    pub fn debug_link(&self) -> Option<&'a str> {
        let (_, bytes) = self.section(".gnu_debuglink")?;
        let end = bytes.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&bytes[..end]).ok().filter(|name| !name.is_empty())
    }

    /// Whether this is the C library or its mathematical part.
    pub(crate) fn is_libc(&self) -> bool {
        self.soname().is_some_and(|name| name.starts_with(b"libc.") || name.starts_with(b"libm."))
    }

    /// The name the linker knows a shared library by ("libc.so.6").
    fn soname(&self) -> Option<&'a [u8]> {
        let (entries, strings) = self.sections.dynamic(LITTLE, self.bytes).ok()??;
        let strings = self.sections.strings(LITTLE, self.bytes, strings).ok()?;
        entries
            .iter()
            .find(|entry| entry.d_tag(LITTLE) == elf::DT_SONAME)
            .and_then(|entry| strings.get(u32::try_from(entry.d_val(LITTLE)).ok()?).ok())
    }

    /// Where a public variable or function of this file lies.
    pub(crate) fn exported(&self, name: &str) -> Option<u64> {
        let symbols = self.sections.symbols(LITTLE, self.bytes, elf::SHT_DYNSYM).ok()?;
        symbols
            .iter()
            .find(|symbol| {
                !symbol.is_undefined(LITTLE) && symbol.name(LITTLE, symbols.strings()) == Ok(name.as_bytes())
            })
            .map(|symbol| symbol.st_value(LITTLE))
    }

    /// Whether the file uses the C API of Python, as extension modules do.
    pub(crate) fn imports_python(&self) -> bool {
        let Ok(symbols) = self.sections.symbols(LITTLE, self.bytes, elf::SHT_DYNSYM) else {
            return false;
        };
        symbols.iter().any(|symbol| {
            let name = symbol.name(LITTLE, symbols.strings()).unwrap_or_default();
            symbol.is_undefined(LITTLE) && name.starts_with(b"Py")
        })
    }

    pub(crate) fn is_code(&self, address: u64) -> bool {
        let after = self.code.partition_point(|range| range.start <= address);
        after > 0 && self.code[after - 1].contains(&address)
    }

    /// Whether the address is mapped, be it from the file or as zeros.
    pub(crate) fn is_mapped(&self, address: u64) -> bool {
        self.segment(address).is_some()
    }

    /// The eight bytes at an address; zeros beyond what the file holds of a segment.
    pub(crate) fn word_at(&self, address: u64) -> Option<u64> {
        let segment = self.segment(address)?;
        let offset = usize::try_from(address - segment.addresses.start).ok()?;
        let last = address.checked_add(8)?;
        if last > segment.addresses.end {
            return None;
        }
        match segment.bytes.get(offset..offset + 8) {
            Some(bytes) => Some(u64::from_le_bytes(bytes.try_into().ok()?)),
            None => (offset >= segment.bytes.len()).then_some(0),
        }
    }

    /// The bytes from an address to the end of what the file holds of its segment.
    pub(crate) fn bytes_from(&self, address: u64) -> Option<&'a [u8]> {
        let segment = self.segment(address)?;
        let offset = usize::try_from(address - segment.addresses.start).ok()?;
        segment.bytes.get(offset..)
    }

    /// The text at an address, up to its zero byte and at most `bytes_max` long.
    pub(crate) fn text_at(&self, address: u64, bytes_max: usize) -> Option<&'a str> {
        let bytes = self.bytes_from(address)?;
        let window = &bytes[..bytes.len().min(bytes_max + 1)];
        let end = window.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&window[..end]).ok()
    }

    /// Address and value of each aligned word of what is not code.
    pub(crate) fn data_words(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.segments.iter().filter(|segment| !segment.executable).flat_map(|segment| {
            let skip = (segment.addresses.start.wrapping_neg() % 8) as usize;
            let bytes = segment.bytes.get(skip..).unwrap_or_default();
            let first = segment.addresses.start + skip as u64;
            bytes.chunks_exact(8).enumerate().map(move |(index, word)| {
                let mut value = [0; 8];
                value.copy_from_slice(word);
                (first + 8 * index as u64, u64::from_le_bytes(value))
            })
        })
    }

    /// Sections with instructions, in the order of the file.
    pub(crate) fn code_sections(&self) -> impl Iterator<Item = CodeSection<'a>> + '_ {
        self.code_sections.iter().cloned()
    }

    /// Once: they are asked for at each address that may lie in a stub.
    fn read_code_sections(&self) -> Vec<CodeSection<'a>> {
        let code_sections = self.sections.iter().filter_map(|section| {
            let flags = section.sh_flags(LITTLE);
            if !flags.contains(elf::SHF_EXECINSTR) || !flags.contains(elf::SHF_ALLOC) {
                return None;
            }
            let bytes = section.data(LITTLE, self.bytes).ok()?;
            let start = section.sh_addr(LITTLE);
            start.checked_add(bytes.len() as u64).filter(|&end| end <= ADDRESS_MAX)?;
            Some(CodeSection {
                name: self.sections.section_name(LITTLE, section).unwrap_or_default(),
                start,
                bytes,
                entry_bytes: section.sh_entsize(LITTLE).min(STUB_BYTES_MAX),
            })
        });
        code_sections.collect()
    }

    /// Address and bytes of a section by name.
    pub(crate) fn section(&self, name: &str) -> Option<(u64, &'a [u8])> {
        let (_, section) = self.sections.section_by_name(LITTLE, name.as_bytes())?;
        Some((section.sh_addr(LITTLE), section.data(LITTLE, self.bytes).ok()?))
    }

    fn segment(&self, address: u64) -> Option<&Segment<'a>> {
        let after = self.segments.partition_point(|segment| segment.addresses.start <= address);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        segment.addresses.contains(&address).then_some(segment)
    }
}
