//! Objects of Python, read without running any: texts, dictionaries, attributes.
//! Owns: the offsets of dicts and of instances. Never: follows an object whose type is not the exact one it knows, reads more of a dictionary
//! than ENTRIES_MAX, believes that what it read stood still: who calls it reads twice, or knows better. Keeps: I-06, I-07.
//! Sources: CPython 3.11.7, 3.12.1, 3.13.0, 3.14.10, 3.15.2 headers (dictobject.h, pycore_dict.h, longintrepr.h, object.h,
//! pycore_interp_structs.h), printed by offsetof; Objects/dictobject.c (`lookdict`).

use crate::find::Python;
use crate::memory::{Address, Fault, Memory};

const TYPE: u64 = 8;
const TYPE_BASICSIZE: u64 = 32;
const TYPE_FLAGS: u64 = 168;
const MANAGED_DICT: u64 = 1 << 4;
const MODULE_DICT: u64 = 16;
const DICT_KEYS: u64 = 32;
const DICT_VALUES: u64 = 40;
const KEYS_LOG2_SIZE: u64 = 8;
const KEYS_LOG2_INDEX_BYTES: u64 = 9;
const KEYS_KIND: u64 = 10;
const KEYS_ENTRIES: u64 = 24;
const KEYS_INDICES: u64 = 32;
/// `DICT_KEYS_GENERAL`: entries with a hash before the key.
const KIND_GENERAL: u8 = 0;
const KIND_MAX: u8 = 2;
const ENTRIES_MAX: u64 = 1 << 16;
const LOG2_MAX: u8 = 32;
/// Slots of a hash table that are looked at for one key.
const PROBES_MAX: usize = 256;
const PERTURB_BITS: u32 = 5;
/// An int below has itself as its hash (`_PyHASH_MODULUS`).
const OWN_HASH_END: u64 = (1 << 61) - 1;

/// Reads objects of one interpreter.
#[derive(Debug)]
pub struct Objects<'a, M> {
    pub memory: &'a M,
    pub python: &'a Python,
}

/// The keys of a dict as they lie in memory: entries in the order in which they came.
#[derive(Clone, Copy)]
struct Keys {
    kind: u8,
    log2_size: u8,
    log2_index_bytes: u8,
    address: u64,
    count: u64,
}

impl Keys {
    const fn entry(&self, index: u64) -> u64 {
        let step = if self.kind == KIND_GENERAL { 24 } else { 16 };
        self.address.wrapping_add(KEYS_INDICES + (1 << self.log2_index_bytes) + step * index)
    }
}

impl<M: Memory> Objects<'_, M> {
    /// The word so many bytes behind the beginning of an object.
    ///
    /// # Errors
    /// `Fault` as `Memory::word`.
    pub fn field(&self, object: u64, offset: u64) -> Result<u64, Fault> {
        self.memory.word(Address(object).at(offset))
    }

    /// # Errors
    /// `Fault` as `Memory::word`.
    pub fn type_of(&self, object: u64) -> Result<u64, Fault> {
        self.field(object, TYPE)
    }

    /// Keys and values of an exact dict that are there, for as long as `next` wants more.
    ///
    /// # Errors
    /// `Fault`, also of what is no dict.
    pub fn entries(&self, dict: u64, mut next: impl FnMut(u64, u64) -> bool) -> Result<(), Fault> {
        let (keys, values) = self.parts(dict)?;
        for index in 0..keys.count {
            let (key, value) = self.entry(&keys, values, index)?;
            if key != 0 && value != 0 && !next(key, value) {
                break;
            }
        }
        Ok(())
    }

    /// The value of a key that is this text.
    ///
    /// # Errors
    /// `Fault`: there is none, or this is no dict.
    pub fn item(&self, dict: u64, name: &str) -> Result<u64, Fault> {
        let mut found = Err(Fault);
        self.entries(dict, |key, value| {
            let is_named = self.is_text(key, name);
            if is_named {
                found = Ok(value);
            }
            !is_named
        })?;
        found
    }

    /// The value of a key that is this int, by way of the hash table.
    ///
    /// # Errors
    /// As `item`.
    pub fn item_of_int(&self, dict: u64, number: u64) -> Result<u64, Fault> {
        let (keys, values) = self.parts(dict)?;
        let width = keys.log2_index_bytes.wrapping_sub(keys.log2_size);
        if keys.kind != KIND_GENERAL || width > 3 || number >= OWN_HASH_END {
            return Err(Fault);
        }
        let mask = (1_u64 << keys.log2_size) - 1;
        let (mut slot, mut perturb) = (number & mask, number);
        for _ in 0..PROBES_MAX {
            let bits = 8 << width;
            let word = self.field(keys.address, KEYS_INDICES + (slot << width))? << (64 - bits);
            let index = word.cast_signed() >> (64 - bits);
            // -1: free, so the key is not there; -2: another one was.
            if index == -1 {
                break;
            }
            if let Ok(index) = u64::try_from(index)
                && index < keys.count
                && self.field(keys.entry(index), 0)? == number
            {
                let (key, value) = self.entry(&keys, values, index)?;
                if key != 0 && value != 0 && self.python.int_type == Some(self.type_of(key)?) {
                    return Ok(value);
                }
            }
            perturb >>= PERTURB_BITS;
            slot = slot.wrapping_mul(5).wrapping_add(perturb).wrapping_add(1) & mask;
        }
        Err(Fault)
    }

    /// The value that a module has for a name of its own.
    ///
    /// # Errors
    /// `Fault`: this interpreter has not imported the module, or the module has no such name.
    pub fn global(&self, interpreter: Address, module: &str, name: &str) -> Result<u64, Fault> {
        let modules = self.field(interpreter.0, self.modules_offset()?)?;
        let module = self.item(modules, module)?;
        self.item(self.field(module, MODULE_DICT)?, name)
    }

    /// From 3.13 on CPython tells the offset of `imports.modules` itself, before those that find.rs reads.
    fn modules_offset(&self) -> Result<u64, Fault> {
        let runtime = self.python.runtime.0;
        let offset = match self.python.layout.minor {
            ..=11 => return Ok(888),
            12 => return Ok(944),
            13 => self.field(runtime, 88)?,
            _ => self.field(runtime, 96)?,
        };
        if offset < 1 << 20 { Ok(offset) } else { Err(Fault) }
    }

    /// An attribute that lies in the object's own values or dict: in the values that the keys of its class place.
    ///
    /// # Errors
    /// `Fault`: it is not there.
    pub fn attribute(&self, object: u64, name: &str) -> Result<u64, Fault> {
        let class = self.type_of(object)?;
        if self.field(class, TYPE_FLAGS)? & MANAGED_DICT == 0 {
            return Err(Fault);
        }
        let minor = self.python.layout.minor;
        let before = |bytes: u64| self.field(object.wrapping_sub(bytes), 0);
        let (values, dict) = match minor {
            ..=11 => {
                let (values, dict) = (before(32)?, before(24)?);
                (Some(values).filter(|&values| values != 0), dict)
            }
            12 => match before(24)? {
                tagged if tagged & 1 == 1 => (Some(tagged.wrapping_add(1)), 0),
                dict => (None, dict),
            },
            _ => {
                let inline = Address(object).at(self.field(class, TYPE_BASICSIZE)?);
                let is_valid = self.memory.byte(inline.at(3))? == 1;
                (is_valid.then_some(inline.0), before(24)?)
            }
        };
        let Some(values) = values else { return self.item(dict, name) };
        let cached_keys = match minor {
            ..=11 => 872,
            12..=14 => 880,
            _ => 888,
        };
        let keys = self.keys(self.field(class, cached_keys)?)?;
        for index in 0..keys.count {
            let (key, _) = self.entry(&keys, 0, index)?;
            if key != 0 && self.is_text(key, name) {
                let value = self.field(values, self.value_at(index))?;
                return if value == 0 { Err(Fault) } else { Ok(value) };
            }
        }
        Err(Fault)
    }

    /// The keys of an exact dict, and its values where they lie apart; else 0.
    fn parts(&self, dict: u64) -> Result<(Keys, u64), Fault> {
        if self.python.dict_type != Some(self.type_of(dict)?) {
            return Err(Fault);
        }
        Ok((self.keys(self.field(dict, DICT_KEYS)?)?, self.field(dict, DICT_VALUES)?))
    }

    fn keys(&self, address: u64) -> Result<Keys, Fault> {
        let byte = |offset: u64| self.memory.byte(Address(address).at(offset));
        let keys = Keys {
            kind: byte(KEYS_KIND)?,
            log2_size: byte(KEYS_LOG2_SIZE)?,
            log2_index_bytes: byte(KEYS_LOG2_INDEX_BYTES)?,
            address,
            count: self.field(address, KEYS_ENTRIES)?,
        };
        let is_possible = keys.kind <= KIND_MAX && keys.log2_size <= LOG2_MAX && keys.log2_index_bytes <= LOG2_MAX;
        let is_possible = is_possible && keys.count <= ENTRIES_MAX;
        if is_possible { Ok(keys) } else { Err(Fault) }
    }

    /// A slot: 0 where nothing is in it.
    fn entry(&self, keys: &Keys, values: u64, index: u64) -> Result<(u64, u64), Fault> {
        let (at, key) = (keys.entry(index), if keys.kind == KIND_GENERAL { 8 } else { 0 });
        let value = if values == 0 { self.field(at, key + 8) } else { self.field(values, self.value_at(index)) };
        Ok((self.field(at, key)?, value?))
    }

    /// From 3.13 on four bytes of counts, padded, lie before the values.
    const fn value_at(&self, index: u64) -> u64 {
        8 * index + if self.python.layout.minor >= 13 { 8 } else { 0 }
    }

    /// Whether an object is this str of ASCII letters.
    fn is_text(&self, object: u64, wanted: &str) -> bool {
        let strings = &self.python.layout.strings;
        let length = wanted.len() as u64;
        let is_str = || self.type_of(object) == Ok(self.python.str_type);
        if !is_str() || self.field(object, strings.length) != Ok(length) {
            return false;
        }
        // ASCII, of one byte a letter, behind the object.
        let state = self.memory.half(Address(object).at(strings.state));
        let is_plain = state.is_ok_and(|state| state >> 2 & 7 == 1 && state >> 5 & 3 == 3);
        let byte = |index: u64| self.memory.byte(Address(object).at(strings.ascii + index));
        is_plain && wanted.bytes().zip(0..).all(|(letter, index)| byte(index) == Ok(letter))
    }
}
