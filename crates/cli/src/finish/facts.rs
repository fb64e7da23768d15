//! What the files of one module tell: of its functions, and of the units of debug information that were asked for.
//! Owns: which pieces are learned, whether they are enough for the addresses asked. Never: reads a file, knows the path of the module: the
//! same file may lie in several places. Kept from one run to the next by kept.rs.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use genba_format::proto;
use genba_names::{DebugSections, Names};

use super::c_functions::{self, Function};
use super::c_places;
use super::pieces::{self, Piece};

/// What is larger is asked only for what was hit: the rest would take longer than anybody waits.
struct Limits {
    functions: usize,
    /// Of `.debug_info`.
    info_bytes: usize,
    /// A file with fewer functions, and with less of `.debug_info`, is learned whole at once: that takes a few milliseconds.
    functions_in_parts_min: usize,
    info_bytes_in_parts_min: usize,
}

const LIMITS: Limits = Limits {
    functions: 200_000,
    info_bytes: 32 << 20,
    functions_in_parts_min: 4_096,
    info_bytes_in_parts_min: 256 << 10,
};
/// A large file that is hit at no more new places is hardly used: the rest would be learned for nothing.
const NEW_PLACES_FEW: usize = 16;
/// So often a part of such a file is learned. Then it is in use again and again.
const PARTS_MAX: u32 = 3;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// Whether `functions` are all that there are.
    pub has_all_functions: bool,
    /// Sorted.
    pub functions: Vec<Piece>,
    /// Addresses that lie in no function, as long as not all functions are known. Sorted.
    pub in_no_function: Vec<u64>,
    /// How often a part of the functions was learned.
    pub parts: u32,
    /// Whether `places` are of all units that there are.
    pub has_all_units: bool,
    /// Of the units that are known. Sorted.
    pub places: Vec<Piece>,
    /// Addresses of which no unit tells anything. Sorted.
    pub in_no_unit: Vec<u64>,
}

impl Facts {
    /// Whether the files can tell nothing more of `addresses`.
    pub fn cover(&self, addresses: &BTreeSet<u64>) -> bool {
        (self.has_all_functions || addresses.iter().all(|&address| self.is_known_function(address)))
            && (self.has_all_units || addresses.iter().all(|&address| self.is_known_place(address)))
    }

    /// As long as not all functions are known.
    fn is_known_function(&self, address: u64) -> bool {
        pieces::index_of(&self.functions, address).is_some() || self.in_no_function.binary_search(&address).is_ok()
    }

    fn is_known_place(&self, address: u64) -> bool {
        pieces::index_of(&self.places, address).is_some() || self.in_no_unit.binary_search(&address).is_ok()
    }

    /// Adds all that the files tell; of very large ones, and of large ones that are hardly used, what they tell of `addresses`.
    pub fn learn(&mut self, names: &Names<'_>, addresses: &BTreeSet<u64>) {
        self.learn_within(&LIMITS, names, addresses);
    }

    fn learn_within(&mut self, limits: &Limits, names: &Names<'_>, addresses: &BTreeSet<u64>) {
        let sections = names.debug_sections();
        if !self.has_all_functions {
            let new: BTreeSet<u64> =
                addresses.iter().copied().filter(|&address| !self.is_known_function(address)).collect();
            let functions = names.function_count();
            let info_bytes = sections.as_ref().map_or(0, DebugSections::info_bytes);
            let is_large = functions >= limits.functions_in_parts_min || info_bytes >= limits.info_bytes_in_parts_min;
            let is_hardly_used = new.len() <= NEW_PLACES_FEW && self.parts < PARTS_MAX;
            // What every run hits, each hits at other places.
            let is_in_parts = is_large && is_hardly_used && !names.is_of_every_run();
            if functions > limits.functions || is_in_parts {
                self.learn_part(names, &new);
            } else {
                self.functions = c_functions::pieces_of(&names.answers(None));
                self.in_no_function = Vec::new();
                self.has_all_functions = true;
            }
        }
        match sections {
            Some(sections) => {
                self.has_all_units = self.has_all_functions && sections.info_bytes() <= limits.info_bytes;
                let all = names.function_starts().filter(|_| self.has_all_units);
                let asked: Vec<u64> = all.chain(addresses.iter().copied()).collect();
                self.learn_units(&sections, &asked);
            }
            None => self.has_all_units = true,
        }
    }

    /// The functions that have the addresses `new`, of which nothing is known yet.
    fn learn_part(&mut self, names: &Names<'_>, new: &BTreeSet<u64>) {
        self.functions.extend(c_functions::pieces_of_some(&names.answers(Some(new))));
        self.functions.sort_unstable_by_key(|piece| piece.start);
        let is_in_none = |address: &u64| pieces::index_of(&self.functions, *address).is_none();
        let in_none: Vec<u64> = new.iter().copied().filter(is_in_none).collect();
        self.in_no_function.extend(in_none);
        self.in_no_function.sort_unstable();
        self.parts = self.parts.saturating_add(1);
    }

    /// The units that have `addresses`.
    fn learn_units(&mut self, sections: &DebugSections<'_>, addresses: &[u64]) {
        let Some(places) = sections.places() else { return };
        let mut known: BTreeMap<u64, Piece> =
            mem::take(&mut self.places).into_iter().map(|piece| (piece.start, piece)).collect();
        let mut in_no_unit: BTreeSet<u64> = mem::take(&mut self.in_no_unit).into_iter().collect();
        for &address in addresses {
            let is_known = known.range(..=address).next_back().is_some_and(|(_, piece)| address < piece.end);
            if is_known || in_no_unit.contains(&address) {
                continue;
            }
            match places.unit_of(address) {
                Some(unit) => {
                    let pieces = c_places::pieces_of(&places, &unit);
                    known.extend(pieces.into_iter().map(|piece| (piece.start, piece)));
                }
                None => drop(in_no_unit.insert(address)),
            }
        }
        self.places = known.into_values().collect();
        self.in_no_unit = in_no_unit.into_iter().collect();
    }

    /// The functions that have `addresses`; nothing of those that lie in none.
    pub fn functions_at(&self, addresses: &BTreeSet<u64>) -> Vec<Function> {
        let mut found = Vec::new();
        pieces::each_decoded(&self.functions, addresses, c_functions::Decoded::of, |piece, address| {
            found.extend(piece.at(address));
        });
        found
    }

    /// `None`: nothing is known of any.
    pub fn places_at(&self, addresses: &BTreeSet<u64>) -> Option<proto::CPlaces> {
        let mut found = c_places::Found::default();
        pieces::each_decoded(&self.places, addresses, c_places::Decoded::of, |piece, address| {
            piece.copy_to(&mut found, address);
        });
        found.into_rows()
    }
}

#[cfg(test)]
mod tests {
    use super::{Facts, LIMITS, Limits};
    use genba_names::{CPlace, Names};
    use std::collections::BTreeSet;
    use std::fs;

    const SHOP: &[u8] = include_bytes!("../../../names/tests/shop/shop.so");

    /// Where a function begins and ends, and its name.
    fn shown(facts: &Facts, address: u64) -> Option<(u64, u64, Option<String>)> {
        let found = facts.functions_at(&BTreeSet::from([address])).into_iter().next();
        found.map(|found| (found.start, found.end, found.named.map(|named| named.name)))
    }

    #[test]
    fn functions_are_those_that_the_search_finds() {
        let names = Names::new(SHOP, None, &[]).unwrap();
        let mut facts = Facts::default();
        assert!(!facts.cover(&BTreeSet::from([0x13a0])));
        facts.learn(&names, &BTreeSet::new());
        let all: BTreeSet<u64> = (0..0x2000).collect();
        assert!(facts.has_all_functions && facts.cover(&all));
        assert_eq!(facts.places_at(&all), None);
        for address in all {
            let expected = match names.name_of(address) {
                Some(function) => Some((function.start, function.end, Some(function.name))),
                None => names.extent_of(address).map(|(start, end)| (start, end, None)),
            };
            assert_eq!(shown(&facts, address), expected, "{address:x}");
        }
    }

    /// As if each file were large.
    const IN_PARTS: Limits = Limits { functions_in_parts_min: 0, ..LIMITS };

    #[test]
    fn a_large_file_that_is_hardly_used_is_learned_in_parts_and_then_whole() {
        let names = Names::new(SHOP, None, &[]).unwrap();
        let mut whole = Facts::default();
        whole.learn(&names, &BTreeSet::new());
        let mut facts = Facts::default();
        let mut asked: BTreeSet<u64> = BTreeSet::new();
        // The second of each pair lies in no function, or in one without a name.
        for part in [[0x13a5, 0x2], [0x1415, 0x1291], [0x1335, 0x3]] {
            let part = BTreeSet::from(part);
            assert!(!facts.cover(&part));
            facts.learn_within(&IN_PARTS, &names, &part);
            asked.extend(&part);
            assert!(facts.cover(&asked) && !facts.has_all_functions);
            for &address in &asked {
                assert_eq!(shown(&facts, address), shown(&whole, address), "{address:x}");
            }
        }
        assert!(!facts.cover(&BTreeSet::from([0x1272])));
        facts.learn_within(&IN_PARTS, &names, &BTreeSet::from([0x1272]));
        assert_eq!((facts.has_all_functions, &facts.functions), (true, &whole.functions), "the fourth time");
        let mut many = Facts::default();
        many.learn_within(&IN_PARTS, &names, &(0x1270..0x12a0).collect());
        assert!(many.has_all_functions);
    }

    const HITS_ONLY: Limits = Limits { functions: 0, info_bytes: 0, ..LIMITS };

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
        assert!(!facts.has_all_functions);
        let around = hit.iter().flat_map(|&start| start..start + 200);
        let mut told = 0;
        for address in around.filter(|&address| facts.is_known_place(address)) {
            let is_told = |place: &CPlace| place.name.is_some() || place.file.is_some();
            let expected = Some(places.at(address)).filter(|places| places.iter().any(is_told)).unwrap_or_default();
            let rows = facts.places_at(&BTreeSet::from([address])).unwrap_or_default();
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
