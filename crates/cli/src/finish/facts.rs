//! What the files of one module tell: of all its functions, and of the units of debug information that were asked for.
//! Owns: the columns in which that is kept (kept.rs), finding an address in them. Never: reads a file, knows the path of the module: the
//! same file may lie in several places.

use std::collections::{BTreeSet, HashMap};

use genba_format::proto;
use genba_profile::names::{Answer, Names, Places};
use prost::Message;

use super::c_places::{self, Columns, UnitPlaces};

/// Of a file with more functions, only those that were hit are named: the others would take longer than anybody waits.
const FUNCTIONS_MAX: usize = 200_000;
/// Of more debug information, only the units that were hit are read.
const INFO_BYTES_MAX: usize = 32 << 20;

/// Columns; one entry a stretch of addresses with one answer, a function, a unit. Strings are stored as index + 1.
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
    /// Whether `units` are all that there are.
    #[prost(bool, tag = "11")]
    has_all_units: bool,
    #[prost(message, repeated, tag = "12")]
    units: Vec<Unit>,
    /// Addresses of which no unit tells anything. Sorted.
    #[prost(uint64, repeated, tag = "13")]
    in_no_unit: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Unit {
    #[prost(uint64, repeated, tag = "1")]
    code_start: Vec<u64>,
    #[prost(uint64, repeated, tag = "2")]
    code_bytes: Vec<u64>,
    /// Encoded `CPlaces` of all its code; decoded when an address in it is asked for.
    #[prost(bytes = "vec", tag = "3")]
    places: Vec<u8>,
}

impl Unit {
    fn code(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.code_start.iter().zip(&self.code_bytes).map(|(&start, &bytes)| (start, start.saturating_add(bytes)))
    }
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
        let have_places = || addresses.iter().all(|&address| self.is_known_place(address));
        self.has_all_functions && (self.has_all_units || have_places())
    }

    fn is_known_place(&self, address: u64) -> bool {
        self.unit_of(address).is_some() || self.in_no_unit.binary_search(&address).is_ok()
    }

    fn unit_of(&self, address: u64) -> Option<usize> {
        self.units.iter().position(|unit| unit.code().any(|(start, end)| (start..end).contains(&address)))
    }

    /// Facts of a part of the functions are found anew each time.
    pub fn can_be_kept(&self) -> bool {
        self.has_all_functions
    }

    /// Adds all that the files tell; of very large ones, what they tell of `addresses`.
    pub fn learn(&mut self, names: &Names<'_>, addresses: &BTreeSet<u64>) {
        if !self.has_all_functions {
            self.has_all_functions = names.function_count() <= FUNCTIONS_MAX;
            self.learn_functions(&names.answers((!self.has_all_functions).then_some(addresses)));
        }
        let sections = names.debug_sections();
        let Some((sections, places)) = sections.as_ref().and_then(|sections| Some((sections, sections.places()?)))
        else {
            self.has_all_units = true;
            return;
        };
        self.has_all_units = sections.info_bytes() <= INFO_BYTES_MAX;
        if self.has_all_units {
            names.function_starts().for_each(|start| self.learn_unit(&places, start));
        }
        addresses.iter().for_each(|&address| self.learn_unit(&places, address));
    }

    fn learn_unit(&mut self, places: &Places<'_>, address: u64) {
        if self.is_known_place(address) {
            return;
        }
        match places.unit_of(address) {
            Some(unit) => self.units.push(Unit {
                code_start: unit.code.iter().map(|code| code.start).collect(),
                code_bytes: unit.code.iter().map(|code| code.end.saturating_sub(code.start)).collect(),
                places: c_places::of_unit(places, &unit).encode_to_vec(),
            }),
            None => {
                let at = self.in_no_unit.partition_point(|&other| other < address);
                self.in_no_unit.insert(at, address);
            }
        }
    }

    fn learn_functions(&mut self, answers: &[Answer]) {
        let mut text_of: HashMap<String, u32> = HashMap::new();
        let mut behind = 0;
        let mut last: Option<&Answer> = None;
        for answer in answers {
            if last.is_none_or(|last| (&last.function, &last.named) != (&answer.function, &answer.named)) {
                let mut text = |text: Option<&str>| {
                    let Some(text) = text else { return 0 };
                    *text_of.entry(text.to_owned()).or_insert_with(|| {
                        self.strings.push(text.to_owned());
                        self.strings.len() as u32
                    })
                };
                let named = answer.named.as_ref();
                self.function_name.push(text(named.map(|named| named.name.as_str())));
                self.function_full_name.push(text(named.and_then(|named| named.full_name.as_deref())));
                self.function_origin.push(text(named.map(|named| named.origin.to_string()).as_deref()));
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
        let mut decoded: HashMap<usize, Option<UnitPlaces>> = HashMap::new();
        let mut columns = Columns::default();
        for &address in addresses {
            let Some(index) = self.unit_of(address) else { continue };
            let unit = decoded.entry(index).or_insert_with(|| {
                let rows = proto::CPlaces::decode(self.units.get(index)?.places.as_slice()).ok()?;
                UnitPlaces::new(rows)
            });
            if let Some(unit) = unit {
                unit.copy_to(&mut columns, address);
            }
        }
        columns.into_rows()
    }
}
