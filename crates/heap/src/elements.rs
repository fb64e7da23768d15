//! Objects in numpy's arrays: the elements of arrays of objects, and fields of structured ones.
//! Owns: where they are, as the array's dtype says. Never: believes a dtype whose layout it does not know; tells an object of a view, whose
//! owner tells it.
//! Sources: numpy 1.26 and 2.5, ndarraytypes.h.

use crate::dtypes::{DTYPE, TYPE_NUMBER, layout_of};
use crate::layout::{SIZE, TYPE, TYPE_BASIC_SIZE, TYPE_FLAGS};
use crate::raw::{byte, half, word};
use crate::sizes::entries_of;

/// `PyArrayObject_fields`: data, number of dimensions, dimensions, strides, base, descr, flags.
const DATA: u64 = 16;
const DIMENSIONS: u64 = 24;
const LENGTHS: u64 = 32;
const FLAGS: u64 = 64;
const OWNS_DATA: u32 = 4;
/// Of a dtype.
const OF_OBJECTS: u32 = 17;
/// `numpy.void`: all that have fields, or are arrays within an array.
const OF_STRUCTURES: u32 = 20;
const OBJECT_BYTES: u64 = 8;
const COUNT_MAX: u64 = 1 << 40;
/// Each structure within another one is a call.
const DEPTH_MAX: u32 = 32;

/// `Py_TPFLAGS_LONG_SUBCLASS` and its like.
const IS_INT: u64 = 1 << 24;
const IS_TUPLE: u64 = 1 << 26;
const IS_DICT: u64 = 1 << 29;

/// Tells each object in the memory that an array owns, and 0 where there is none.
pub struct Elements<F> {
    pub minor: u8,
    pub found: F,
}

/// Values of one dtype, evenly apart.
#[derive(Clone, Copy)]
struct Values {
    first: u64,
    count: u64,
    step: u64,
}

/// Of a dtype with objects in it, which is none of objects.
#[derive(Clone, Copy)]
struct Structure {
    bytes: u64,
    /// 0, or where the dtype of the items is: a value is an array of them.
    subarray: u64,
    /// The dict of its fields, or none.
    fields: u64,
}

impl<F: FnMut(u64)> Elements<F> {
    /// # Safety
    /// `array` is an array of numpy's that is alive.
    pub unsafe fn each(&mut self, array: u64) {
        // SAFETY: an array has these fields, and its data is as long as its dimensions say.
        unsafe {
            let (data, dtype) = (word(array + DATA), word(array + DTYPE));
            if data == 0 || dtype == 0 || half(array + FLAGS) & OWNS_DATA == 0 {
                return;
            }
            let dimensions = u64::from(half(array + DIMENSIONS)).min(64);
            let lengths = word(array + LENGTHS);
            let count = (0..dimensions).fold(1_u64, |count, place| count.saturating_mul(word(lengths + 8 * place)));
            let step = bytes_of(dtype);
            if step > 0 {
                self.values(Values { first: data, count: count.min(COUNT_MAX), step }, dtype, DEPTH_MAX);
            }
        }
    }

    /// # Safety
    /// The values are there, and are of this dtype.
    unsafe fn values(&mut self, values: Values, dtype: u64, depth: u32) {
        // SAFETY: as the caller promises.
        unsafe {
            if half(dtype + TYPE_NUMBER) == OF_OBJECTS {
                for place in 0..values.count {
                    (self.found)(word(values.first + place * values.step));
                }
                return;
            }
            let Some(structure) = structure_of(dtype).filter(|_| depth > 0) else { return };
            if structure.subarray != 0 {
                let item = word(structure.subarray);
                let bytes = bytes_of(item);
                let count = structure.bytes.checked_div(bytes).unwrap_or(0);
                for place in 0..values.count {
                    let first = values.first + place * values.step;
                    self.values(Values { first, count, step: bytes }, item, depth - 1);
                }
                return;
            }
            self.fields(values, structure.fields, depth);
        }
    }

    /// # Safety
    /// As `values`, of a dtype with these fields.
    unsafe fn fields(&mut self, values: Values, fields: u64, depth: u32) {
        // SAFETY: as the caller promises; a dict has a table of keys.
        unsafe {
            if !is_a(fields, IS_DICT) || word(fields + 32) == 0 {
                return;
            }
            let entries = entries_of(word(fields + 32));
            for place in 0..entries.count {
                let entry = entries.first + place * entries.step;
                if let Some((dtype, offset)) = field_of(word(entry), word(entry + 8), self.minor) {
                    self.values(Values { first: values.first + offset, ..values }, dtype, depth - 1);
                }
            }
        }
    }
}

/// Its dtype, and where it begins. `None`: it has a title, and this is the entry of that, which says the same again.
///
/// # Safety
/// Key and value of an entry in a dict of fields; 0: there is none.
unsafe fn field_of(key: u64, field: u64, minor: u8) -> Option<(u64, u64)> {
    // SAFETY: as the caller promises: a tuple of dtype, offset and, at times, title. From 3.14 on a hash comes before the items.
    unsafe {
        if !is_a(field, IS_TUPLE) || word(field + SIZE) < 2 {
            return None;
        }
        let items = field + word(word(field + TYPE) + TYPE_BASIC_SIZE);
        if word(field + SIZE) > 2 && word(items + 16) == key {
            return None;
        }
        Some((word(items), offset_of(word(items + 8), minor)?))
    }
}

/// # Safety
/// An object that is alive, or 0.
unsafe fn offset_of(int: u64, minor: u8) -> Option<u64> {
    const DIGITS: u64 = 24;
    const DIGIT_BITS: u32 = 30;
    // SAFETY: an int has so many digits.
    unsafe {
        if !is_a(int, IS_INT) {
            return None;
        }
        let digits = if minor == 11 { word(int + SIZE) } else { word(int + SIZE) >> 3 };
        let digit = |place: u64| u64::from(half(int + DIGITS + 4 * place));
        match digits {
            0 => Some(0),
            1 => Some(digit(0)),
            2 => Some(digit(0) | digit(1) << DIGIT_BITS),
            _ => None,
        }
    }
}

/// Of a value; 0: there are no objects in it, or genba does not know.
///
/// # Safety
/// A dtype that is alive.
unsafe fn bytes_of(dtype: u64) -> u64 {
    // SAFETY: as the caller promises.
    unsafe {
        if half(dtype + TYPE_NUMBER) == OF_OBJECTS {
            return OBJECT_BYTES;
        }
        structure_of(dtype).map_or(0, |structure| structure.bytes)
    }
}

/// # Safety
/// A dtype that is alive.
unsafe fn structure_of(dtype: u64) -> Option<Structure> {
    const HAS_OBJECTS: u8 = 1;
    // SAFETY: a dtype of this number and size has these fields. That of an extension may have the size, and fields of its own there.
    unsafe {
        if half(dtype + TYPE_NUMBER) != OF_STRUCTURES {
            return None;
        }
        let (bytes, flags, subarray) = layout_of(dtype)?;
        if byte(dtype + flags) & HAS_OBJECTS == 0 {
            return None;
        }
        Some(Structure { bytes, subarray: word(dtype + subarray), fields: word(dtype + subarray + 8) })
    }
}

/// # Safety
/// An object that is alive, or 0.
unsafe fn is_a(object: u64, flag: u64) -> bool {
    // SAFETY: as the caller promises.
    object != 0 && unsafe { word(word(object + TYPE) + TYPE_FLAGS) & flag != 0 }
}

#[cfg(test)]
mod tests {
    use super::{DTYPE, Elements, IS_DICT, IS_INT, IS_TUPLE};
    use crate::layout::{SIZE, TYPE};
    use crate::made::{class, made};

    fn int(value: u64) -> u64 {
        made(4, &[(TYPE, class(24, IS_INT)), (SIZE, 1 << 3), (24, value)])
    }

    fn tuple(items: &[u64]) -> u64 {
        let made_of = items.iter().enumerate().map(|(place, item)| (24 + 8 * place as u64, *item));
        let head = [(TYPE, class(24, IS_TUPLE)), (SIZE, items.len() as u64)];
        made(3 + items.len(), &head.into_iter().chain(made_of).collect::<Vec<_>>())
    }

    /// A table with room for eight str keys: an index of eight bytes, and the entries.
    fn dict(entries: &[(u64, u64)]) -> u64 {
        let pairs = entries.iter().enumerate().flat_map(|(place, (key, value))| {
            let at = 40 + 16 * place as u64;
            [(at, *key), (at + 8, *value)]
        });
        let head = [(8, 3), (9, 3), (10, 1), (24, entries.len() as u64)];
        let keys = made(5 + 2 * entries.len(), &head.into_iter().chain(pairs).collect::<Vec<_>>());
        made(6, &[(TYPE, class(48, IS_DICT)), (32, keys)])
    }

    fn of_objects() -> u64 {
        made(15, &[(TYPE, class(120, 0)), (28, 17)])
    }

    fn structured(bytes: u64, subarray: u64, fields: u64) -> u64 {
        made(15, &[(TYPE, class(120, 0)), (28, 20), (32, 1), (40, bytes), (88, subarray), (96, fields)])
    }

    fn found_in(dtype: u64, count: u64, data: &[u8]) -> Vec<u64> {
        let lengths = made(1, &[(0, count)]);
        let data = data.as_ptr().expose_provenance() as u64;
        let array = made(9, &[(16, data), (24, 1), (32, lengths), (DTYPE, dtype), (64, 4)]);
        let mut all = vec![];
        // SAFETY: memory as numpy has it.
        unsafe { Elements { minor: 13, found: |object| all.push(object) }.each(array) };
        all
    }

    #[test]
    fn fields_arrays_in_fields_and_structures_in_structures_are_found() {
        let (title, name) = (made(1, &[]), made(1, &[]));
        // Two objects side by side, and a structure: a byte, then an object.
        let pair = structured(16, made(2, &[(0, of_objects())]), 0);
        let inner = structured(9, 0, dict(&[(name, tuple(&[of_objects(), int(1)]))]));
        let titled = tuple(&[of_objects(), int(1), title]);
        let fields = [
            (made(1, &[]), tuple(&[made(15, &[(TYPE, class(120, 0)), (28, 1)]), int(0)])),
            (name, titled),
            (title, titled),
            (made(1, &[]), tuple(&[pair, int(9)])),
            (made(1, &[]), tuple(&[inner, int(25)])),
        ];
        let value = |first: u64| {
            let mut bytes = vec![0xff];
            [first, first + 1, first + 2].iter().for_each(|object| bytes.extend(object.to_le_bytes()));
            bytes.push(0xff);
            bytes.extend((first + 3).to_le_bytes());
            bytes
        };
        let data = [value(10), value(20)].concat();
        let mut found = found_in(structured(34, 0, dict(&fields)), 2, &data);
        found.sort_unstable();
        assert_eq!(found, [10, 11, 12, 13, 20, 21, 22, 23]);
    }

    #[test]
    fn what_has_no_objects_or_another_layout_is_left_alone() {
        let numbers = made(15, &[(TYPE, class(120, 0)), (28, 12)]);
        let unknown = made(15, &[(TYPE, class(128, 0)), (28, 20), (32, 1), (40, 8)]);
        // Of an extension, whose own fields are no addresses.
        let others = [96, 120].map(|bytes| {
            made(15, &[(TYPE, class(bytes, 0)), (24, 1 << 24), (28, 0xffff_ffff), (32, 1), (40, 8), (88, 1)])
        });
        for dtype in [numbers, unknown, structured(8, 0, 0), others[0], others[1]] {
            assert!(found_in(dtype, 1, &[1; 8]).is_empty());
        }
        let objects = [7_u64.to_le_bytes(), 0_u64.to_le_bytes()].concat();
        assert_eq!(found_in(of_objects(), 2, &objects), [7, 0]);
    }
}
