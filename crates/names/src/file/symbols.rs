//! Functions of a symbol table (`.symtab` or `.dynsym`).
//! Owns: which of several symbols of an address is shown, and which symbol covers an address. Never: takes the nearest
//! symbol: an address outside [value, value + size) has none. Keeps: resolvers of IFUNC symbols are not functions of
//! that name.

use super::elf::{Image, LITTLE};
use super::extents::Extents;
use crate::words::spelling::{Spelling, preference, spell};
use object::elf;
use object::read::elf::Sym;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub start: u64,
    pub end: u64,
    pub spelling: Spelling,
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
    sorted: Vec<Symbol>,
    /// The largest end among `sorted[..=index]`.
    reach: Vec<u64>,
    pub resolvers: Vec<Resolver<'a>>,
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
        let mut found: Vec<(Rank, Symbol)> = Vec::new();
        let mut resolvers = Vec::new();
        if let Ok(symbols) = image.sections.symbols(LITTLE, image.bytes, kind) {
            for symbol in symbols.iter() {
                if symbol.is_undefined(LITTLE) {
                    continue;
                }
                let Some(name) = symbol
                    .name(LITTLE, symbols.strings())
                    .ok()
                    .and_then(|name| std::str::from_utf8(name).ok())
                    .filter(|name| !name.is_empty())
                else {
                    continue;
                };
                let start = symbol.st_value(LITTLE);
                match symbol.st_type() {
                    elf::STT_GNU_IFUNC => resolvers.push(Resolver { address: start, name }),
                    elf::STT_FUNC => {
                        let Some(end) = end_of(start, symbol.st_size(LITTLE), extents) else {
                            continue;
                        };
                        let spelling = spell(name, libc);
                        let rank = Rank::of(&spelling, symbol.st_bind());
                        found.push((rank, Symbol { start, end, spelling }));
                    }
                    _ => {}
                }
            }
        }
        Self::from_found(found, resolvers)
    }

    pub fn covering(&self, address: u64) -> Option<&Symbol> {
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

    fn from_found(mut found: Vec<(Rank, Symbol)>, resolvers: Vec<Resolver<'a>>) -> Self {
        found.sort_by(|(left_rank, left), (right_rank, right)| {
            (left.start, left_rank, &left.spelling.name).cmp(&(right.start, right_rank, &right.spelling.name))
        });
        found.dedup_by_key(|(_, symbol)| symbol.start);
        let sorted: Vec<Symbol> = found.into_iter().map(|(_, symbol)| symbol).collect();
        let mut furthest = 0;
        let reach = sorted
            .iter()
            .map(|symbol| {
                furthest = furthest.max(symbol.end);
                furthest
            })
            .collect();
        Symbols { sorted, reach, resolvers }
    }
}

fn end_of(start: u64, size_bytes: u64, extents: &Extents<'_>) -> Option<u64> {
    if size_bytes > 0 {
        return start.checked_add(size_bytes);
    }
    let index = extents.starting_at(start)?;
    Some(extents.get(index).end)
}

/// Which of several symbols of one address is shown: the smallest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    is_local: bool,
    preference: (usize, bool, usize),
}

impl Rank {
    fn of(spelling: &Spelling, bind: elf::SymbolBind) -> Self {
        Rank { is_local: bind == elf::STB_LOCAL, preference: preference(&spelling.name) }
    }
}
