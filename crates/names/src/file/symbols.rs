//! Functions of a symbol table (`.symtab` or `.dynsym`).
//! Owns: which of several symbols of an address is shown, and which symbol covers an address. Never: takes the nearest
//! symbol: an address outside [value, value + size) has none. Keeps: resolvers of IFUNC symbols are not functions of
//! that name.

use super::elf::{Image, LITTLE};
use super::extents::Extents;
use crate::words::spelling::{Spelling, preference, spell};
use object::elf;
use object::read::elf::Sym;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Symbol<'a> {
    pub start: u64,
    pub end: u64,
    /// As the linker has it.
    raw: &'a str,
    is_local: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Full,
    Dynamic,
}

/// A symbol whose function is chosen by code when the program is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resolver<'a> {
    pub address: u64,
    pub name: &'a str,
}

pub(crate) struct Symbols<'a> {
    /// By start, then end; each start once.
    sorted: Vec<Symbol<'a>>,
    /// The largest end among `sorted[..=index]`.
    reach: Vec<u64>,
    pub resolvers: Vec<Resolver<'a>>,
    libc: bool,
}

/// Symbols that may stand inside another one are few; beyond this many there is no covering one.
const ENCLOSING_STEPS_MAX: usize = 256;

impl<'a> Symbols<'a> {
    /// `extents` gives the ends of functions whose symbol has no size; `libc` is as in `spell`.
    pub fn read(image: &Image<'a>, table: Table, extents: &Extents<'_>, libc: bool) -> Self {
        let kind = match table {
            Table::Full => elf::SHT_SYMTAB,
            Table::Dynamic => elf::SHT_DYNSYM,
        };
        let mut found: Vec<Symbol<'a>> = Vec::new();
        let mut resolvers = Vec::new();
        if let Ok(symbols) = image.sections.symbols(LITTLE, image.bytes, kind) {
            for symbol in symbols.iter() {
                if symbol.is_undefined(LITTLE) {
                    continue;
                }
                let Some(raw) = symbol
                    .name(LITTLE, symbols.strings())
                    .ok()
                    .and_then(|name| std::str::from_utf8(name).ok())
                    .filter(|name| !name.is_empty())
                else {
                    continue;
                };
                let start = symbol.st_value(LITTLE);
                match symbol.st_type() {
                    elf::STT_GNU_IFUNC => resolvers.push(Resolver { address: start, name: raw }),
                    elf::STT_FUNC => {
                        let Some(end) = end_of(start, symbol.st_size(LITTLE), extents) else {
                            continue;
                        };
                        found.push(Symbol { start, end, raw, is_local: symbol.st_bind() == elf::STB_LOCAL });
                    }
                    _ => {}
                }
            }
        }
        Self::from_found(found, resolvers, libc)
    }

    /// Of most symbols nobody asks for it.
    pub fn spelling(&self, symbol: &Symbol<'_>) -> Spelling {
        spell(symbol.raw, self.libc)
    }

    pub fn covering(&self, address: u64) -> Option<&Symbol<'a>> {
        let after = self.sorted.partition_point(|symbol| symbol.start <= address);
        (0..after)
            .rev()
            .take(ENCLOSING_STEPS_MAX)
            .take_while(|&index| self.reach[index] > address)
            .map(|index| &self.sorted[index])
            .find(|symbol| symbol.end > address)
    }

    /// Where symbols begin and end, in no order.
    pub fn bounds(&self) -> impl Iterator<Item = u64> + '_ {
        self.sorted.iter().flat_map(|symbol| [symbol.start, symbol.end])
    }

    fn from_found(mut found: Vec<Symbol<'a>>, resolvers: Vec<Resolver<'a>>, libc: bool) -> Self {
        found.sort_by_key(|symbol| symbol.start);
        let shown = |aliases: &[Symbol<'a>]| match aliases {
            [one] => Some(*one),
            several => several.iter().copied().min_by_key(|symbol| Rank::of(symbol, libc)),
        };
        let sorted: Vec<Symbol<'a>> = found.chunk_by(|one, next| one.start == next.start).filter_map(shown).collect();
        let mut furthest = 0;
        let reach = sorted
            .iter()
            .map(|symbol| {
                furthest = furthest.max(symbol.end);
                furthest
            })
            .collect();
        Symbols { sorted, reach, resolvers, libc }
    }
}

fn end_of(start: u64, size_bytes: u64, extents: &Extents<'_>) -> Option<u64> {
    if size_bytes > 0 {
        return start.checked_add(size_bytes);
    }
    let index = extents.starting_at(start)?;
    Some(extents.get(index).end)
}

/// Which of several symbols of one address is shown: the smallest, or the first of these in the table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    is_local: bool,
    preference: (usize, bool, usize),
    name: String,
}

impl Rank {
    fn of(symbol: &Symbol<'_>, libc: bool) -> Self {
        let Spelling { name, .. } = spell(symbol.raw, libc);
        Rank { is_local: symbol.is_local, preference: preference(&name), name }
    }
}
