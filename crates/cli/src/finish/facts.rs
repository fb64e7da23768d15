//! What the files of one module tell: of all its functions, and of the units of debug information that were asked for.
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
}

const LIMITS: Limits = Limits { functions: 200_000, info_bytes: 32 << 20 };

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// Whether `functions` are all that there are.
    pub has_all_functions: bool,
    /// Sorted.
    pub functions: Vec<Piece>,
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
        self.has_all_functions && (self.has_all_units || addresses.iter().all(|&address| self.is_known_place(address)))
    }

    fn is_known_place(&self, address: u64) -> bool {
        pieces::index_of(&self.places, address).is_some() || self.in_no_unit.binary_search(&address).is_ok()
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
        if !self.has_all_functions {
            self.has_all_functions = names.function_count() <= limits.functions;
            let within = (!self.has_all_functions).then_some(addresses);
            self.functions = c_functions::pieces_of(&names.answers(within));
        }
        match names.debug_sections() {
            Some(sections) => {
                self.has_all_units = sections.info_bytes() <= limits.info_bytes;
                let all = names.function_starts().filter(|_| self.has_all_units);
                let asked: Vec<u64> = all.chain(addresses.iter().copied()).collect();
                self.learn_units(&sections, &asked);
            }
            None => self.has_all_units = true,
        }
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
    use super::{Facts, Limits};
    use genba_names::{CPlace, Names};
    use std::collections::BTreeSet;
    use std::fs;

    const SHOP: &[u8] = include_bytes!("../../../names/tests/shop/shop.so");

    #[test]
    fn functions_are_those_that_the_search_finds() {
        let names = Names::new(SHOP, None, &[]).unwrap();
        let mut facts = Facts::default();
        assert!(!facts.cover(&BTreeSet::new()));
        facts.learn(&names, &BTreeSet::new());
        let all: BTreeSet<u64> = (0..0x2000).collect();
        assert!(facts.can_be_kept() && facts.cover(&all));
        assert_eq!(facts.places_at(&all), None);
        for address in all {
            let one = BTreeSet::from([address]);
            let found = facts.functions_at(&one).into_iter().next();
            let shown = found.map(|found| (found.start, found.end, found.named.map(|named| named.name)));
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
        assert!(!facts.can_be_kept());
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
