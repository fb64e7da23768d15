//! How many bytes an object takes: its own block with what lies in front of it, and the blocks that belong to it alone.
//! Owns: the rules by kind. Never: asks the object (`__sizeof__` is code of the program).
//! Sources: CPython 3.11.7 to 3.15.2, Objects/{dict,list,set,unicode,long,type,gen,frame}object.c; numpy 2.5 ndarraytypes.h.

use crate::classes::{Facts, Kind};
use crate::dtypes::value_bytes;
use crate::layout::{
    FLAG_HEAP_TYPE, FLAG_INLINE_VALUES, FLAG_MANAGED_DICT, MEMBER_BYTES, Objects, SIZE, TYPE, TYPE_FLAGS,
};
use crate::names::text_of;
use crate::private::{buffer_of, is_alone, own_bytes};
use crate::raw::{byte, half, word};

/// More is a field that was taken for a size.
const BYTES_MAX: u64 = 1 << 46;
/// A dict's table of keys: the logarithms of its size and of its index's bytes, its kind, its room.
const KEYS_HEADER: u64 = 32;
const KEYS_UNICODE: u8 = 1;
const KEYS_SPLIT: u8 = 2;

/// # Safety
/// `object` is alive, and of the class that `facts` are about.
pub unsafe fn bytes_of(object: u64, facts: &Facts, is_gc: bool, objects: &Objects, frame: FrameFields) -> u64 {
    let before = if is_gc { facts.before_bytes } else { 0 };
    // SAFETY: as the caller promises, for each of the parts.
    let own = unsafe {
        match facts.kind {
            Kind::Str => str_bytes(object, facts, objects),
            Kind::Int => facts.basic_bytes.max(24 + 4 * digits(object, objects.minor)),
            Kind::Generator => {
                facts.basic_bytes + 8 * slots(word(object + objects.generator_frame + frame.code), objects)
            }
            Kind::Frame => facts.basic_bytes + 8 * slots(word(word(object + FRAME_OBJECT_FRAME) + frame.code), objects),
            Kind::List => items(object, facts) + 8 * list_room(object),
            Kind::Dict | Kind::Ordered => facts.basic_bytes + dict_bytes(object, objects.minor),
            Kind::Set => facts.basic_bytes + set_bytes(object),
            Kind::ByteArray => facts.basic_bytes + bytearray_bytes(object, objects),
            Kind::Type => type_bytes(object, facts, objects),
            Kind::Array => facts.basic_bytes + array_bytes(object),
            _ => items(object, facts),
        }
    };
    // SAFETY: as above.
    let values = unsafe { values_bytes(object, facts, objects) };
    // SAFETY: as above.
    let private = unsafe { own_bytes(object, facts).saturating_add(buffer_bytes(object, facts, objects)) };
    before.saturating_add(own).saturating_add(values).saturating_add(private)
}

/// Where a frame keeps its code object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameFields {
    pub code: u64,
}

const FRAME_OBJECT_FRAME: u64 = 24;

unsafe fn items(object: u64, facts: &Facts) -> u64 {
    if facts.item_bytes == 0 {
        return facts.basic_bytes;
    }
    // SAFETY: a type with items has their number there, but for the kinds above.
    let count = unsafe { word(object + SIZE) }.cast_signed().unsigned_abs();
    let bytes = facts.basic_bytes.saturating_add(count.saturating_mul(facts.item_bytes));
    if bytes > BYTES_MAX { facts.basic_bytes } else { bytes }
}

unsafe fn digits(object: u64, minor: u8) -> u64 {
    // SAFETY: an int has this word.
    let size = unsafe { word(object + SIZE) };
    if minor == 11 { size.cast_signed().unsigned_abs() } else { (size >> 3).max(1) }
}

unsafe fn str_bytes(object: u64, facts: &Facts, objects: &Objects) -> u64 {
    // SAFETY: a str.
    unsafe {
        let text = text_of(object, objects);
        let [ascii_header, compact_header, _] = objects.str_headers;
        let utf8 = |is_own: bool| {
            let at = word(object + objects.str_utf8_length + 8);
            if is_own && at != 0 && at != text.data { word(object + objects.str_utf8_length) + 1 } else { 0 }
        };
        let bytes = match (text.is_compact, text.is_ascii) {
            (true, true) => ascii_header + text.len + 1,
            (true, false) => compact_header + (text.len + 1) * text.kind + utf8(true),
            (false, _) => facts.basic_bytes + if text.data == 0 { 0 } else { (text.len + 1) * text.kind } + utf8(true),
        };
        if bytes > BYTES_MAX { facts.basic_bytes } else { bytes }
    }
}

/// Local variables and stack of a function.
unsafe fn slots(code: u64, objects: &Objects) -> u64 {
    // From 3.14 on the lowest bits say whether a reference is counted.
    let code = code & !7;
    if code == 0 {
        return 0;
    }
    // SAFETY: a frame that is not cleared has a code object.
    unsafe { u64::from(half(code + objects.code_locals)) + u64::from(half(code + objects.code_stack_size)) }
}

unsafe fn list_room(object: u64) -> u64 {
    // SAFETY: a list has these fields.
    unsafe { if word(object + 24) == 0 { 0 } else { word(object + 32).min(BYTES_MAX / 8) } }
}

unsafe fn set_bytes(object: u64) -> u64 {
    const SMALL_TABLE: u64 = 64;
    // SAFETY: a set has these fields.
    let (mask, table) = unsafe { (word(object + 32), word(object + 40)) };
    if table == object + SMALL_TABLE || mask > BYTES_MAX / 16 { 0 } else { (mask + 1) * 16 }
}

unsafe fn bytearray_bytes(object: u64, objects: &Objects) -> u64 {
    // From 3.15 on the buffer is a bytes object.
    // SAFETY: a bytearray has these fields.
    unsafe {
        if objects.bytearray_bytes.is_some() || word(object + 32) == 0 { 0 } else { word(object + 24).min(BYTES_MAX) }
    }
}

/// Of a buffer that only this object has.
unsafe fn buffer_bytes(object: u64, facts: &Facts, objects: &Objects) -> u64 {
    /// Of a `bytes`: its header, and a zero at the end.
    const HEADER: u64 = 33;
    // SAFETY: as the caller promises.
    unsafe {
        let buffer = buffer_of(object, facts.kind, objects);
        if buffer == 0 || !is_alone(buffer, objects.minor) {
            return 0;
        }
        match facts.kind {
            Kind::StringIo => str_bytes(buffer, facts, objects),
            _ => HEADER.saturating_add(word(buffer + SIZE)),
        }
    }
}

unsafe fn dict_bytes(object: u64, minor: u8) -> u64 {
    // SAFETY: a dict has a table of keys, and values of its own where that table is shared.
    unsafe {
        let (keys, values) = (word(object + 32), word(object + 40));
        if keys == 0 {
            return 0;
        }
        if byte(keys + 10) != KEYS_SPLIT {
            return keys_bytes(keys);
        }
        match minor {
            _ if values == 0 => 0,
            11 | 12 => separate_values(room_of(keys)),
            // The third byte: they lie in the instance.
            _ if byte(values + 2) != 0 => 0,
            _ => {
                let room = u64::from(byte(values));
                room.next_multiple_of(8) + 8 * (room + 1)
            }
        }
    }
}

/// A table of keys that belongs to one dict, or to one class.
///
/// # Safety
/// `keys` is a dict's table of keys.
pub unsafe fn keys_bytes(keys: u64) -> u64 {
    // SAFETY: as the caller promises.
    unsafe {
        let (size_bits, index_bits, kind) = (byte(keys + 8), byte(keys + 9), byte(keys + 10));
        if room_of(keys) == 0 || size_bits > 40 || index_bits > 43 {
            // The empty table is one for all.
            return 0;
        }
        let entry = if kind == 0 { 24 } else { 16 };
        KEYS_HEADER + (1 << index_bits) + (2 << size_bits) / 3 * entry
    }
}

unsafe fn room_of(keys: u64) -> u64 {
    // SAFETY: a table of keys: room that is left, and entries.
    unsafe { word(keys + 16).wrapping_add(word(keys + 24)).min(BYTES_MAX) }
}

/// 3.11 and 3.12: an array with a few bytes in front of it.
const fn separate_values(room: u64) -> u64 {
    (room + 2).next_multiple_of(8) + 8 * room
}

/// 3.13 and later: a new instance gets as much room as its class's keys have, and then takes one of them away for those to come, while more
/// than one is free; it keeps the lower number (`_PyObject_InitInlineValues`). `kept`: that number. `room`, `free`: of the keys now.
/// One instance of a class, the last one that took a key away, is taken for 8 bytes too few: its number is that of those behind it.
const fn inline_values(kept: u64, room: u64, free: i64) -> u64 {
    let took_one = kept > room || free > 1;
    let room = if took_one { kept + 1 } else { kept };
    room.next_multiple_of(8) + 8 * (room + 1)
}

/// Attributes that an instance keeps without a dict.
unsafe fn values_bytes(object: u64, facts: &Facts, objects: &Objects) -> u64 {
    // SAFETY: the class says that the instance has them; a heap type has its table of keys.
    unsafe {
        match objects.minor {
            11 | 12 => {
                let is_managed =
                    facts.flags & (FLAG_MANAGED_DICT | FLAG_HEAP_TYPE) == FLAG_MANAGED_DICT | FLAG_HEAP_TYPE;
                let has_values =
                    is_managed && if objects.minor == 11 { word(object - 32) != 0 } else { word(object - 24) & 1 != 0 };
                let keys = if has_values { word(facts.class + objects.type_cached_keys) } else { 0 };
                if keys == 0 { 0 } else { separate_values(room_of(keys)) }
            }
            _ if facts.flags & FLAG_INLINE_VALUES != 0 => {
                let keys = word(facts.class + objects.type_cached_keys);
                let kept = u64::from(byte(object + facts.basic_bytes));
                let (room, free) = if keys == 0 { (kept, 0) } else { (room_of(keys), word(keys + 16)) };
                inline_values(kept, room, free.cast_signed())
            }
            _ => 0,
        }
    }
}

unsafe fn type_bytes(object: u64, facts: &Facts, objects: &Objects) -> u64 {
    // SAFETY: a type; one of the heap has members behind it, and a table of keys.
    unsafe {
        if word(object + TYPE_FLAGS) & FLAG_HEAP_TYPE == 0 {
            return objects.sizes.r#type.min(facts.basic_bytes);
        }
        let members = word(object + SIZE).min(1 << 20) + 1;
        let keys = word(object + objects.type_cached_keys);
        facts.basic_bytes + members * MEMBER_BYTES + if keys == 0 { 0 } else { keys_bytes(keys) }
    }
}

/// `PyArrayObject_fields`: data, number of dimensions, dimensions, strides, base, descr, flags.
unsafe fn array_bytes(object: u64) -> u64 {
    const OWNS_DATA: u32 = 4;
    // SAFETY: an array has these fields, and so many dimensions and strides.
    unsafe {
        let dimensions = u64::from(half(object + 24)).min(64);
        let mut data = 0;
        if half(object + 64) & OWNS_DATA != 0 {
            data = if dimensions == 0 { value_bytes(object) } else { 0 };
            for place in 0..dimensions {
                let length = word(word(object + 32) + 8 * place);
                let stride = word(word(object + 40) + 8 * place).cast_signed().unsigned_abs();
                data = data.max(length.saturating_mul(stride));
            }
        }
        data.min(BYTES_MAX) + 16 * dimensions
    }
}

/// The kind of a dict's entries: with or without a hash.
///
/// # Safety
/// `keys` is a dict's table of keys.
pub unsafe fn entries_of(keys: u64) -> Entries {
    // SAFETY: as the caller promises.
    unsafe {
        let (index_bits, kind) = (byte(keys + 9), byte(keys + 10));
        let first = keys + KEYS_HEADER + (1_u64 << index_bits.min(43));
        let count = word(keys + 24).min(1 << 40);
        match kind {
            0 => Entries { first: first + 8, count, step: 24, kind },
            _ => Entries { first, count, step: 16, kind },
        }
    }
}

/// Pairs of key and value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entries {
    /// Of the first key; its value follows.
    pub first: u64,
    pub count: u64,
    pub step: u64,
    pub kind: u8,
}

impl Entries {
    /// Keys that `tp_traverse` leaves out, since they are str.
    pub const fn has_str_keys_only(self) -> bool {
        self.kind == KEYS_UNICODE || self.kind == KEYS_SPLIT
    }

    pub const fn is_shared(self) -> bool {
        self.kind == KEYS_SPLIT
    }
}

/// Whether an object is of exactly this type.
///
/// # Safety
/// `object` is alive.
pub unsafe fn is_exactly(object: u64, class: u64) -> bool {
    // SAFETY: as the caller promises.
    unsafe { word(object + TYPE) == class }
}

#[cfg(test)]
mod tests {
    use super::{array_bytes, values_bytes};
    use crate::classes::{Facts, Kind};
    use crate::layout::{FLAG_INLINE_VALUES, TYPE, of};
    use crate::made::{class, made};

    /// As tracemalloc has it on CPython 3.13.0: 72 bytes a late instance without attributes, 80, 88 and 96 with one, two and three; 328 the first.
    #[test]
    fn inline_attributes_have_the_room_that_the_keys_had() {
        const OWN_BYTES: u64 = 16;
        const BEFORE_BYTES: u64 = 32;
        // Room that the instance keeps, keys that are free now, keys with a name; bytes.
        let instances = [
            (1, 1, 0, 72),
            (1, 0, 1, 72),
            (2, 1, 1, 80),
            (3, 1, 2, 88),
            (4, 1, 3, 96),
            (29, 29, 0, 328),
            (29, 1, 2, 328),
            (28, 28, 0, 320),
        ];
        for minor in [13, 14, 15] {
            let objects = of(minor).unwrap();
            for (kept, free, named, expected) in instances {
                let keys = made(4, &[(16, free), (24, named)]);
                let facts = Facts {
                    class: made(112, &[(objects.type_cached_keys, keys)]),
                    flags: FLAG_INLINE_VALUES,
                    basic_bytes: OWN_BYTES,
                    item_bytes: 0,
                    traverse: 0,
                    is_gc: 0,
                    before_bytes: BEFORE_BYTES,
                    kind: Kind::Other,
                };
                let instance = made(40, &[(OWN_BYTES, kept)]);
                // SAFETY: memory as CPython has it.
                let bytes = unsafe { values_bytes(instance, &facts, &objects) };
                assert_eq!(BEFORE_BYTES + OWN_BYTES + bytes, expected, "3.{minor}: {kept} {free} {named}");
            }
        }
    }

    #[test]
    fn an_array_without_dimensions_has_one_value() {
        // Bytes of a dtype, and where it says how many a value takes; the last one is of a numpy that nobody knows.
        for (dtype_bytes, place, expected) in [(96, 32, 5_000), (120, 40, 5_000), (104, 40, 0)] {
            let dtype = made(15, &[(TYPE, class(dtype_bytes, 0)), (28, 18), (place, 5_000)]);
            for (flags, expected) in [(4, expected), (0, 0)] {
                let array = made(9, &[(56, dtype), (64, flags)]);
                // SAFETY: memory as numpy has it.
                assert_eq!(unsafe { array_bytes(array) }, expected, "{dtype_bytes} {flags}");
            }
            let of_extension = made(15, &[(TYPE, class(dtype_bytes, 0)), (28, 261), (place, 5_000)]);
            // SAFETY: as above.
            assert_eq!(unsafe { array_bytes(made(9, &[(56, of_extension), (64, 4)])) }, 0);
        }
    }
}
