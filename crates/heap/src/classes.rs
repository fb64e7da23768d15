//! The table of classes that a walk has met: how many objects and bytes each has, and how its objects are read.
//! Owns: the rows, and which kind a class is. Never: believes a name that a program can give: kinds go by CPython's own types, and by the
//! names of static ones.

use crate::ground::{Ground, NoMemory};
use crate::layout::{
    FLAG_HAVE_GC, FLAG_HEAP_TYPE, FLAG_IMMUTABLE, FLAG_MANAGED_DICT, FLAG_MANAGED_WEAKREF, FLAG_NO_INSTANTIATION,
    GC_HEAD_BYTES, TYPE_BASE, TYPE_BASIC_SIZE, TYPE_FLAGS, TYPE_IS_GC, TYPE_ITEM_SIZE, TYPE_NAME, TYPE_TRAVERSE, Types,
};
use crate::members::has_members;
use crate::names::c_text;
use crate::raw::word;

/// How the objects of a class are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Other,
    /// Nothing but the members of its class in C says what it refers to.
    Members,
    Str,
    Int,
    Bytes,
    ByteArray,
    List,
    Dict,
    Set,
    Code,
    Range,
    Type,
    Descriptor,
    Generator,
    Frame,
    DateTime,
    Time,
    /// `datetime.timezone`.
    Zone,
    /// `numpy.ndarray`.
    Array,
    /// `array.array`.
    Packed,
    Deque,
    /// A dict, too.
    Ordered,
    BytesIo,
    StringIo,
    Buffered,
    /// `mmap.mmap`.
    Mapping,
    Queue,
    /// An object of ctypes.
    CData,
    Element,
    Decimal,
    /// `zlib.decompressobj()`. From 3.14 on the collector knows it, and its `tp_traverse` tells nothing but its class.
    Inflater,
    DirEntry,
}

/// So many classes have a row; objects of all others share one.
pub const CLASSES_MAX: usize = 1 << 16;
pub const NAME_BYTES: usize = 96;
const INDEX: usize = CLASSES_MAX * 4;
const BASES_MAX: usize = 256;
/// The row of the classes that have none.
pub const OTHERS: usize = 0;

/// One class. The rows lie in memory that the program and its copy share, so what a copy had counted when it died is known.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Row {
    /// Address of the type; 0: `OTHERS`.
    pub class: u64,
    pub count: u64,
    pub bytes: u64,
    /// Of `tp_name`, as much as there is room for, up to a zero.
    pub name: [u8; NAME_BYTES],
}

/// What is known of a class beside its row.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub class: u64,
    pub flags: u64,
    pub basic_bytes: u64,
    pub item_bytes: u64,
    pub traverse: u64,
    pub is_gc: u64,
    /// In front of an object that the collector knows.
    pub before_bytes: u64,
    pub kind: Kind,
}

pub struct Classes {
    rows: *mut Row,
    facts: *mut Facts,
    /// Open addressing: row + 1 at a place that the type's address gives; 0: none.
    index: *mut u32,
    len: usize,
    types: Types,
    minor: u8,
    last: (u64, usize),
}

/// Bytes of the rows' memory, which the caller gives.
pub const ROWS_BYTES: usize = CLASSES_MAX * size_of::<Row>();

impl Classes {
    /// # Safety
    /// `rows` has `ROWS_BYTES` bytes, zero, for this table alone while it lives.
    pub unsafe fn new(rows: *mut Row, types: Types, minor: u8, ground: &impl Ground) -> Option<Classes> {
        let facts = ground.map(CLASSES_MAX * size_of::<Facts>()).cast::<Facts>();
        let index = ground.map(INDEX * 4).cast::<u32>();
        if facts.is_null() || index.is_null() {
            return None;
        }
        let others = Facts {
            class: 0,
            flags: 0,
            basic_bytes: 0,
            item_bytes: 0,
            traverse: 0,
            is_gc: 0,
            before_bytes: 0,
            kind: Kind::Other,
        };
        // SAFETY: the first of each.
        unsafe { facts.add(OTHERS).write(others) };
        Some(Classes { rows, facts, index, len: 1, types, minor, last: (0, OTHERS) })
    }

    pub fn give_back(self, ground: &impl Ground) {
        // SAFETY: both mappings are this table's own, and it is consumed.
        unsafe {
            ground.unmap(self.facts.cast(), CLASSES_MAX * size_of::<Facts>());
            ground.unmap(self.index.cast(), INDEX * 4);
        }
    }

    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Rows below `len`.
    #[must_use]
    pub fn row(&self, row: usize) -> Row {
        // SAFETY: below CLASSES_MAX.
        unsafe { *self.rows.add(row.min(CLASSES_MAX - 1)) }
    }

    #[inline]
    pub fn facts(&self, row: usize) -> Facts {
        // SAFETY: below CLASSES_MAX.
        unsafe { *self.facts.add(row.min(CLASSES_MAX - 1)) }
    }

    /// What is known of a class that has this row, or shares `OTHERS` with all those that have none.
    ///
    /// # Safety
    /// `class` is a type that is alive, and the row is its own.
    #[inline]
    pub unsafe fn facts_for(&self, row: usize, class: u64) -> Facts {
        match row {
            // SAFETY: as the caller promises.
            OTHERS => unsafe { self.facts_of(class) },
            row => self.facts(row),
        }
    }

    #[inline]
    pub fn add(&mut self, row: usize, bytes: u64) {
        // SAFETY: below CLASSES_MAX, and nobody else writes it.
        unsafe {
            let row = &mut *self.rows.add(row.min(CLASSES_MAX - 1));
            row.count = row.count.wrapping_add(1);
            row.bytes = row.bytes.wrapping_add(bytes);
        }
    }

    /// The row of a type that has one, or `OTHERS`.
    #[must_use]
    pub fn known(&self, class: u64) -> usize {
        let mut place = place_of(class);
        for _ in 0..INDEX {
            // SAFETY: below INDEX.
            let found = unsafe { *self.index.add(place & (INDEX - 1)) };
            if found == 0 {
                return OTHERS;
            }
            let row = found as usize - 1;
            if self.facts(row).class == class {
                return row;
            }
            place = place.wrapping_add(1);
        }
        OTHERS
    }

    /// No object was counted.
    pub fn forget(&mut self) {
        for row in 0..self.len.min(CLASSES_MAX) {
            // SAFETY: below CLASSES_MAX, and nobody else writes it.
            let row = unsafe { &mut *self.rows.add(row) };
            (row.count, row.bytes) = (0, 0);
        }
    }

    /// The row of a type, and whether it is new.
    ///
    /// # Safety
    /// `class` is a type that is alive.
    #[inline]
    pub unsafe fn of(&mut self, class: u64) -> Result<(usize, bool), NoMemory> {
        if self.last.0 == class {
            return Ok((self.last.1, false));
        }
        let mut place = place_of(class);
        for _ in 0..INDEX {
            place &= INDEX - 1;
            // SAFETY: below INDEX.
            let found = unsafe { *self.index.add(place) };
            if found == 0 {
                break;
            }
            let row = found as usize - 1;
            if self.facts(row).class == class {
                self.last = (class, row);
                return Ok((row, false));
            }
            place = place.wrapping_add(1);
        }
        if self.len >= CLASSES_MAX {
            return Ok((OTHERS, false));
        }
        let row = self.len;
        self.len += 1;
        // SAFETY: a type that is alive; the row, the facts and the place in the index are within their tables.
        unsafe {
            *self.index.add(place & (INDEX - 1)) = row as u32 + 1;
            let facts = self.facts_of(class);
            self.facts.add(row).write(facts);
            let row = &mut *self.rows.add(row);
            row.class = class;
            c_text(word(class + TYPE_NAME), &mut row.name);
        }
        self.last = (class, row);
        Ok((row, true))
    }

    /// # Safety
    /// `class` is a type that is alive.
    unsafe fn facts_of(&self, class: u64) -> Facts {
        // SAFETY: a type has these fields.
        unsafe {
            let flags = word(class + TYPE_FLAGS);
            let managed = match self.minor {
                11 => FLAG_MANAGED_DICT,
                _ => FLAG_MANAGED_DICT | FLAG_MANAGED_WEAKREF,
            };
            let has_gc = flags & FLAG_HAVE_GC != 0;
            let managed_bytes = if flags & managed != 0 { 16 } else { 0 };
            Facts {
                class,
                flags,
                basic_bytes: word(class + TYPE_BASIC_SIZE),
                item_bytes: word(class + TYPE_ITEM_SIZE),
                traverse: if has_gc { word(class + TYPE_TRAVERSE) } else { 0 },
                is_gc: word(class + TYPE_IS_GC),
                before_bytes: if has_gc { GC_HEAD_BYTES + managed_bytes } else { 0 },
                kind: match self.kind_of(class) {
                    Kind::Other if !has_gc && has_members(class) => Kind::Members,
                    kind => kind,
                },
            }
        }
    }

    /// # Safety
    /// `class` is a type that is alive.
    unsafe fn kind_of(&self, class: u64) -> Kind {
        let types = &self.types;
        let mut base = class;
        for _ in 0..BASES_MAX {
            if base == 0 {
                break;
            }
            let own = match base {
                _ if base == types.str => Kind::Str,
                _ if base == types.int => Kind::Int,
                _ if base == types.bytes => Kind::Bytes,
                _ if base == types.bytearray => Kind::ByteArray,
                _ if base == types.list => Kind::List,
                _ if base == types.dict || base == types.frozendict => Kind::Dict,
                _ if base == types.set || base == types.frozenset => Kind::Set,
                _ if base == types.code => Kind::Code,
                _ if base == types.range => Kind::Range,
                _ if base == types.r#type => Kind::Type,
                _ if base == types.frame => Kind::Frame,
                _ if [types.generator, types.coroutine, types.async_generator].contains(&base) => Kind::Generator,
                _ if self.is_descriptor(base) => Kind::Descriptor,
                // SAFETY: a base of a living type lives.
                _ => unsafe { kind_by_name(base, self.minor) },
            };
            if own != Kind::Other {
                return own;
            }
            // SAFETY: as above.
            base = unsafe { word(base + TYPE_BASE) };
        }
        Kind::Other
    }

    fn is_descriptor(&self, class: u64) -> bool {
        let types = &self.types;
        [
            types.method_descriptor,
            types.class_method_descriptor,
            types.member_descriptor,
            types.getset_descriptor,
            types.wrapper_descriptor,
        ]
        .contains(&class)
    }
}

/// Where the search for a type begins.
const fn place_of(class: u64) -> usize {
    (class >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 20
}

/// Types of extensions have no symbol that could be looked for. The program cannot make a static type, an immutable one, or one that cannot be
/// called.
///
/// # Safety
/// `class` is a type that is alive.
unsafe fn kind_by_name(class: u64, minor: u8) -> Kind {
    // SAFETY: as the caller promises.
    let (flags, name) = unsafe { (word(class + TYPE_FLAGS), word(class + TYPE_NAME)) };
    if flags & FLAG_HEAP_TYPE != 0 && flags & (FLAG_IMMUTABLE | FLAG_NO_INSTANTIATION) == 0 {
        return Kind::Other;
    }
    let mut text = [0; 40];
    // SAFETY: a type has a name, which ends in a zero.
    let len = unsafe { c_text(name, &mut text) };
    match text.get(..len).unwrap_or_default() {
        b"datetime.datetime" => Kind::DateTime,
        b"datetime.time" => Kind::Time,
        b"datetime.timezone" => Kind::Zone,
        b"numpy.ndarray" => Kind::Array,
        // SAFETY: as the caller promises.
        name => kind_by_size(name, unsafe { word(class + TYPE_BASIC_SIZE) }, minor),
    }
}

/// Of the standard library, with fields as private.rs reads them: another `tp_basicsize` is another layout, and then only the object itself is
/// counted.
fn kind_by_size(name: &[u8], basic_bytes: u64, minor: u8) -> Kind {
    let text = if matches!(minor, 12 | 13) { 168 } else { 120 };
    match (name, basic_bytes) {
        (b"array.array", 64) => Kind::Packed,
        (b"collections.deque", 216) => Kind::Deque,
        (b"collections.OrderedDict", 112) => Kind::Ordered,
        (b"_io.BytesIO", 64) => Kind::BytesIo,
        (b"_io.StringIO", bytes) if bytes == text => Kind::StringIo,
        (b"_io.BufferedReader" | b"_io.BufferedWriter" | b"_io.BufferedRandom", 152) => Kind::Buffered,
        (b"mmap.mmap", 80 | 88) => Kind::Mapping,
        // Before 3.13 it has a list.
        (b"_queue.SimpleQueue", 72) => Kind::Queue,
        (b"_ctypes._CData", 96) => Kind::CData,
        (b"xml.etree.ElementTree.Element", 56) => Kind::Element,
        (b"decimal.Decimal", 104) => Kind::Decimal,
        (b"zlib.Decompress", 168) => Kind::Inflater,
        (b"posix.DirEntry", 72) => Kind::DirEntry,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, kind_by_name, kind_by_size};
    use crate::layout::{
        FLAG_HEAP_TYPE, FLAG_IMMUTABLE, FLAG_NO_INSTANTIATION, TYPE_BASIC_SIZE, TYPE_FLAGS, TYPE_NAME,
    };
    use crate::made::made;

    #[test]
    fn a_class_of_another_size_is_not_believed() {
        assert_eq!(kind_by_size(b"array.array", 64, 13), Kind::Packed);
        assert_eq!(kind_by_size(b"array.array", 56, 15), Kind::Other);
        assert_eq!(kind_by_size(b"_io.StringIO", 120, 13), Kind::Other);
        assert_eq!(kind_by_size(b"_queue.SimpleQueue", 56, 11), Kind::Other);
        assert_eq!(kind_by_size(b"array.arrays", 64, 13), Kind::Other);
    }

    #[test]
    fn a_name_that_the_program_can_give_is_not_believed() {
        let name = c"zlib.Decompress".as_ptr().expose_provenance() as u64;
        for (flags, expected) in [
            (0, Kind::Inflater),
            (FLAG_HEAP_TYPE | FLAG_IMMUTABLE, Kind::Inflater),
            (FLAG_HEAP_TYPE | FLAG_NO_INSTANTIATION, Kind::Inflater),
            (FLAG_HEAP_TYPE, Kind::Other),
        ] {
            let class = made(24, &[(TYPE_NAME, name), (TYPE_BASIC_SIZE, 168), (TYPE_FLAGS, flags)]);
            // SAFETY: memory as CPython has it.
            assert_eq!(unsafe { kind_by_name(class, 14) }, expected, "{flags:x}");
        }
    }
}
