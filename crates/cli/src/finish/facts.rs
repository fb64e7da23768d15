//! What the files of one module tell: of all its functions, and of the units of debug information that were asked for.
//! Owns: the columns in which that is kept (kept.rs), finding an address in them. Never: reads a file, knows the path of the module: the
//! same file may lie in several places.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use genba_format::proto;
use genba_profile::names::{Answer, DebugSections, Names};
use prost::Message;

use super::c_places::{self, Decoded, Piece, Texts};

/// What is larger is asked only for what was hit: the rest would take longer than anybody waits.
struct Limits {
    functions: usize,
    /// Of `.debug_info`.
    info_bytes: usize,
}

const LIMITS: Limits = Limits { functions: 200_000, info_bytes: 32 << 20 };

/// Columns; one entry a stretch of addresses with one answer, or a function. Strings are stored as index + 1.
#[derive(Clone, PartialEq, Message)]
pub struct Facts {
    /// Whether the columns up to `strings` tell of all functions.
    #[prost(bool, tag = "1")]
    has_all_functions: bool,
    /// As differences to the end of the stretch before.
    #[prost(uint64, repeated, tag = "2")]
    stretch_delta: Vec<u64>,
    #[prost(uint64, repeated, tag = "3")]
    stretch_bytes: Vec<u64>,
    /// Index of its function.
    #[prost(uint32, repeated, tag = "4")]
    stretch_function: Vec<u32>,
    #[prost(uint64, repeated, tag = "5")]
    function_start: Vec<u64>,
    #[prost(uint64, repeated, tag = "6")]
    function_bytes: Vec<u64>,
    #[prost(uint32, repeated, tag = "7")]
    function_name: Vec<u32>,
    #[prost(uint32, repeated, tag = "8")]
    function_full_name: Vec<u32>,
    #[prost(uint32, repeated, tag = "9")]
    function_origin: Vec<u32>,
    #[prost(string, repeated, tag = "10")]
    strings: Vec<String>,
    /// Whether `pieces` are of all units that there are.
    #[prost(bool, tag = "11")]
    has_all_units: bool,
    /// Of the units that are known. Sorted.
    #[prost(message, repeated, tag = "12")]
    pieces: Vec<Piece>,
    /// Addresses of which no unit tells anything. Sorted.
    #[prost(uint64, repeated, tag = "13")]
    in_no_unit: Vec<u64>,
}

/// One function, or the part of one that the unwind table describes.
pub struct Function<'f> {
    pub start: u64,
    pub end: u64,
    pub named: Option<Named<'f>>,
}

pub struct Named<'f> {
    pub name: &'f str,
    pub full_name: Option<&'f str>,
    pub origin: &'f str,
}

impl Facts {
    /// Whether the files can tell nothing more of `addresses`.
    pub fn cover(&self, addresses: &BTreeSet<u64>) -> bool {
        self.has_all_functions && (self.has_all_units || addresses.iter().all(|&address| self.is_known_place(address)))
    }

    fn is_known_place(&self, address: u64) -> bool {
        self.piece_of(address).is_some() || self.in_no_unit.binary_search(&address).is_ok()
    }

    fn piece_of(&self, address: u64) -> Option<usize> {
        let index = self.pieces.partition_point(|piece| piece.start <= address).checked_sub(1)?;
        (address < self.pieces.get(index)?.end).then_some(index)
    }

    /// Facts of a part of the functions are found anew each time.
    pub fn can_be_kept(&self) -> bool {
        self.has_all_functions
    }

    /// Adds all that the files tell; of very large ones, what they tell of `addresses`.
    pub fn learn(&mut self, names: &Names<'_>, addresses: &BTreeSet<u64>) {
        self.learn_within(&LIMITS, names, addresses);
    }

    fn learn_within(&mut self, limits: &Limits, names: &Names<'_>, addresses: &BTreeSet<u64>) {
        let mut texts = Texts::new(mem::take(&mut self.strings));
        if !self.has_all_functions {
            self.has_all_functions = names.function_count() <= limits.functions;
            let within = (!self.has_all_functions).then_some(addresses);
            self.learn_functions(&names.answers(within), &mut texts);
        }
        match names.debug_sections() {
            Some(sections) => {
                self.has_all_units = sections.info_bytes() <= limits.info_bytes;
                let all = names.function_starts().filter(|_| self.has_all_units);
                let asked: Vec<u64> = all.chain(addresses.iter().copied()).collect();
                self.learn_units(&sections, &asked, &mut texts);
            }
            None => self.has_all_units = true,
        }
        self.strings = texts.all;
    }

    fn learn_functions(&mut self, answers: &[Answer], texts: &mut Texts) {
        let mut behind = 0;
        let mut last: Option<&Answer> = None;
        for answer in answers {
            if last.is_none_or(|last| (&last.function, &last.named) != (&answer.function, &answer.named)) {
                let named = answer.named.as_ref();
                self.function_name.push(texts.index(named.map(|named| named.name.as_str())));
                self.function_full_name.push(texts.index(named.and_then(|named| named.full_name.as_deref())));
                self.function_origin.push(texts.index(named.map(|named| named.origin.to_string()).as_deref()));
                self.function_start.push(answer.function.start);
                self.function_bytes.push(answer.function.end - answer.function.start);
            }
            self.stretch_delta.push(answer.stretch.start - behind);
            self.stretch_bytes.push(answer.stretch.end - answer.stretch.start);
            self.stretch_function.push(self.function_start.len() as u32 - 1);
            behind = answer.stretch.end;
            last = Some(answer);
        }
    }

    /// The units that have `addresses`.
    fn learn_units(&mut self, sections: &DebugSections<'_>, addresses: &[u64], texts: &mut Texts) {
        let Some(places) = sections.places() else { return };
        let mut known: BTreeMap<u64, Piece> =
            mem::take(&mut self.pieces).into_iter().map(|piece| (piece.start, piece)).collect();
        let mut in_no_unit: BTreeSet<u64> = mem::take(&mut self.in_no_unit).into_iter().collect();
        for &address in addresses {
            let is_known = known.range(..=address).next_back().is_some_and(|(_, piece)| address < piece.end);
            if is_known || in_no_unit.contains(&address) {
                continue;
            }
            match places.unit_of(address) {
                Some(unit) => {
                    let pieces = c_places::pieces_of(&places, &unit, texts);
                    known.extend(pieces.into_iter().map(|piece| (piece.start, piece)));
                }
                None => drop(in_no_unit.insert(address)),
            }
        }
        self.pieces = known.into_values().collect();
        self.in_no_unit = in_no_unit.into_iter().collect();
    }

    /// The functions that have `addresses`; nothing of those that lie in none.
    pub fn functions<'f>(&'f self, addresses: &'f BTreeSet<u64>) -> impl Iterator<Item = Function<'f>> {
        let mut behind = 0_u64;
        let stretches = self.stretch_delta.iter().zip(&self.stretch_bytes).zip(&self.stretch_function);
        let mut stretches = stretches.map(move |((&delta, &bytes), &function)| {
            let start = behind.wrapping_add(delta);
            behind = start.wrapping_add(bytes);
            (start, behind, function)
        });
        let mut current = stretches.next();
        addresses.iter().filter_map(move |&address| {
            while current.is_some_and(|(_, end, _)| end <= address) {
                current = stretches.next();
            }
            let (_, _, function) = current.filter(|&(start, _, _)| start <= address)?;
            self.function(function as usize)
        })
    }

    fn function(&self, index: usize) -> Option<Function<'_>> {
        let start = *self.function_start.get(index)?;
        let text = |column: &[u32]| self.strings.get(column.get(index)?.checked_sub(1)? as usize).map(String::as_str);
        let named = text(&self.function_name).map(|name| Named {
            name,
            full_name: text(&self.function_full_name),
            origin: text(&self.function_origin).unwrap_or_default(),
        });
        Some(Function { start, end: start.saturating_add(*self.function_bytes.get(index)?), named })
    }

    /// `None`: nothing is known of any.
    pub fn places(&self, addresses: &BTreeSet<u64>) -> Option<proto::CPlaces> {
        let mut found = c_places::Found::default();
        let mut last: Option<(usize, Option<Decoded>)> = None;
        for &address in addresses {
            let Some(index) = self.piece_of(address) else { continue };
            if last.as_ref().is_none_or(|&(last, _)| last != index) {
                last = Some((index, Decoded::of(&self.pieces[index])));
            }
            if let Some((_, Some(piece))) = &last {
                piece.copy_to(&mut found, address, &self.strings);
            }
        }
        found.into_rows()
    }
}

#[cfg(test)]
mod tests {
    use super::{Facts, Limits};
    use genba_profile::names::{CPlace, Names};
    use prost::Message;
    use std::collections::BTreeSet;
    use std::fs;

    const SHOP: &[u8] = include_bytes!("../../../profile/tests/names/shop.so");

    /// As they come back from a file.
    fn kept(facts: &Facts) -> Facts {
        Facts::decode(facts.encode_to_vec().as_slice()).unwrap()
    }

    #[test]
    fn functions_are_those_that_the_search_finds() {
        let names = Names::new(SHOP, None, &[]).unwrap();
        let mut facts = Facts::default();
        assert!(!facts.cover(&BTreeSet::new()));
        facts.learn(&names, &BTreeSet::new());
        let facts = kept(&facts);
        let all: BTreeSet<u64> = (0..0x2000).collect();
        assert!(facts.can_be_kept() && facts.cover(&all));
        assert_eq!(facts.places(&all), None);
        for address in all {
            let one = BTreeSet::from([address]);
            let found = facts.functions(&one).next();
            let shown = found.map(|found| (found.start, found.end, found.named.map(|named| named.name.to_owned())));
            let expected = match names.name_of(address) {
                Some(function) => Some((function.start, function.end, Some(function.name))),
                None => names.extent_of(address).map(|(start, end)| (start, end, None)),
            };
            assert_eq!(shown, expected, "{address:x}");
        }
    }

    const HITS_ONLY: Limits = Limits { functions: 0, info_bytes: 0 };

    fn own_file() -> Vec<u8> {
        fs::read("/proc/self/exe").unwrap()
    }

    #[test]
    fn places_are_those_of_the_debug_information_at_each_address() {
        let own = own_file();
        let names = Names::new(&own, None, &[]).unwrap();
        let sections = names.debug_sections().unwrap();
        let places = sections.places().unwrap();
        let hit: BTreeSet<u64> = names.function_starts().step_by(names.function_count() / 4).collect();
        let mut facts = Facts::default();
        facts.learn_within(&HITS_ONLY, &names, &hit);
        let facts = kept(&facts);
        assert!(!facts.can_be_kept());
        let around = hit.iter().flat_map(|&start| start..start + 200);
        let mut told = 0;
        for address in around.filter(|&address| facts.is_known_place(address)) {
            let is_told = |place: &CPlace| place.name.is_some() || place.file.is_some();
            let expected = Some(places.at(address)).filter(|places| places.iter().any(is_told)).unwrap_or_default();
            let rows = facts.places(&BTreeSet::from([address])).unwrap_or_default();
            assert_eq!(rows.line.len(), expected.len(), "{address:x}");
            for (frame, place) in expected.iter().enumerate() {
                let text = |index: u32| index.checked_sub(1).map(|index| rows.strings[index as usize].as_str());
                let name = place.name.as_ref().filter(|_| frame > 0).map(|shown| shown.name.as_str());
                assert_eq!(text(rows.name[frame]), name, "{address:x}");
                assert_eq!(text(rows.file[frame]), place.file.as_deref(), "{address:x}");
                assert_eq!(rows.line[frame], place.line.unwrap_or(0), "{address:x}");
            }
            told += usize::from(!expected.is_empty());
        }
        assert!(told > 100, "{told}");
    }

    #[test]
    fn a_second_hit_adds_to_the_first() {
        let own = own_file();
        let names = Names::new(&own, None, &[]).unwrap();
        let starts: Vec<u64> = names.function_starts().collect();
        let (first, second) = (BTreeSet::from([starts[0]]), BTreeSet::from([starts[starts.len() / 2]]));
        let mut facts = Facts { has_all_functions: true, ..Facts::default() };
        facts.learn_within(&HITS_ONLY, &names, &first);
        assert!(facts.cover(&first) && !facts.cover(&second));
        facts.learn_within(&HITS_ONLY, &names, &second);
        assert!(facts.cover(&first) && facts.cover(&second));
    }
}
