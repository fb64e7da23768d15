//! Where things lie in CPython's objects, for one minor version, as far as crates/python does not say it.
//! Owns: the tables, and what must hold of a living interpreter before they are used (I-10). Never: reads memory.
//! Sources: offsetof in the headers of CPython 3.11.7, 3.12.1, 3.13.0, 3.14.10 and 3.15.2 (Include/internal, Include/cpython).

/// Offsets in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Objects {
    pub minor: u8,
    /// The interpreter's collector; in it the heads of the lists of tracked objects, the last one of those that `gc.freeze` set aside.
    pub gc: u64,
    pub gc_lists: [u64; 4],
    pub gc_collecting: u64,
    pub gc_enabled: u64,
    /// The list `gc.garbage`.
    pub gc_garbage: u64,
    /// The interpreter's `sys.modules`.
    pub modules: u64,
    /// The interpreter's dict of interned strings (3.12 and later).
    pub interned: Option<u64>,
    /// Of a heap type: name, slots, qualified name.
    pub type_names: [u64; 3],
    pub type_cached_keys: u64,
    pub code_stack_size: u64,
    pub code_locals: u64,
    /// Objects that the code object caches: of 3.11 a field, later a pointer to four of them.
    pub code_cached: u64,
    /// Of a frame: function, globals, builtins, locals, frame object.
    pub frame_fields: [u64; 5],
    pub str_utf8_length: u64,
    /// How long the headers of a compact ASCII str, of a compact one and of one with a separate buffer are.
    pub str_headers: [u64; 3],
    pub generator_frame: u64,
    /// 3.15: a bytearray's bytes object.
    pub bytearray_bytes: Option<u64>,
    /// What `tp_basicsize` of these types has to be.
    pub sizes: BasicSizes,
}

/// `tp_basicsize` of types whose fields are read. Another number is another layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BasicSizes {
    pub r#type: u64,
    pub code: u64,
    pub str: u64,
    pub bytearray: u64,
    pub generator: u64,
    pub frame: u64,
    pub dict: u64,
    pub list: u64,
    pub set: u64,
}

/// In every version.
pub const TYPE: u64 = 8;
pub const SIZE: u64 = 16;
pub const TYPE_NAME: u64 = 24;
pub const TYPE_BASIC_SIZE: u64 = 32;
pub const TYPE_ITEM_SIZE: u64 = 40;
pub const TYPE_FLAGS: u64 = 168;
pub const TYPE_TRAVERSE: u64 = 184;
pub const TYPE_WEAK_REFERENCES: u64 = 208;
pub const TYPE_MEMBERS: u64 = 240;
pub const TYPE_BASE: u64 = 256;
pub const TYPE_DICT: u64 = 264;
pub const TYPE_DICT_OFFSET: u64 = 288;
pub const TYPE_IS_GC: u64 = 328;
pub const TYPE_BASES: u64 = 336;
pub const TYPE_MRO: u64 = 344;
pub const TYPE_CACHE: u64 = 352;
/// `PyMemberDef`, of which a heap type has one for each slot.
pub const MEMBER_BYTES: u64 = 40;
pub const MEMBER_TYPE: u64 = 8;
pub const MEMBER_OFFSET: u64 = 16;
/// `PyMemberDef.type`: `_Py_T_OBJECT`, `Py_T_OBJECT_EX`.
pub const MEMBERS_OF_OBJECTS: [u32; 2] = [6, 16];
/// In front of an object that the collector knows: next, previous.
pub const GC_HEAD_BYTES: u64 = 16;

/// So far in front of an object of a class with `FLAG_MANAGED_DICT` is the dict of its attributes.
pub const MANAGED_DICT: u64 = 24;

pub const FLAG_INLINE_VALUES: u64 = 1 << 2;
pub const FLAG_MANAGED_WEAKREF: u64 = 1 << 3;
pub const FLAG_MANAGED_DICT: u64 = 1 << 4;
pub const FLAG_NO_INSTANTIATION: u64 = 1 << 7;
pub const FLAG_IMMUTABLE: u64 = 1 << 8;
pub const FLAG_HEAP_TYPE: u64 = 1 << 9;
pub const FLAG_HAVE_GC: u64 = 1 << 14;

const fn lists(first: u64, last: u64) -> [u64; 4] {
    [first, first + 24, first + 48, last]
}

const BASE: Objects = Objects {
    minor: 12,
    gc: 112,
    gc_lists: lists(24, 104),
    gc_collecting: 200,
    gc_enabled: 12,
    gc_garbage: 208,
    modules: 944,
    interned: Some(382_936),
    type_names: [856, 864, 872],
    type_cached_keys: 880,
    code_stack_size: 64,
    code_locals: 72,
    code_cached: 152,
    frame_fields: [16, 24, 32, 40, 48],
    str_utf8_length: 40,
    str_headers: [40, 56, 64],
    generator_frame: 72,
    bytearray_bytes: None,
    sizes: BasicSizes {
        r#type: 920,
        code: 192,
        str: 64,
        bytearray: 56,
        generator: 144,
        frame: 120,
        dict: 48,
        list: 40,
        set: 200,
    },
};

/// The table of a minor version, 11 to 15.
#[must_use]
pub const fn of(minor: u8) -> Option<Objects> {
    Some(match minor {
        11 => Objects {
            minor: 11,
            gc: 648,
            modules: 888,
            interned: None,
            type_names: [848, 856, 864],
            type_cached_keys: 872,
            code_stack_size: 68,
            code_locals: 76,
            code_cached: 152,
            frame_fields: [0, 8, 16, 24, 40],
            str_utf8_length: 48,
            str_headers: [48, 72, 80],
            generator_frame: 80,
            sizes: BasicSizes { r#type: 904, code: 184, str: 80, generator: 152, ..BASE.sizes },
            ..BASE
        },
        12 => BASE,
        13 => Objects {
            minor: 13,
            gc: 7400,
            code_cached: 160,
            modules: 7656,
            interned: Some(194_328),
            sizes: BasicSizes { r#type: 928, code: 200, frame: 136, ..BASE.sizes },
            ..BASE
        },
        14 => Objects {
            minor: 14,
            gc: 7408,
            modules: 7688,
            code_cached: 160,
            gc_lists: lists(24, 96),
            gc_collecting: 192,
            gc_garbage: 200,
            interned: Some(224_624),
            sizes: BasicSizes { r#type: 936, code: 208, generator: 152, frame: 152, ..BASE.sizes },
            ..BASE
        },
        15 => Objects {
            minor: 15,
            gc: 7400,
            modules: 7592,
            code_cached: 160,
            gc_lists: lists(8, 80),
            gc_collecting: 112,
            gc_enabled: 0,
            gc_garbage: 128,
            interned: Some(224_896),
            type_names: [864, 872, 880],
            type_cached_keys: 888,
            bytearray_bytes: Some(56),
            sizes: BasicSizes { r#type: 944, code: 208, bytearray: 64, generator: 152, frame: 152, ..BASE.sizes },
            ..BASE
        },
        _ => return None,
    })
}

/// Addresses of CPython's own types.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Types {
    pub r#type: u64,
    pub str: u64,
    pub int: u64,
    pub bytes: u64,
    pub bytearray: u64,
    pub list: u64,
    pub tuple: u64,
    pub dict: u64,
    /// 3.15.
    pub frozendict: u64,
    pub set: u64,
    pub frozenset: u64,
    pub code: u64,
    pub range: u64,
    pub generator: u64,
    pub coroutine: u64,
    pub async_generator: u64,
    pub frame: u64,
    pub method_descriptor: u64,
    pub class_method_descriptor: u64,
    pub member_descriptor: u64,
    pub getset_descriptor: u64,
    pub wrapper_descriptor: u64,
}

/// Where thread states and frames lie (crates/python says it).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frames {
    /// Of an interpreter: its first thread state.
    pub threads_head: u64,
    pub thread_next: u64,
    /// 3.11, 3.12: of a thread state, the C frame, in which the current frame is found at `current_frame`.
    pub c_frame: Option<u64>,
    pub current_frame: u64,
    pub code: u64,
    pub previous: u64,
    pub owner: u64,
    pub locals: u64,
    /// 3.14 and later: the end of the stack.
    pub stack_pointer: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn each_version_has_a_table_of_its_own() {
        for minor in 11..=15 {
            assert_eq!(of(minor).unwrap().minor, minor);
        }
        assert_eq!((of(10), of(16)), (None, None));
    }
}
