//! Loaded files: sections for the unwinders, functions and symbols.
//! Owns: reading ELF files and the vDSO, and where a file's functions begin. Names no function: an address is its name.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, LittleEndian, UnwindSection};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SegmentFlags, elf};

use crate::process::{Mapping, Process};

/// A section with the address that the file gives it.
#[derive(Clone, Default)]
pub struct Section {
    pub address: u64,
    pub bytes: Vec<u8>,
}

pub struct File {
    pub path: String,
    pub eh_frame: Section,
    pub eh_frame_header: Section,
    /// Executable memory, as file addresses.
    pub code: (u64, u64),
    /// First address and address behind the last one of each function with unwind rules, sorted.
    functions: Vec<(u64, u64)>,
    symbols: HashMap<String, u64>,
    /// Of each loaded segment: offset in the file, address.
    segments: Vec<(u64, u64)>,
}

/// A file as a process has it.
pub struct Loaded {
    pub file: File,
    /// Address in the process - address in the file.
    pub bias: u64,
}

impl File {
    pub fn parse(path: &str, bytes: &[u8]) -> Result<File, String> {
        let wrong = |error: object::Error| format!("{path} is no ELF file that can be read: {error}");
        let object = object::File::parse(bytes).map_err(wrong)?;
        let section = |name: &str| {
            let section = object.section_by_name(name)?;
            Some(Section { address: section.address(), bytes: section.uncompressed_data().ok()?.into_owned() })
        };
        let mut code = (u64::MAX, 0);
        let mut segments = Vec::new();
        for segment in object.segments() {
            segments.push((segment.file_range().0, segment.address()));
            if let SegmentFlags::Elf { p_flags, .. } = segment.flags()
                && (p_flags & elf::PF_X).0 != 0
            {
                code = (code.0.min(segment.address()), code.1.max(segment.address() + segment.size()));
            }
        }
        let mut symbols = HashMap::new();
        for symbol in object.symbols().chain(object.dynamic_symbols()).filter(ObjectSymbol::is_definition) {
            if let Ok(name) = symbol.name() {
                symbols.insert(name.to_owned(), symbol.address());
            }
        }
        let eh_frame = section(".eh_frame").unwrap_or_default();
        Ok(File {
            path: path.to_owned(),
            functions: functions(&eh_frame),
            eh_frame,
            eh_frame_header: section(".eh_frame_hdr").unwrap_or_default(),
            code,
            symbols,
            segments,
        })
    }

    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols.get(name).copied()
    }

    /// The function around a file address, by where it begins.
    pub fn function(&self, address: u64) -> Option<u64> {
        let at = self.functions.partition_point(|&(first, _)| first <= address).checked_sub(1)?;
        let (first, behind) = self.functions[at];
        (address < behind).then_some(first)
    }

    /// `libc.so.6+0x25f00`, or `libc.so.6+?` where no function is known.
    pub fn spell(&self, address: u64) -> String {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        match self.function(address) {
            Some(first) => format!("{name}+{first:#x}"),
            None => format!("{name}+?"),
        }
    }
}

fn functions(eh_frame: &Section) -> Vec<(u64, u64)> {
    let mut section = EhFrame::from(EndianSlice::new(&eh_frame.bytes, LittleEndian));
    section.set_address_size(8);
    let bases = BaseAddresses::default().set_eh_frame(eh_frame.address);
    let mut found = Vec::new();
    let mut entries = section.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        if let CieOrFde::Fde(partial) = entry
            && let Ok(fde) = partial.parse(EhFrame::cie_from_offset)
        {
            found.push((fde.initial_address(), fde.end_address()));
        }
    }
    found.sort_unstable();
    found
}

/// Where the file of a path as a recorded process names it can be read.
pub fn outside(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// All files with code that the process has now. Their paths are as this process names them, also when that one lives below
/// another root.
pub fn loaded(process: Process) -> Result<Vec<Loaded>, String> {
    let mut found: Vec<Loaded> = Vec::new();
    for mapping in process.mappings()? {
        let known = found.iter().any(|loaded| loaded.file.path == mapping.path);
        let vdso = mapping.path == "[vdso]";
        if known || !(vdso || mapping.path.starts_with('/')) {
            continue;
        }
        let bytes = if vdso {
            process.read(mapping.start, (mapping.end - mapping.start) as usize).map(|copied| copied.bytes)
        } else {
            fs::read(&mapping.path).ok()
        };
        // Devices, deleted files and data files have no code.
        let Some(file) = bytes.and_then(|bytes| File::parse(&mapping.path, &bytes).ok()) else { continue };
        if let Some(bias) = bias(&file, &mapping) {
            found.push(Loaded { file, bias });
        }
    }
    Ok(found)
}

fn bias(file: &File, mapping: &Mapping) -> Option<u64> {
    const PAGE: u64 = 4096;
    let segment = file.segments.iter().find(|(offset, _)| offset / PAGE * PAGE == mapping.offset)?;
    Some(mapping.start.wrapping_sub(segment.1 / PAGE * PAGE))
}

impl Loaded {
    pub fn code(&self) -> (u64, u64) {
        (self.file.code.0.wrapping_add(self.bias), self.file.code.1.wrapping_add(self.bias))
    }

    pub fn holds(&self, address: u64) -> bool {
        (self.code().0..self.code().1).contains(&address)
    }
}
