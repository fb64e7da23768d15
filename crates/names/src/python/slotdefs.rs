//! The interpreter's own table of slot functions for classes written in Python (`slotdefs`): `slot_mp_subscript`.
//! Layout: CPython 3.11 to 3.15, `struct wrapperbase` in Include/cpython/descrobject.h and `PyHeapTypeObject` in
//! Include/cpython/object.h. Owns: reading one run of entries. Never: names a slot whose place is not known.

use crate::words::slots::{Slot, TYPE_SLOTS, TYPE_TABLES};

pub(crate) const ENTRY_BYTES: u64 = 56;

/// One entry: the Python name, the slot's offset in a heap type, the function that fills it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub word: &'a str,
    pub offset_bytes: u64,
    pub function: Option<u64>,
}

/// A run with fewer entries is some other table.
const ENTRIES_MIN: usize = 40;

/// Function and slot for the entries of a whole table; nothing when it is no slot table.
pub(crate) fn slot_functions(entries: &[Entry<'_>]) -> Vec<(u64, Slot)> {
    let subtract = entries.iter().find(|entry| entry.word == "__sub__");
    let (Some(subtract), true) = (subtract, entries.len() >= ENTRIES_MIN) else {
        return Vec::new();
    };
    // In a heap type the tables follow each other: async, number, mapping, sequence, buffer.
    let Some(number_at) = subtract.offset_bytes.checked_sub(8) else {
        return Vec::new();
    };
    let table_at = |pointer_offset: u64| match pointer_offset {
        80 => number_at.checked_sub(4 * 8),
        96 => Some(number_at),
        112 => Some(number_at + 36 * 8),
        104 => Some(number_at + 36 * 8 + 3 * 8),
        160 => Some(number_at + 36 * 8 + 3 * 8 + 10 * 8),
        _ => None,
    };
    let slot_at = |offset: u64| {
        let own = TYPE_SLOTS.iter().find(|&&(at, _)| at == offset);
        own.map(|&(_, slot)| slot).or_else(|| {
            TYPE_TABLES.iter().find_map(|&(pointer, slots)| {
                let index = offset.checked_sub(table_at(pointer)?)? / 8;
                *slots.get(usize::try_from(index).ok()?)?
            })
        })
    };
    entries.iter().filter_map(|entry| Some((entry.function?, slot_at(entry.offset_bytes)?))).collect()
}
