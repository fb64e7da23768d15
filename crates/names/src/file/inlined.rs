//! Where in the source an address lies, and which functions the compiler had inlined there, from debug information (DWARF).
//! Owns: reading it lazily: only the units of addresses that are asked for. Never: guesses; an address that the debug
//! information does not tell of has no places. Keeps: damaged debug information gives no places, never a panic.
//! Not read: `.dwo` files and the supplementary files of `dwz`; what lies there has no name.

use super::elf::{Image, LITTLE};
use crate::words::spelling::{Shown, shown};
use addr2line::Context;
use gimli::{Dwarf, DwarfSections, EndianSlice, LittleEndian, Range, Section, SectionId, UnitRef};
use object::elf;
use object::read::CompressedData;
use object::read::elf::{CompressionHeader, SectionHeader};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops;

/// One function of the source at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CPlace {
    /// None: the debug information has no name for it.
    pub name: Option<Shown>,
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// One unit of the debug information: a source file that was compiled, with all that it includes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct UnitExtent {
    /// Its code.
    pub code: Vec<ops::Range<u64>>,
    /// Where in it the answer of `Places::at` may change. Sorted.
    pub changes: Vec<u64>,
}

/// The sections of one file, unpacked; `places` reads them.
pub struct DebugSections<'a> {
    sections: DwarfSections<Cow<'a, [u8]>>,
    libc: bool,
}

pub struct Places<'s> {
    context: Context<EndianSlice<'s, LittleEndian>>,
    libc: bool,
    /// By the linker's name: an inlined function is met at each of its lines.
    names: RefCell<HashMap<String, Shown>>,
}

/// What is larger when unpacked is left alone.
const UNPACKED_BYTES_MAX: u64 = 1 << 30;
/// Nobody inlines deeper than this; what is beyond is damage.
const INLINED_MAX: usize = 128;

impl<'a> DebugSections<'a> {
    /// None: `image` has no debug information.
    pub(crate) fn of(image: &Image<'a>, libc: bool) -> Option<Self> {
        image.section(SectionId::DebugInfo.name()).filter(|(_, bytes)| !bytes.is_empty())?;
        // Where variables live is of no use here, and much to unpack.
        let load = |id: SectionId| -> Result<Cow<'a, [u8]>, gimli::Error> {
            let wanted = !matches!(id, SectionId::DebugLoc | SectionId::DebugLocLists);
            Ok(wanted.then(|| section(image, id)).flatten().unwrap_or_default())
        };
        let sections = DwarfSections::load(load).ok()?;
        Some(DebugSections { sections, libc })
    }

    /// How much there is to read: the bytes of `.debug_info`.
    pub fn info_bytes(&self) -> usize {
        self.dwarf().debug_info.reader().len()
    }

    /// None: the debug information is damaged.
    pub fn places(&self) -> Option<Places<'_>> {
        let context = Context::from_dwarf(self.dwarf()).ok()?;
        Some(Places { context, libc: self.libc, names: RefCell::default() })
    }

    fn dwarf(&self) -> Dwarf<EndianSlice<'_, LittleEndian>> {
        self.sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian))
    }
}

impl Places<'_> {
    /// The functions at a file address, outermost first: the first is the function itself, the others were inlined into
    /// it. For a return address ask for the byte before it.
    pub fn at(&self, address: u64) -> Vec<CPlace> {
        let mut places = Vec::new();
        let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() else {
            return places;
        };
        loop {
            match frames.next() {
                Ok(Some(frame)) if places.len() < INLINED_MAX => {
                    let raw = frame.function.as_ref().and_then(|function| function.raw_name().ok());
                    let location = frame.location;
                    places.push(CPlace {
                        name: raw.map(|raw| self.shown(&raw)),
                        file: location.as_ref().and_then(|place| place.file).map(str::to_owned),
                        line: location.as_ref().and_then(|place| place.line).filter(|&line| line > 0),
                    });
                }
                Ok(None) => break,
                Ok(Some(_)) | Err(_) => return Vec::new(),
            }
        }
        places.reverse();
        places
    }

    fn shown(&self, raw: &str) -> Shown {
        if let Some(known) = self.names.borrow().get(raw) {
            return known.clone();
        }
        let found = shown(raw, self.libc);
        self.names.borrow_mut().insert(raw.to_owned(), found.clone());
        found
    }

    /// The unit that has `address`; `None`: none has.
    pub fn unit_of(&self, address: u64) -> Option<UnitExtent> {
        let unit = self.context.find_dwarf_and_unit(address).skip_all_loads()?;
        extent_of(unit).ok().filter(|found| found.code.iter().any(|code| code.contains(&address)))
    }
}

fn extent_of(unit: UnitRef<'_, EndianSlice<'_, LittleEndian>>) -> Result<UnitExtent, gimli::Error> {
    let mut extent = UnitExtent::default();
    let mut ranges = unit.unit_ranges()?;
    while let Some(Range { begin, end }) = ranges.next()? {
        extent.code.push(begin..end);
        extent.changes.extend([begin, end]);
    }
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs()? {
        if matches!(entry.tag(), gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine) {
            let mut ranges = unit.die_ranges(entry)?;
            while let Some(Range { begin, end }) = ranges.next()? {
                extent.changes.extend([begin, end]);
            }
        }
    }
    if let Some(program) = unit.line_program.clone() {
        let mut rows = program.rows();
        while let Some((_, row)) = rows.next_row()? {
            extent.changes.push(row.address());
        }
    }
    extent.changes.sort_unstable();
    extent.changes.dedup();
    Ok(extent)
}

fn section<'a>(image: &Image<'a>, id: SectionId) -> Option<Cow<'a, [u8]>> {
    let (_, header) = image.sections.section_by_name(LITTLE, id.name().as_bytes())?;
    match header.compression(LITTLE, image.bytes).ok()? {
        None => header.data(LITTLE, image.bytes).ok().map(Cow::Borrowed),
        Some((packed, offset, bytes)) => {
            let format = match packed.ch_type(LITTLE) {
                elf::ELFCOMPRESS_ZLIB => object::CompressionFormat::Zlib,
                elf::ELFCOMPRESS_ZSTD => object::CompressionFormat::Zstandard,
                _ => return None,
            };
            let start = usize::try_from(offset).ok()?;
            let end = start.checked_add(usize::try_from(bytes).ok()?)?;
            let data = image.bytes.get(start..end)?;
            let uncompressed_size = packed.ch_size(LITTLE);
            if uncompressed_size > UNPACKED_BYTES_MAX {
                return None;
            }
            CompressedData { format, data, uncompressed_size }.decompress().ok()
        }
    }
}
