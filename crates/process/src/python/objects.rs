//! Objects of Python in another process: types, texts, numbers.
//! Owns: the offsets that only a look from outside needs, except those for sizes (sizes.rs). Never: follows an object whose type is not the exact one it knows. Keeps: I-06, I-07.
//! Partner: crates/python/src/interpreter/objects.rs, which reads dictionaries and attributes.
//! Sources: CPython 3.11.7, 3.12.1, 3.13.0, 3.14.10, 3.15.2 headers (dictobject.h, pycore_dict.h, longintrepr.h, object.h,
//! pycore_interp_structs.h), printed by offsetof.

use std::ffi::CStr;

use genba_python::code_capture::letters;
use genba_python::find::Python;
use genba_python::interpreter::thread_names;
use genba_python::memory::{Address, Fault, Memory};

use crate::elf::symbols::RemoteSymbols;
use crate::kernel::memory::Remote;
use genba_python::symbols::Symbols;

const TYPE: u64 = 8;
/// `ob_size` of what has one.
pub(super) const SIZE: u64 = 16;
const TYPE_NAME: u64 = 24;
const FLOAT_VALUE: u64 = 16;
pub(super) const INT_DIGITS: u64 = 24;
const LIST_ITEMS: u64 = 24;
const DIGIT_BITS: u64 = 30;
const SET_USED: u64 = 24;
const CELL_CONTENT: u64 = 16;
const DICT_USED: u64 = 16;
const TYPE_NAME_BYTES_MAX: u64 = 100;
/// An int of more digits is shown by its length only: these fit into 128 bits.
const INT_DIGITS_MAX: u64 = 4;

/// Characters or bytes of a value that are shown.
pub const SHOWN_MAX: u64 = 60;

/// The exact types whose values are shown. `None`: that interpreter does not export it, so nothing is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Types {
    pub(super) int: Option<u64>,
    pub(super) float: Option<u64>,
    pub(super) bool: Option<u64>,
    pub(super) none: Option<u64>,
    pub(super) text: u64,
    pub(super) bytes: u64,
    pub(super) list: Option<u64>,
    pub(super) tuple: Option<u64>,
    pub(super) dict: Option<u64>,
    pub(super) set: Option<u64>,
    pub(super) frozenset: Option<u64>,
    pub(super) bytearray: Option<u64>,
    cell: Option<u64>,
}

impl Types {
    #[must_use]
    pub fn of(python: &Python, symbols: &RemoteSymbols) -> Types {
        let of = |name: &CStr| symbols.address(name);
        Types {
            int: python.int_type,
            float: of(c"PyFloat_Type"),
            bool: of(c"PyBool_Type"),
            none: of(c"_Py_NoneStruct"),
            text: python.str_type,
            bytes: python.bytes_type,
            list: of(c"PyList_Type"),
            tuple: of(c"PyTuple_Type"),
            dict: python.dict_type,
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
    /// As `sys.getsizeof` counts. `None`: only code of its type could say it (sizes.rs).
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
    pub(super) fn word(&self, at: u64) -> Result<u64, Fault> {
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
        Ok((letters(&bytes, kind as u8).ok_or(Fault)?, length - shown))
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
            bytes: self.bytes_of(object, class)?,
            length: None,
            text: None,
            cut: 0,
        };
        if Some(object) == self.types.none {
            value.text = Some("None".to_owned());
        } else if is(self.types.bool) || is(self.types.int) {
            self.int(object, is(self.types.bool), &mut value)?;
        } else if is(self.types.float) {
            value.text = Some(float_words(f64::from_bits(self.word(object + FLOAT_VALUE)?)));
        } else if class == self.types.text {
            let (text, cut) = self.text(object, SHOWN_MAX)?;
            let length = self.word(object + self.python.layout.strings.length)?;
            (value.text, value.length, value.cut) = (Some(genba_text::repr(&text)), Some(length), cut);
        } else if class == self.types.bytes {
            let length = self.word(object + SIZE)?;
            let mut shown = vec![0; length.min(SHOWN_MAX) as usize];
            self.copy(object + self.python.layout.strings.bytes_value, &mut shown)?;
            (value.text, value.length) = (Some(bytes_words(&shown)), Some(length));
            value.cut = length.saturating_sub(SHOWN_MAX);
        } else if is(self.types.list) || is(self.types.tuple) || is(self.types.bytearray) {
            value.length = Some(self.word(object + SIZE)?);
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
        let digits = self.digits(tag);
        let is_negative = match self.python.layout.minor {
            ..=11 => tag.cast_signed() < 0,
            _ => tag & 3 == 2,
        };
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

    /// How many digits an int has whose tag this is.
    pub(super) const fn digits(&self, tag: u64) -> u64 {
        match self.python.layout.minor {
            ..=11 => tag.cast_signed().unsigned_abs(),
            _ if tag & 3 == 1 => 0,
            _ => tag >> 3,
        }
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
        let items = self.length_of_tuple(object)?;
        // From 3.14 on the hash lies before the items.
        let first = object + if self.python.layout.minor >= 14 { 32 } else { 24 };
        (0..items.min(items_max)).map(|index| self.word(first + 8 * index)).collect()
    }

    /// The items of an exact list.
    ///
    /// # Errors
    /// `Fault`, also of what is no list, or has more items.
    pub(super) fn list(&self, object: u64, items_max: u64) -> Result<Vec<u64>, Fault> {
        if self.types.list != Some(self.type_of(object)?) {
            return Err(Fault);
        }
        let items = self.word(object.wrapping_add(SIZE))?;
        if items > items_max {
            return Err(Fault);
        }
        let first = self.word(object.wrapping_add(LIST_ITEMS))?;
        (0..items).map(|index| self.word(first.wrapping_add(8 * index))).collect()
    }

    /// How many items an exact tuple has.
    ///
    /// # Errors
    /// `Fault`, also of what is no tuple.
    pub fn length_of_tuple(&self, object: u64) -> Result<u64, Fault> {
        if self.types.tuple != Some(self.type_of(object)?) {
            return Err(Fault);
        }
        self.word(object + SIZE)
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

    /// The names of `threading`'s threads, by `threading.get_ident`. A name is left out where it cannot be told.
    ///
    /// # Errors
    /// `Fault`: the program has not imported `threading`, or changes its table at this moment.
    pub fn thread_names(&self) -> Result<Vec<(u64, String)>, Fault> {
        let objects = genba_python::interpreter::objects::Objects { memory: self.memory, python: self.python };
        thread_names::all(&objects, self.main_interpreter()?, |ident| self.small_int(ident).ok())
    }

    /// Its address follows the head of the list of interpreters.
    pub(super) fn main_interpreter(&self) -> Result<Address, Fault> {
        self.word(self.python.runtime.0 + self.python.layout.runtime.interpreters_head + 8).map(Address)
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

fn bytes_words(bytes: &[u8]) -> String {
    let escaped: String = bytes.iter().map(|&byte| std::ascii::escape_default(byte).to_string()).collect();
    format!("b'{}'", escaped.replace("\\\"", "\""))
}

#[cfg(test)]
mod tests {
    use super::{bytes_words, float_words};

    #[test]
    fn values_look_as_python_writes_them() {
        assert_eq!(bytes_words(b"a\"\x00\xff'"), "b'a\"\\x00\\xff\\''");
        let words: Vec<String> = [1.0, -0.5, f64::NAN, f64::NEG_INFINITY].into_iter().map(float_words).collect();
        assert_eq!(words, ["1.0", "-0.5", "nan", "-inf"]);
    }
}
