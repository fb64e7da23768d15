//! Where in the source an address lies, and which functions the compiler had inlined there, from debug information (DWARF).
//! Owns: reading it lazily: only the units of addresses that are asked for. Never: guesses; an address that the debug
//! information does not tell of has no places. Keeps: damaged debug information gives no places, never a panic.
//! Not read: `.dwo` files and the supplementary files of `dwz`; what lies there has no name.

use super::elf::{Image, LITTLE};
use super::spelling::{Shown, shown};
use addr2line::Context;
use gimli::{DwarfSections, EndianSlice, LittleEndian, SectionId};
use object::elf;
use object::read::CompressedData;
use object::read::elf::{CompressionHeader, SectionHeader};
use std::borrow::Cow;

/// One function of the source at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CPlace {
    /// None: the debug information has no name for it.
    pub name: Option<Shown>,
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// The sections of one file, unpacked; `places` reads them.
pub struct DebugSections<'a> {
    sections: DwarfSections<Cow<'a, [u8]>>,
    libc: bool,
}

pub struct Places<'s> {
    context: Context<EndianSlice<'s, LittleEndian>>,
    libc: bool,
}

/// What is larger when unpacked is left alone.
const UNPACKED_BYTES_MAX: u64 = 1 << 30;
/// Nobody inlines deeper than this; what is beyond is damage.
const INLINED_MAX: usize = 128;

impl<'a> DebugSections<'a> {
    /// None: `image` has no debug information.
    pub(super) fn of(image: &Image<'a>, libc: bool) -> Option<Self> {
        image.section(SectionId::DebugInfo.name()).filter(|(_, bytes)| !bytes.is_empty())?;
        // Where variables live is of no use here, and much to unpack.
        let load = |id: SectionId| -> Result<Cow<'a, [u8]>, gimli::Error> {
            let wanted = !matches!(id, SectionId::DebugLoc | SectionId::DebugLocLists);
            Ok(wanted.then(|| section(image, id)).flatten().unwrap_or_default())
        };
        let sections = DwarfSections::load(load).ok()?;
        Some(DebugSections { sections, libc })
    }

    /// None: the debug information is damaged.
    pub fn places(&self) -> Option<Places<'_>> {
        let dwarf = self.sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
        Some(Places { context: Context::from_dwarf(dwarf).ok()?, libc: self.libc })
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
                        name: raw.map(|raw| shown(&raw, self.libc)),
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
