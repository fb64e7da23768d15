//! What stands in a word of the data once the dynamic linker has done its work: a number, an address of this file, or
//! something of another file.
//! Owns: relocations (RELATIVE, RELR, 64, GLOB_DAT, JUMP_SLOT). Never: guesses that a number of a position-independent
//! file is an address. Keeps: what cannot be read is `None`.

use super::elf::{ADDRESS_MAX, Image, LITTLE};
use object::elf;
use object::read::elf::{Rela, SectionHeader, Sym};
use std::rc::Rc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell<'a> {
    Number(u64),
    Address(u64),
    /// A symbol that another file defines.
    Import(&'a [u8]),
}

pub(crate) struct Cells<'a> {
    image: Rc<Image<'a>>,
    /// By address, each address once.
    relocated: Vec<(u64, Cell<'a>)>,
}

impl<'a> Cells<'a> {
    pub fn new(image: Rc<Image<'a>>) -> Self {
        let mut relocated = Vec::new();
        for section in image.sections.iter() {
            collect_relative(&image, section, &mut relocated);
            collect_rela(&image, section, &mut relocated);
        }
        relocated.retain(|&(place, cell)| image.is_mapped(place) && is_possible(cell));
        relocated.sort_by_key(|&(address, _)| address);
        relocated.dedup_by_key(|&mut (address, _)| address);
        Cells { image, relocated }
    }

    pub fn at(&self, address: u64) -> Option<Cell<'a>> {
        if let Ok(found) = self.relocated.binary_search_by_key(&address, |&(address, _)| address) {
            return Some(self.relocated[found].1);
        }
        let value = self.image.word_at(address)?;
        Some(self.unrelocated(value))
    }

    /// The word as a number. In a file with a fixed address a number may look like an address.
    pub fn number_at(&self, place: u64) -> Option<u64> {
        match self.at(place)? {
            Cell::Number(number) => Some(number),
            Cell::Address(address) if !self.image.position_independent => Some(address),
            Cell::Address(_) | Cell::Import(_) => None,
        }
    }

    /// Every word of the data that holds an address of this file: (where, address).
    pub fn addresses(&self) -> Vec<(u64, u64)> {
        let mut all: Vec<(u64, u64)> = self
            .relocated
            .iter()
            .filter_map(|&(place, cell)| match cell {
                Cell::Address(address) => Some((place, address)),
                Cell::Number(_) | Cell::Import(_) => None,
            })
            .collect();
        if !self.image.position_independent {
            all.extend(
                self.image.data_words().filter(|&(_, value)| matches!(self.unrelocated(value), Cell::Address(_))),
            );
            all.sort_unstable();
            all.dedup_by_key(|&mut (place, _)| place);
        }
        all
    }

    fn unrelocated(&self, value: u64) -> Cell<'a> {
        if self.image.position_independent || !self.image.is_mapped(value) {
            Cell::Number(value)
        } else {
            Cell::Address(value)
        }
    }
}

/// An address far outside the file is damage.
fn is_possible(cell: Cell<'_>) -> bool {
    match cell {
        Cell::Address(address) => address < ADDRESS_MAX,
        Cell::Number(_) | Cell::Import(_) => true,
    }
}

type Relocated<'a> = Vec<(u64, Cell<'a>)>;
type Section = elf::SectionHeader64<object::LittleEndian>;

/// RELR: a bitmap of places whose words already hold the address.
fn collect_relative(image: &Image<'_>, section: &Section, out: &mut Relocated<'_>) {
    let Ok(Some(places)) = section.relr(LITTLE, image.bytes) else {
        return;
    };
    out.extend(places.filter_map(|place| Some((place, Cell::Address(image.word_at(place)?)))));
}

fn collect_rela<'a>(image: &Image<'a>, section: &Section, out: &mut Relocated<'a>) {
    let Ok(Some((entries, symbols))) = section.rela(LITTLE, image.bytes) else {
        return;
    };
    let symbols = image.sections.symbol_table_by_index(LITTLE, image.bytes, symbols);
    for entry in entries {
        let addend = entry.r_addend(LITTLE) as u64;
        let kind = entry.r_type(LITTLE, false);
        let place = entry.r_offset(LITTLE);
        if kind == elf::R_X86_64_RELATIVE {
            out.push((place, Cell::Address(addend)));
            continue;
        }
        let by_symbol = [elf::R_X86_64_64, elf::R_X86_64_GLOB_DAT, elf::R_X86_64_JUMP_SLOT];
        if !by_symbol.contains(&kind) {
            continue;
        }
        let (Ok(symbols), Some(index)) = (&symbols, entry.symbol(LITTLE, false)) else {
            continue;
        };
        let Ok(symbol) = symbols.symbol(index) else {
            continue;
        };
        let cell = if symbol.is_undefined(LITTLE) {
            Cell::Import(symbol.name(LITTLE, symbols.strings()).unwrap_or_default())
        } else if kind == elf::R_X86_64_64 {
            Cell::Address(symbol.st_value(LITTLE).wrapping_add(addend))
        } else {
            Cell::Address(symbol.st_value(LITTLE))
        };
        out.push((place, cell));
    }
}
