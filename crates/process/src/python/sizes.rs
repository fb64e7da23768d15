//! How many bytes an object takes, as `sys.getsizeof` says it: its block with what lies in front of it, and the blocks that belong to it alone.
//! Owns: the rules of the exact types that genba knows. Never: asks the object (`__sizeof__` is code of the program); guesses: of another type the
//! block says nothing about what else it owns.
//! crates/heap/src/sizes.rs has the rules of `genba heap`. It reads the process that it is in, and counts attributes to their object, which `sys.getsizeof` does not.
//! Sources: CPython 3.11.7 to 3.15.2, Objects/{dict,list,set,unicode,long,bytearray,type}object.c (`__sizeof__`), Python/sysmodule.c.

use genba_python::memory::{Address, Fault, Memory};

use crate::python::objects::{INT_DIGITS, Objects, SIZE};

const TYPE_BASICSIZE: u64 = 32;
const TYPE_ITEMSIZE: u64 = 40;
const TYPE_FLAGS: u64 = 168;
const TYPE_WEAK_REFERENCES: u64 = 208;
const FLAG_MANAGED_WEAKREF: u64 = 1 << 3;
const FLAG_MANAGED_DICT: u64 = 1 << 4;
const FLAG_HAVE_GC: u64 = 1 << 14;
const GC_HEAD_BYTES: u64 = 16;
/// In front of an object: two words, for its attributes and its weak references.
const PRE_HEADER_BYTES: u64 = 16;
/// Reference count and type: a block of this size has no field that could lead to another one.
const OBJECT_BYTES: u64 = 16;
const KEYS_HEADER: u64 = 32;
/// A bytes object without bytes, with the zero at its end.
const BYTES_HEADER: u64 = 33;
const SET_SMALL_TABLE: u64 = 64;
/// More is a field that was taken for a size.
const BYTES_MAX: u64 = 1 << 46;

impl Objects<'_> {
    /// `None`: of this type it cannot be told.
    ///
    /// # Errors
    /// `Fault`: it is no object, or it could not be read.
    pub(super) fn bytes_of(&self, object: u64, class: u64) -> Result<Option<u64>, Fault> {
        let is = |known: Option<u64>| known == Some(class);
        let types = self.types;
        let (basic, item) = (self.word(class + TYPE_BASICSIZE)?, self.word(class + TYPE_ITEMSIZE)?);
        let flags = self.word(class + TYPE_FLAGS)?;
        if basic > 1 << 20 || item > 1 << 20 {
            return Err(Fault);
        }
        let own = if is(types.int) || is(types.bool) {
            Some(INT_DIGITS + 4 * self.digits(self.word(object + SIZE)?).max(1))
        } else if is(types.float) || Some(object) == types.none {
            Some(basic)
        } else if class == types.text {
            self.str_bytes(object)?
        } else if class == types.bytes || is(types.tuple) {
            Some(basic.saturating_add(self.word(object + SIZE)?.saturating_mul(item)))
        } else if is(types.list) {
            let room = if self.word(object + 24)? == 0 { 0 } else { self.word(object + 32)? };
            Some(basic.saturating_add(room.saturating_mul(8)))
        } else if is(types.dict) {
            Some(basic.saturating_add(self.dict_bytes(object)?))
        } else if is(types.set) || is(types.frozenset) {
            let (mask, table) = (self.word(object + 32)?, self.word(object + 40)?);
            let is_small = table == object + SET_SMALL_TABLE;
            Some(if is_small { basic } else { basic.saturating_add(mask.saturating_add(1).saturating_mul(16)) })
        } else if is(types.bytearray) {
            Some(basic.saturating_add(self.bytearray_bytes(object)?))
        } else if item == 0 && basic == OBJECT_BYTES + if self.has_weak_references(class)? { 8 } else { 0 } {
            Some(basic)
        } else {
            None
        };
        let in_front = if flags & FLAG_HAVE_GC == 0 { 0 } else { GC_HEAD_BYTES }
            + if flags & self.pre_header_flags() == 0 { 0 } else { PRE_HEADER_BYTES };
        own.map_or(Ok(None), |own| {
            let bytes = own.saturating_add(in_front);
            if bytes > BYTES_MAX { Err(Fault) } else { Ok(Some(bytes)) }
        })
    }

    fn str_bytes(&self, object: u64) -> Result<Option<u64>, Fault> {
        let strings = &self.python.layout.strings;
        let length = self.word(object + strings.length)?;
        let state = self.memory.half(Address(object + strings.state))?;
        let (kind, is_compact, is_ascii) = (u64::from(state >> 2 & 7), state >> 5 & 1 == 1, state >> 6 & 1 == 1);
        // 3.11 may keep the text a second time, as `wchar_t`.
        let has_second = self.python.layout.minor <= 11 && self.word(object + strings.ascii - 8)? != 0;
        if !is_compact || has_second || length > BYTES_MAX / 4 {
            return Ok(None);
        }
        if is_ascii {
            return Ok(Some(strings.ascii + length + 1));
        }
        // The text as UTF-8, once it was asked for.
        let utf8 = if self.word(object + strings.ascii + 8)? == 0 { 0 } else { self.word(object + strings.ascii)? + 1 };
        Ok(Some((strings.compact + (length + 1) * kind).saturating_add(utf8)))
    }

    /// Its table of keys, unless others share it, and its values, where they are apart from the keys.
    fn dict_bytes(&self, object: u64) -> Result<u64, Fault> {
        let (keys, values) = (self.word(object + 32)?, self.word(object + 40)?);
        let references = self.word(keys)?;
        let header = self.word(keys + 8)?;
        let [size_bits, index_bits, kind] = [header, header >> 8, header >> 16].map(|byte| byte & 0xff);
        if size_bits > 40 || index_bits > 43 {
            return Err(Fault);
        }
        let entry = if kind == 0 { 24 } else { 16 };
        let own = if references == 1 { KEYS_HEADER + (1 << index_bits) + (2 << size_bits) / 3 * entry } else { 0 };
        let room = self.word(keys + 16)?.wrapping_add(self.word(keys + 24)?);
        Ok(own.saturating_add(if values == 0 { 0 } else { room.min(BYTES_MAX).saturating_mul(8) }))
    }

    /// From 3.15 on the buffer is a bytes object.
    fn bytearray_bytes(&self, object: u64) -> Result<u64, Fault> {
        let room = self.word(object + 24)?;
        Ok(if room > 0 && self.python.layout.minor >= 15 { room.saturating_add(BYTES_HEADER) } else { room })
    }

    /// A list of weak references is the first field of the object, as in each class of 3.11. They are objects of their own.
    fn has_weak_references(&self, class: u64) -> Result<bool, Fault> {
        Ok(self.word(class + TYPE_WEAK_REFERENCES)? == OBJECT_BYTES)
    }

    const fn pre_header_flags(&self) -> u64 {
        match self.python.layout.minor {
            ..=11 => FLAG_MANAGED_DICT,
            _ => FLAG_MANAGED_DICT | FLAG_MANAGED_WEAKREF,
        }
    }
}
