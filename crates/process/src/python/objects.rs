//! Objects of Python in another process: types, texts, numbers, dictionaries, attributes.
//! Owns: the offsets that only a look from outside needs. Never: follows an object whose type is not the exact one it knows, reads more of
//! a dictionary than ENTRIES_MAX. Keeps: I-06, I-07.
//! Sources: CPython 3.11.7, 3.12.1, 3.13.0, 3.14.10, 3.15.2 headers (dictobject.h, pycore_dict.h, longintrepr.h, object.h,
//! pycore_interp_structs.h), printed by offsetof.

use std::ffi::CStr;

use genba_python::find::Python;
use genba_python::memory::{Address, Fault, Memory};

use crate::elf::symbols::RemoteSymbols;
use crate::kernel::memory::Remote;
use genba_python::symbols::Symbols;

const TYPE: u64 = 8;
/// `ob_size` of what has one.
const SIZE: u64 = 16;
const TYPE_NAME: u64 = 24;
const TYPE_BASICSIZE: u64 = 32;
const TYPE_ITEMSIZE: u64 = 40;
const TYPE_FLAGS: u64 = 168;
const MANAGED_DICT: u64 = 1 << 4;
const MODULE_DICT: u64 = 16;
const FLOAT_VALUE: u64 = 16;
const INT_DIGITS: u64 = 24;
const DIGIT_BITS: u64 = 30;
const SET_USED: u64 = 24;
const CELL_CONTENT: u64 = 16;
const DICT_USED: u64 = 16;
const DICT_KEYS: u64 = 32;
const DICT_VALUES: u64 = 40;
const KEYS_LOG2_INDEX_BYTES: u64 = 9;
const KEYS_KIND: u64 = 10;
const KEYS_ENTRIES: u64 = 24;
const KEYS_INDICES: u64 = 32;
/// `DICT_KEYS_GENERAL`: entries with a hash before the key.
const KIND_GENERAL: u8 = 0;
const ENTRIES_MAX: u64 = 1 << 16;
const TYPE_NAME_BYTES_MAX: u64 = 100;
/// An int of more digits is shown by its length only: these fit into 128 bits.
const INT_DIGITS_MAX: u64 = 4;

/// Characters or bytes of a value that are shown.
pub const SHOWN_MAX: u64 = 60;

/// The exact types whose values are shown. `None`: that interpreter does not export it, so nothing is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Types {
    int: Option<u64>,
    float: Option<u64>,
    bool: Option<u64>,
    none: Option<u64>,
    text: u64,
    bytes: u64,
    list: Option<u64>,
    tuple: Option<u64>,
    dict: Option<u64>,
    set: Option<u64>,
    frozenset: Option<u64>,
    bytearray: Option<u64>,
    cell: Option<u64>,
}

impl Types {
    #[must_use]
    pub fn of(python: &Python, symbols: &RemoteSymbols) -> Types {
        let of = |name: &CStr| symbols.address(name);
        Types {
            int: of(c"PyLong_Type"),
            float: of(c"PyFloat_Type"),
            bool: of(c"PyBool_Type"),
            none: of(c"_Py_NoneStruct"),
            text: python.str_type,
            bytes: python.bytes_type,
            list: of(c"PyList_Type"),
            tuple: of(c"PyTuple_Type"),
            dict: of(c"PyDict_Type"),
            set: of(c"PySet_Type"),
            frozenset: of(c"PyFrozenSet_Type"),
            bytearray: of(c"PyByteArray_Type"),
            cell: of(c"PyCell_Type"),
        }
    }
}

/// A value as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub type_name: String,
    /// Of the object itself, without what it refers to. `None`: its type does not say so.
    pub bytes: Option<u64>,
    /// Characters, bytes, items or bits, by the type.
    pub length: Option<u64>,
    /// Only of int, float, bool, None, str and bytes; as Python writes it.
    pub text: Option<String>,
    /// So many of `length` are not in `text`.
    pub cut: u64,
}

/// Reads objects of one interpreter.
#[derive(Clone, Copy)]
pub struct Objects<'a> {
    pub memory: &'a Remote,
    pub python: &'a Python,
    pub types: &'a Types,
}

impl Objects<'_> {
    fn word(&self, at: u64) -> Result<u64, Fault> {
        self.memory.word(Address(at))
    }

    fn type_of(&self, object: u64) -> Result<u64, Fault> {
        self.word(object.wrapping_add(TYPE))
    }

    /// A str, and how many of its characters are left out. Source: CPython 3.11 to 3.15, unicodeobject.h, `PyASCIIObject`.
    ///
    /// # Errors
    /// `Fault`, also of what is no str.
    pub fn text(&self, object: u64, characters_max: u64) -> Result<(String, u64), Fault> {
        let strings = &self.python.layout.strings;
        if self.type_of(object)? != self.types.text {
            return Err(Fault);
        }
        let length = self.word(object + strings.length)?;
        let state = self.memory.half(Address(object + strings.state))?;
        let (kind, compact, ascii) = (u64::from(state >> 2 & 7), state >> 5 & 1 == 1, state >> 6 & 1 == 1);
        if !compact || !matches!(kind, 1 | 2 | 4) || length > 1 << 40 {
            return Err(Fault);
        }
        let shown = length.min(characters_max);
        let from = object + if ascii { strings.ascii } else { strings.compact };
        let mut bytes = vec![0; (shown * kind) as usize];
        self.copy(from, &mut bytes)?;
        let characters = bytes.chunks_exact(kind as usize).map(|unit| {
            let number = unit.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte));
            char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)
        });
        Ok((characters.collect(), length - shown))
    }

    /// By the kept pages: as old as all else of this look.
    fn copy(&self, from: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        for (offset, byte) in (0_u64..).zip(bytes.iter_mut()) {
            *byte = self.memory.byte(Address(from.checked_add(offset).ok_or(Fault)?))?;
        }
        Ok(())
    }

    /// What is shown of an object.
    ///
    /// # Errors
    /// `Fault`: it is not one, or it could not be read.
    pub fn value(&self, object: u64) -> Result<Value, Fault> {
        let class = self.type_of(object)?;
        let is = |known: Option<u64>| known == Some(class);
        let name = self.word(class + TYPE_NAME)?;
        let name = self.memory.c_string(name, TYPE_NAME_BYTES_MAX).ok_or(Fault)?;
        let mut value = Value {
            type_name: String::from_utf8(name).map_err(|_| Fault)?,
            bytes: None,
            length: None,
            text: None,
            cut: 0,
        };
        let (basic, item) = (self.word(class + TYPE_BASICSIZE)?, self.word(class + TYPE_ITEMSIZE)?);
        if basic > 1 << 20 || item > 1 << 20 {
            return Err(Fault);
        }
        value.bytes = (item == 0).then_some(basic);
        if Some(object) == self.types.none {
            value.text = Some("None".to_owned());
        } else if is(self.types.bool) || is(self.types.int) {
            self.int(object, is(self.types.bool), &mut value)?;
        } else if is(self.types.float) {
            value.text = Some(float_words(f64::from_bits(self.word(object + FLOAT_VALUE)?)));
        } else if class == self.types.text {
            let (text, cut) = self.text(object, SHOWN_MAX)?;
            let length = self.word(object + self.python.layout.strings.length)?;
            (value.text, value.length, value.cut) = (Some(quoted(&text)), Some(length), cut);
            value.bytes = None;
        } else if class == self.types.bytes {
            let length = self.word(object + SIZE)?;
            let mut shown = vec![0; length.min(SHOWN_MAX) as usize];
            self.copy(object + self.python.layout.strings.bytes_value, &mut shown)?;
            (value.text, value.length) = (Some(bytes_words(&shown)), Some(length));
            value.cut = length.saturating_sub(SHOWN_MAX);
            value.bytes = basic.checked_add(length.saturating_mul(item));
        } else if is(self.types.list) || is(self.types.tuple) || is(self.types.bytearray) {
            let length = self.word(object + SIZE)?;
            value.length = Some(length);
            if item > 0 {
                value.bytes = Some(basic.saturating_add(length.saturating_mul(item)));
            }
        } else if is(self.types.dict) {
            value.length = Some(self.word(object + DICT_USED)?);
        } else if is(self.types.set) || is(self.types.frozenset) {
            value.length = Some(self.word(object + SET_USED)?);
        }
        Ok(value)
    }

    /// 3.11: the sign is that of `ob_size`; later the lowest bits of the tag (0 positive, 1 zero, 2 negative), the count above bit 2.
    fn int(&self, object: u64, is_bool: bool, value: &mut Value) -> Result<(), Fault> {
        let tag = self.word(object + SIZE)?;
        let (digits, is_negative) = match self.python.layout.minor {
            ..=11 => (tag.cast_signed().unsigned_abs(), tag.cast_signed() < 0),
            _ => (if tag & 3 == 1 { 0 } else { tag >> 3 }, tag & 3 == 2),
        };
        value.bytes = Some(INT_DIGITS + 4 * digits.clamp(1, 1 << 40));
        if digits > INT_DIGITS_MAX {
            let highest = self.memory.half(Address((object + INT_DIGITS).wrapping_add(4 * (digits - 1))))?;
            let bits = DIGIT_BITS * (digits - 1) + u64::from(32 - highest.leading_zeros());
            (value.length, value.cut) = (Some(bits), bits);
            return Ok(());
        }
        let mut number = 0_u128;
        for position in (0..digits).rev() {
            let digit = self.memory.half(Address(object + INT_DIGITS + 4 * position))?;
            number = number << DIGIT_BITS | u128::from(digit);
        }
        value.text = Some(match (is_bool, is_negative) {
            (true, _) => (if number == 0 { "False" } else { "True" }).to_owned(),
            (false, true) => format!("-{number}"),
            (false, false) => number.to_string(),
        });
        Ok(())
    }

    /// What a cell contains, else the object itself. `None`: an empty cell.
    ///
    /// # Errors
    /// `Fault` as `value`.
    pub fn behind_cell(&self, object: u64) -> Result<Option<u64>, Fault> {
        if self.types.cell != Some(self.type_of(object)?) {
            return Ok(Some(object));
        }
        Ok(Some(self.word(object + CELL_CONTENT)?).filter(|&content| content != 0))
    }

    /// The items of an exact tuple.
    ///
    /// # Errors
    /// `Fault`, also of what is no tuple.
    pub fn tuple(&self, object: u64, items_max: u64) -> Result<Vec<u64>, Fault> {
        if self.types.tuple != Some(self.type_of(object)?) {
            return Err(Fault);
        }
        // From 3.14 on the hash lies before the items.
        let first = object + if self.python.layout.minor >= 14 { 32 } else { 24 };
        (0..self.word(object + SIZE)?.min(items_max)).map(|index| self.word(first + 8 * index)).collect()
    }

    /// Bytes of an exact bytes object.
    ///
    /// # Errors
    /// `Fault`, also of what is no bytes object.
    pub fn bytes(&self, object: u64, bytes_max: u64) -> Result<Vec<u8>, Fault> {
        if self.type_of(object)? != self.types.bytes {
            return Err(Fault);
        }
        let mut bytes = vec![0; self.word(object + SIZE)?.min(bytes_max) as usize];
        self.copy(object + self.python.layout.strings.bytes_value, &mut bytes)?;
        Ok(bytes)
    }

    /// The int that fits into 64 bits, as `threading.get_ident` gives it.
    fn small_int(&self, object: u64) -> Result<u64, Fault> {
        if self.types.int != Some(self.type_of(object)?) {
            return Err(Fault);
        }
        let mut value = Value { type_name: String::new(), bytes: None, length: None, text: None, cut: 0 };
        self.int(object, false, &mut value)?;
        value.text.and_then(|text| text.parse().ok()).ok_or(Fault)
    }

    /// Keys and values of an exact dict that are there.
    fn entries(&self, dict: u64) -> Result<Vec<(u64, u64)>, Fault> {
        if self.types.dict != Some(self.type_of(dict)?) {
            return Err(Fault);
        }
        let (keys, values) = (self.word(dict + DICT_KEYS)?, self.word(dict + DICT_VALUES)?);
        let in_keys = self.key_entries(keys)?;
        let mut found = Vec::new();
        for (index, (key, value)) in (0_u64..).zip(in_keys) {
            let value = if values == 0 { value } else { self.word(self.first_value(values) + 8 * index)? };
            if key != 0 && value != 0 {
                found.push((key, value));
            }
        }
        Ok(found)
    }

    /// From 3.13 on four bytes of counts, padded, lie before the values.
    const fn first_value(&self, values: u64) -> u64 {
        values + if self.python.layout.minor >= 13 { 8 } else { 0 }
    }

    /// The slots of a dict's keys; 0 is an empty one.
    fn key_entries(&self, keys: u64) -> Result<Vec<(u64, u64)>, Fault> {
        let kind = self.memory.byte(Address(keys + KEYS_KIND))?;
        let index_bytes = self.memory.byte(Address(keys + KEYS_LOG2_INDEX_BYTES))?;
        let count = self.word(keys + KEYS_ENTRIES)?;
        if kind > 2 || index_bytes > 40 || count > ENTRIES_MAX {
            return Err(Fault);
        }
        let first = keys + KEYS_INDICES + (1 << index_bytes);
        let (step, key) = if kind == KIND_GENERAL { (24, 8) } else { (16, 0) };
        let entry = |index: u64| {
            let at = first + step * index + key;
            Ok((self.word(at)?, self.word(at + 8)?))
        };
        (0..count).map(entry).collect()
    }

    /// The value of a key that is this text.
    fn item(&self, dict: u64, name: &str) -> Result<u64, Fault> {
        let entries = self.entries(dict)?;
        let is_named = |&&(key, _): &&(u64, u64)| self.is_text(key, name);
        entries.iter().find(is_named).map(|&(_, value)| value).ok_or(Fault)
    }

    fn is_text(&self, object: u64, wanted: &str) -> bool {
        self.text(object, wanted.len() as u64 + 1).is_ok_and(|(text, cut)| cut == 0 && text == wanted)
    }

    /// An attribute that lies in the object's own values or dict: in the values that the keys of its class place.
    fn attribute(&self, object: u64, name: &str) -> Result<u64, Fault> {
        let class = self.type_of(object)?;
        if self.word(class + TYPE_FLAGS)? & MANAGED_DICT == 0 {
            return Err(Fault);
        }
        let minor = self.python.layout.minor;
        let (values, dict) = match minor {
            ..=11 => {
                let (values, dict) = (self.word(object - 32)?, self.word(object - 24)?);
                (Some(values).filter(|&values| values != 0), dict)
            }
            12 => match self.word(object - 24)? {
                tagged if tagged & 1 == 1 => (Some(tagged + 1), 0),
                dict => (None, dict),
            },
            _ => {
                let inline = object + self.word(class + TYPE_BASICSIZE)?;
                let is_valid = self.memory.byte(Address(inline + 3))? == 1;
                (is_valid.then_some(inline), self.word(object - 24)?)
            }
        };
        let Some(values) = values else { return self.item(dict, name) };
        let cached_keys = match minor {
            ..=11 => 872,
            12..=14 => 880,
            _ => 888,
        };
        let keys = self.key_entries(self.word(class + cached_keys)?)?;
        let index = keys.iter().position(|&(key, _)| key != 0 && self.is_text(key, name)).ok_or(Fault)?;
        match self.word(self.first_value(values) + 8 * index as u64)? {
            0 => Err(Fault),
            value => Ok(value),
        }
    }

    /// The names of `threading`'s threads, by `threading.get_ident`. A name is left out where it cannot be told.
    ///
    /// # Errors
    /// `Fault`: the program has not imported `threading`, or changes its table at this moment.
    pub fn thread_names(&self) -> Result<Vec<(u64, String)>, Fault> {
        const CHARACTERS_MAX: u64 = 200;
        let layout = &self.python.layout;
        let main = self.word(self.python.runtime.0 + layout.runtime.interpreters_head + 8)?;
        let modules = self.word(main + self.modules_offset()?)?;
        let threading = self.item(modules, "threading")?;
        let active = self.item(self.word(threading + MODULE_DICT)?, "_active")?;
        let named = self.entries(active)?.into_iter().filter_map(|(ident, thread)| {
            let ident = self.small_int(ident).ok()?;
            let (name, _) = self.text(self.attribute(thread, "_name").ok()?, CHARACTERS_MAX).ok()?;
            Some((ident, name))
        });
        Ok(named.collect())
    }

    /// From 3.13 on CPython tells the offset of `imports.modules` itself, before those that find.rs reads.
    fn modules_offset(&self) -> Result<u64, Fault> {
        let offset = match self.python.layout.minor {
            ..=11 => return Ok(888),
            12 => return Ok(944),
            13 => self.word(self.python.runtime.0 + 88)?,
            _ => self.word(self.python.runtime.0 + 96)?,
        };
        if offset < 1 << 20 { Ok(offset) } else { Err(Fault) }
    }
}

/// As Python's `repr`, as far as digits go.
fn float_words(number: f64) -> String {
    match number {
        number if number.is_nan() => "nan".to_owned(),
        number if number.is_infinite() => (if number > 0.0 { "inf" } else { "-inf" }).to_owned(),
        number => format!("{number:?}"),
    }
}

fn quoted(text: &str) -> String {
    let mut page = String::from("'");
    for character in text.chars() {
        match character {
            '\'' => page.push_str("\\'"),
            '\\' => page.push_str("\\\\"),
            '\n' => page.push_str("\\n"),
            '\r' => page.push_str("\\r"),
            '\t' => page.push_str("\\t"),
            control if control.is_control() => page.push_str(&format!("\\x{:02x}", control as u32)),
            plain => page.push(plain),
        }
    }
    page.push('\'');
    page
}

fn bytes_words(bytes: &[u8]) -> String {
    let escaped: String = bytes.iter().map(|&byte| std::ascii::escape_default(byte).to_string()).collect();
    format!("b'{}'", escaped.replace("\\\"", "\""))
}

#[cfg(test)]
mod tests {
    use super::{bytes_words, float_words, quoted};

    #[test]
    fn values_look_as_python_writes_them() {
        assert_eq!(quoted("it's\n\u{1b}Я"), "'it\\'s\\n\\x1bЯ'");
        assert_eq!(bytes_words(b"a\"\x00\xff'"), "b'a\"\\x00\\xff\\''");
        let words: Vec<String> = [1.0, -0.5, f64::NAN, f64::NEG_INFINITY].into_iter().map(float_words).collect();
        assert_eq!(words, ["1.0", "-0.5", "nan", "-inf"]);
    }
}
