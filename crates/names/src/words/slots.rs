//! The slots of Python's types: where each lies in a static type, its number in a `PyType_Spec`, its word in Python.
//! Layouts: CPython 3.11 to 3.15, `Include/cpython/object.h`; numbers: `Include/typeslots.h`, in 3.15
//! `Include/slots_generated.h`. Owns: these tables, nothing else.

/// What a slot is called, in C and (when Python has a name for it) in Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub c_name: &'static str,
    pub dunder: Option<&'static str>,
}

impl Slot {
    /// `__getitem__`, else `tp_dealloc`.
    pub fn word(self) -> &'static str {
        self.dunder.unwrap_or(self.c_name)
    }
}

const fn slot(c_name: &'static str, dunder: &'static str) -> Slot {
    Slot { c_name, dunder: Some(dunder) }
}

const fn bare(c_name: &'static str) -> Slot {
    Slot { c_name, dunder: None }
}

/// Offset in bytes in a `PyTypeObject`.
pub(crate) const TYPE_SLOTS: [(u64, Slot); 24] = [
    (48, bare("tp_dealloc")),
    (64, slot("tp_getattr", "__getattribute__")),
    (72, slot("tp_setattr", "__setattr__")),
    (88, slot("tp_repr", "__repr__")),
    (120, slot("tp_hash", "__hash__")),
    (128, slot("tp_call", "__call__")),
    (136, slot("tp_str", "__str__")),
    (144, slot("tp_getattro", "__getattribute__")),
    (152, slot("tp_setattro", "__setattr__")),
    (184, bare("tp_traverse")),
    (192, bare("tp_clear")),
    (200, bare("tp_richcompare")),
    (216, slot("tp_iter", "__iter__")),
    (224, slot("tp_iternext", "__next__")),
    (272, slot("tp_descr_get", "__get__")),
    (280, slot("tp_descr_set", "__set__")),
    (296, slot("tp_init", "__init__")),
    (304, bare("tp_alloc")),
    (312, slot("tp_new", "__new__")),
    (320, bare("tp_free")),
    (328, bare("tp_is_gc")),
    (376, bare("tp_del")),
    (392, slot("tp_finalize", "__del__")),
    (400, bare("tp_vectorcall")),
];

/// Tables that a `PyTypeObject` points to: offset of the pointer, and the table's entries in order.
pub(crate) const TYPE_TABLES: [(u64, &[Option<Slot>]); 5] =
    [(80, &ASYNC), (96, &NUMBER), (104, &SEQUENCE), (112, &MAPPING), (160, &BUFFER)];

const ASYNC: [Option<Slot>; 4] = [
    Some(slot("am_await", "__await__")),
    Some(slot("am_aiter", "__aiter__")),
    Some(slot("am_anext", "__anext__")),
    Some(bare("am_send")),
];

const NUMBER: [Option<Slot>; 36] = [
    Some(slot("nb_add", "__add__")),
    Some(slot("nb_subtract", "__sub__")),
    Some(slot("nb_multiply", "__mul__")),
    Some(slot("nb_remainder", "__mod__")),
    Some(slot("nb_divmod", "__divmod__")),
    Some(slot("nb_power", "__pow__")),
    Some(slot("nb_negative", "__neg__")),
    Some(slot("nb_positive", "__pos__")),
    Some(slot("nb_absolute", "__abs__")),
    Some(slot("nb_bool", "__bool__")),
    Some(slot("nb_invert", "__invert__")),
    Some(slot("nb_lshift", "__lshift__")),
    Some(slot("nb_rshift", "__rshift__")),
    Some(slot("nb_and", "__and__")),
    Some(slot("nb_xor", "__xor__")),
    Some(slot("nb_or", "__or__")),
    Some(slot("nb_int", "__int__")),
    None,
    Some(slot("nb_float", "__float__")),
    Some(slot("nb_inplace_add", "__iadd__")),
    Some(slot("nb_inplace_subtract", "__isub__")),
    Some(slot("nb_inplace_multiply", "__imul__")),
    Some(slot("nb_inplace_remainder", "__imod__")),
    Some(slot("nb_inplace_power", "__ipow__")),
    Some(slot("nb_inplace_lshift", "__ilshift__")),
    Some(slot("nb_inplace_rshift", "__irshift__")),
    Some(slot("nb_inplace_and", "__iand__")),
    Some(slot("nb_inplace_xor", "__ixor__")),
    Some(slot("nb_inplace_or", "__ior__")),
    Some(slot("nb_floor_divide", "__floordiv__")),
    Some(slot("nb_true_divide", "__truediv__")),
    Some(slot("nb_inplace_floor_divide", "__ifloordiv__")),
    Some(slot("nb_inplace_true_divide", "__itruediv__")),
    Some(slot("nb_index", "__index__")),
    Some(slot("nb_matrix_multiply", "__matmul__")),
    Some(slot("nb_inplace_matrix_multiply", "__imatmul__")),
];

const SEQUENCE: [Option<Slot>; 10] = [
    Some(slot("sq_length", "__len__")),
    Some(slot("sq_concat", "__add__")),
    Some(slot("sq_repeat", "__mul__")),
    Some(slot("sq_item", "__getitem__")),
    None,
    Some(slot("sq_ass_item", "__setitem__")),
    None,
    Some(slot("sq_contains", "__contains__")),
    Some(slot("sq_inplace_concat", "__iadd__")),
    Some(slot("sq_inplace_repeat", "__imul__")),
];

const MAPPING: [Option<Slot>; 3] = [
    Some(slot("mp_length", "__len__")),
    Some(slot("mp_subscript", "__getitem__")),
    Some(slot("mp_ass_subscript", "__setitem__")),
];

const BUFFER: [Option<Slot>; 2] = [Some(bare("bf_getbuffer")), Some(bare("bf_releasebuffer"))];

/// What the value of a numbered slot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbered {
    Function(Slot),
    Methods,
    GetSets,
    /// Something that is not a function: a base, members, a text, a size.
    Other,
}

/// The meaning of a slot number in a `PyType_Spec`. 1 to 4 are the numbers before 3.15 of 88 to 91.
pub(crate) fn numbered(number: u64) -> Option<Numbered> {
    Some(match number {
        1 | 88 => Numbered::Function(bare("bf_getbuffer")),
        2 | 89 => Numbered::Function(bare("bf_releasebuffer")),
        3 | 90 => Numbered::Function(slot("mp_ass_subscript", "__setitem__")),
        4 | 91 => Numbered::Function(slot("mp_length", "__len__")),
        64 => Numbered::Methods,
        73 => Numbered::GetSets,
        48 | 49 | 56 | 72 | 83 | 92..=99 | 107 | 108 => Numbered::Other,
        5..=82 => Numbered::Function(by_c_name(NUMBERED[number as usize - 5])?),
        _ => return None,
    })
}

/// Slots 5 to 82.
const NUMBERED: [&str; 78] = [
    "mp_subscript",
    "nb_absolute",
    "nb_add",
    "nb_and",
    "nb_bool",
    "nb_divmod",
    "nb_float",
    "nb_floor_divide",
    "nb_index",
    "nb_inplace_add",
    "nb_inplace_and",
    "nb_inplace_floor_divide",
    "nb_inplace_lshift",
    "nb_inplace_multiply",
    "nb_inplace_or",
    "nb_inplace_power",
    "nb_inplace_remainder",
    "nb_inplace_rshift",
    "nb_inplace_subtract",
    "nb_inplace_true_divide",
    "nb_inplace_xor",
    "nb_int",
    "nb_invert",
    "nb_lshift",
    "nb_multiply",
    "nb_negative",
    "nb_or",
    "nb_positive",
    "nb_power",
    "nb_remainder",
    "nb_rshift",
    "nb_subtract",
    "nb_true_divide",
    "nb_xor",
    "sq_ass_item",
    "sq_concat",
    "sq_contains",
    "sq_inplace_concat",
    "sq_inplace_repeat",
    "sq_item",
    "sq_length",
    "sq_repeat",
    "tp_alloc",
    "tp_base",
    "tp_bases",
    "tp_call",
    "tp_clear",
    "tp_dealloc",
    "tp_del",
    "tp_descr_get",
    "tp_descr_set",
    "tp_doc",
    "tp_getattr",
    "tp_getattro",
    "tp_hash",
    "tp_init",
    "tp_is_gc",
    "tp_iter",
    "tp_iternext",
    "tp_methods",
    "tp_new",
    "tp_repr",
    "tp_richcompare",
    "tp_setattr",
    "tp_setattro",
    "tp_str",
    "tp_traverse",
    "tp_members",
    "tp_getset",
    "tp_free",
    "nb_matrix_multiply",
    "nb_inplace_matrix_multiply",
    "am_await",
    "am_aiter",
    "am_anext",
    "tp_finalize",
    "am_send",
    "tp_vectorcall",
];

fn by_c_name(c_name: &str) -> Option<Slot> {
    all().find(|slot| slot.c_name == c_name)
}

fn all() -> impl Iterator<Item = Slot> {
    let in_tables = TYPE_TABLES.iter().flat_map(|(_, entries)| entries.iter().flatten().copied());
    TYPE_SLOTS.iter().map(|&(_, slot)| slot).chain(in_tables)
}

/// What each slot is called in C and in Python.
pub(crate) fn words() -> impl Iterator<Item = (&'static str, &'static str)> {
    all().map(|slot| (slot.c_name, slot.word()))
}

#[cfg(test)]
mod tests {
    use super::{NUMBERED, Numbered, numbered};

    #[test]
    fn every_number_has_a_meaning_and_the_ends_fit() {
        for number in (1..=83).chain(88..=99) {
            assert!(numbered(number).is_some(), "slot {number}");
        }
        for (number, word) in [(5, "__getitem__"), (46, "__mul__"), (52, "tp_dealloc"), (81, "am_send")] {
            let Some(Numbered::Function(slot)) = numbered(number) else {
                panic!("slot {number} is not a function");
            };
            assert_eq!(slot.word(), word);
        }
        assert_eq!(numbered(64), Some(Numbered::Methods));
        assert_eq!(NUMBERED[64 - 5], "tp_methods");
        assert_eq!(NUMBERED[73 - 5], "tp_getset");
        assert_eq!(numbered(0), None);
        assert_eq!(numbered(200), None);
    }
}
