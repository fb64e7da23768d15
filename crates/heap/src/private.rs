//! Memory that objects of the standard library's C classes own beside their block.
//! Owns: where it is and how much, by kind, and which buffer is an object's own. Never: asks whether the layout fits (classes.rs has).
//! Sources: CPython 3.11 to 3.15, Modules/{array,_collections,_io/bytesio,_io/stringio,_io/bufferedio,mmap,_queue,_elementtree}module.c and
//! Modules/_ctypes/ctypes.h, Objects/odictobject.c, Modules/_decimal/_decimal.c with libmpdec's mpdecimal.h. The offsets are the same in all of them
//! but where a minor version is named; tests/memory/test_heap_sizes.py holds them against `sys.getsizeof` and the blocks of malloc.

use crate::classes::{Facts, Kind};
use crate::layout::{Objects, SIZE};
use crate::raw::{half, references_of, word};

/// No object has more.
const BYTES_MAX: u64 = 1 << 46;
const POINTER: u64 = 8;

/// Bytes of the blocks that belong to an object alone, without its buffer.
///
/// # Safety
/// `object` is alive, and of the class that `facts` are about.
pub(crate) unsafe fn own_bytes(object: u64, facts: &Facts) -> u64 {
    // SAFETY: objects of these kinds have these fields.
    let bytes = unsafe {
        match facts.kind {
            Kind::Packed => array(object),
            Kind::Deque => deque(object),
            Kind::Ordered => ordered(object),
            // The text in four bytes a character, and what a writer has gathered.
            Kind::StringIo if word(object + 16) != 0 => word(object + 40).saturating_mul(4),
            Kind::Buffered if word(object + 56) != 0 => word(object + 120),
            // A mapping of a file is the file's.
            Kind::Mapping if word(object + 16) != 0 && half(object + 56) == u32::MAX => word(object + 24),
            Kind::Queue if word(object + 40) != 0 => word(object + 48).saturating_mul(POINTER),
            Kind::CData => c_data(object, facts),
            Kind::Element => element(object),
            Kind::Decimal if word(object + 64) != object + 72 => word(object + 56).saturating_mul(8),
            _ => 0,
        }
    };
    bytes.min(BYTES_MAX)
}

unsafe fn array(object: u64) -> u64 {
    // SAFETY: an array has its items, their room, and the description of one.
    unsafe {
        let (items, room, description) = (word(object + 24), word(object + 32), word(object + 40));
        if items == 0 || description == 0 { 0 } else { room.saturating_mul(u64::from(half(description + 4))) }
    }
}

/// Blocks of 64 items and two links, those too that it keeps for later.
unsafe fn deque(object: u64) -> u64 {
    const ITEMS: u64 = 64;
    const BLOCK: u64 = (ITEMS + 2) * POINTER;
    const FREE_MAX: u64 = 16;
    // SAFETY: a deque has these fields.
    let (len, left, free) = unsafe { (word(object + SIZE), word(object + 40), word(object + 72)) };
    let used = left.saturating_add(len).div_ceil(ITEMS).max(1);
    used.saturating_add(free.min(FREE_MAX)).saturating_mul(BLOCK)
}

/// Beside the dict: a node for each key, and a table of them.
unsafe fn ordered(object: u64) -> u64 {
    const NODE: u64 = 4 * POINTER;
    // SAFETY: an OrderedDict begins as a dict, with the number of its keys.
    let (keys, table, table_room) = unsafe { (word(object + 16), word(object + 48), word(object + 72)) };
    keys.saturating_mul(NODE).saturating_add(if table == 0 { 0 } else { table_room.saturating_mul(POINTER) })
}

/// Not where it is within the object, or another one's.
unsafe fn c_data(object: u64, facts: &Facts) -> u64 {
    // SAFETY: each object of ctypes has these fields.
    let (data, is_own, bytes) = unsafe { (word(object + 16), half(object + 24) != 0, word(object + 40)) };
    let is_inside = (object..object.saturating_add(facts.basic_bytes)).contains(&data);
    if data == 0 || !is_own || is_inside { 0 } else { bytes }
}

/// An attribute or a child brings a block with room for four children.
unsafe fn element(object: u64) -> u64 {
    const EXTRA: u64 = 8 * POINTER;
    // SAFETY: an element has these fields.
    unsafe {
        let extra = word(object + 40);
        if extra == 0 {
            return 0;
        }
        let (room, children) = (word(extra + 16), word(extra + 24));
        EXTRA + if children == extra + 32 { 0 } else { room.saturating_mul(POINTER) }
    }
}

/// The `bytes` or the `str` in which an object keeps its content; 0: there is none.
///
/// # Safety
/// As `own_bytes`.
#[inline]
pub(crate) unsafe fn buffer_of(object: u64, kind: Kind, objects: &Objects) -> u64 {
    const ACCUMULATES: u32 = 2;
    // SAFETY: objects of these kinds have these fields.
    unsafe {
        match kind {
            Kind::BytesIo => word(object + 16),
            Kind::ByteArray => objects.bytearray_bytes.map_or(0, |field| word(object + field)),
            // 3.11 gathers str in lists, which the collector tracks.
            Kind::StringIo if objects.minor >= 12 && half(object + 48) == ACCUMULATES => {
                match (objects.minor, word(object + 56)) {
                    (12 | 13, buffer) => buffer,
                    (_, 0) => 0,
                    (_, writer) => word(writer),
                }
            }
            _ => 0,
        }
    }
}

/// Whether nothing else refers to a buffer: it counts with the object then, and is none of its own.
///
/// # Safety
/// From `buffer_of`, and not 0.
#[inline]
pub(crate) unsafe fn is_alone(buffer: u64, minor: u8) -> bool {
    // SAFETY: an object.
    unsafe { references_of(buffer, minor) == 1 }
}
