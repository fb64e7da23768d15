//! One step of a way: by which name an object leads to another.
//! Owns: attributes, keys, items and local variables, by kind of the holder. Never: believes that the object is still where it was expected: a
//! step without a name is told as one. Keeps: I-07.

use core::cell::Cell;

use crate::classes::{Facts, Kind};
use crate::layout::{
    FLAG_HEAP_TYPE, FLAG_INLINE_VALUES, FLAG_MANAGED_DICT, Frames, MANAGED_DICT, MEMBER_BYTES, Objects, SIZE,
};
use crate::layout::{MEMBER_OFFSET, MEMBER_TYPE, MEMBERS_OF_OBJECTS, TYPE_MEMBERS};
use crate::layout::{TYPE, TYPE_BASE, TYPE_BASIC_SIZE, TYPE_DICT, TYPE_DICT_OFFSET, TYPE_FLAGS, TYPE_NAME, Types};
use crate::names::{c_text, utf8_of};
use crate::raw::{byte, half, word};
use crate::sizes::{entries_of, is_exactly};

/// Of a name as much is kept.
pub const STEP_BYTES: usize = 128;
/// So many places of one holder are looked through, and so many of all together.
const PLACES_MAX: u64 = 1 << 16;
pub const ALL_PLACES_MAX: u64 = 1 << 26;
const BASES_MAX: usize = 256;
const MEMBERS_MAX: u64 = 1 << 12;
/// No object has more.
const BYTES_MAX: u64 = 1 << 46;

/// How an object leads to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Step {
    /// By nothing that has a name.
    Plain = 0,
    Attribute = 1,
    /// By the dict of its attributes.
    Attributes = 2,
    /// By the value of a key that is a str.
    Key = 3,
    /// By an item, or the value of another key.
    Item = 4,
    /// As a key.
    AsKey = 5,
    Local = 6,
}

impl Step {
    #[must_use]
    pub const fn of(number: u8) -> Option<Step> {
        Some(match number {
            0 => Step::Plain,
            1 => Step::Attribute,
            2 => Step::Attributes,
            3 => Step::Key,
            4 => Step::Item,
            5 => Step::AsKey,
            6 => Step::Local,
            _ => return None,
        })
    }
}

/// Where names of steps are read from.
pub struct Names<'a> {
    pub objects: &'a Objects,
    pub types: &'a Types,
    pub frames: &'a Frames,
    /// So many places may still be looked through.
    pub left: &'a Cell<u64>,
}

impl Names<'_> {
    /// How a holder leads to an object, and how long the name is.
    ///
    /// # Safety
    /// Both are alive; `facts` are about the holder's class.
    pub unsafe fn step(&self, holder: u64, facts: &Facts, held: u64, name: &mut [u8; STEP_BYTES]) -> (Step, usize) {
        // SAFETY: as the caller promises.
        unsafe {
            let class = word(holder + TYPE);
            match facts.kind {
                // Nothing but their items is told by these: classes derived from them have attributes, too.
                _ if class == self.types.list || class == self.types.tuple => return (Step::Item, 0),
                _ if class == self.types.dict || class == self.types.frozendict => {
                    return self.key(holder, held, name);
                }
                Kind::Generator => return self.local(holder + self.objects.generator_frame, held, name),
                Kind::Frame if word(holder + FRAME_OBJECT_BACK) != held => {
                    return self.local(word(holder + FRAME_OBJECT_FRAME), held, name);
                }
                _ => {}
            }
            if self.is_attributes_of(holder, facts, held) {
                return (Step::Attributes, 0);
            }
            if let Some(len) = self.value(holder, facts, held, name) {
                return (Step::Attribute, len);
            }
            if let Some(len) = self.slot(holder, class, held, name) {
                return (Step::Attribute, len);
            }
            if let Some(len) = self.field(holder, facts, held, name) {
                return (Step::Attribute, len);
            }
            match facts.kind {
                Kind::Dict | Kind::Ordered => self.key(holder, held, name),
                Kind::List => (self.among(word(holder + 24), word(holder + SIZE), held), 0),
                Kind::Array | Kind::Set | Kind::Deque | Kind::Queue | Kind::Element => (Step::Item, 0),
                _ => (Step::Plain, 0),
            }
        }
    }

    /// A key of a dict, or the object of one.
    unsafe fn key(&self, dict: u64, held: u64, name: &mut [u8; STEP_BYTES]) -> (Step, usize) {
        // SAFETY: a dict has a table of keys, and values of its own where that table is shared.
        unsafe {
            let (keys, values) = (word(dict + 32), word(dict + 40));
            if keys == 0 {
                return (Step::Plain, 0);
            }
            let entries = entries_of(keys);
            // From 3.13 on an instance has room for fewer values than there are keys, if it is older than some of them.
            let room = match entries.is_shared() && values != 0 && self.objects.minor >= 13 {
                true => entries.count.min(u64::from(byte(values))),
                false => entries.count,
            };
            for place in 0..self.take(room) {
                let key = word(entries.first + place * entries.step);
                let value = match entries.is_shared() {
                    true if values == 0 => 0,
                    true => word(values + self.values_header() + 8 * place),
                    false => word(entries.first + place * entries.step + 8),
                };
                if value == held && key != 0 {
                    return match is_exactly(key, self.types.str) {
                        true => (Step::Key, utf8_of(key, self.objects, name).0),
                        false => (Step::Item, 0),
                    };
                }
                if key == held {
                    return (Step::AsKey, 0);
                }
            }
            (Step::Item, 0)
        }
    }

    /// As many of the places as may be looked through.
    fn take(&self, places: u64) -> u64 {
        let taken = places.min(PLACES_MAX).min(self.left.get());
        self.left.set(self.left.get() - taken);
        taken
    }

    /// An item, as far as can be told.
    unsafe fn among(&self, first: u64, count: u64, held: u64) -> Step {
        let taken = self.take(count);
        // SAFETY: so many objects from there on.
        let is_item = first != 0 && (0..taken).any(|place| unsafe { word(first + 8 * place) } == held);
        if is_item || count > taken { Step::Item } else { Step::Plain }
    }

    /// From 3.14 on a tuple has its hash before the first item.
    unsafe fn tuple_header(&self) -> u64 {
        // SAFETY: a type of CPython's own.
        unsafe { word(self.types.tuple + TYPE_BASIC_SIZE) }
    }

    /// From 3.13 on four bytes and a gap come before the first value.
    const fn values_header(&self) -> u64 {
        if self.objects.minor >= 13 { 8 } else { 0 }
    }

    /// Whether this is the dict of a holder's attributes.
    ///
    /// # Safety
    /// As `step`.
    pub unsafe fn is_attributes_of(&self, holder: u64, facts: &Facts, held: u64) -> bool {
        // SAFETY: as the caller promises.
        unsafe {
            match facts.kind {
                Kind::Type => word(holder + TYPE_DICT) == held,
                Kind::Generator | Kind::Frame => false,
                _ => is_exactly(held, self.types.dict) && self.is_dict_of(holder, facts, held),
            }
        }
    }

    /// Whether this is where a holder's attributes are, as its class says. Any other dict in a holder is one that it refers to.
    /// Source: CPython, Objects/object.c, `_PyObject_ComputedDictPointer`.
    unsafe fn is_dict_of(&self, holder: u64, facts: &Facts, held: u64) -> bool {
        // SAFETY: a class says what lies in front of its instances and in them.
        unsafe {
            if facts.flags & FLAG_MANAGED_DICT != 0 {
                return word(holder - MANAGED_DICT) == held;
            }
            let offset = word(facts.class + TYPE_DICT_OFFSET).cast_signed();
            let items = match facts.kind {
                // An object without items may end before their number.
                _ if offset >= 0 => 0,
                Kind::Int if self.objects.minor >= 12 => word(holder + SIZE) >> 3,
                _ => word(holder + SIZE).cast_signed().unsigned_abs(),
            };
            dict_place(offset, facts, items).is_some_and(|place| word(holder + place) == held)
        }
    }

    /// A value that an instance keeps without a dict.
    unsafe fn value(&self, holder: u64, facts: &Facts, held: u64, name: &mut [u8; STEP_BYTES]) -> Option<usize> {
        let managed = FLAG_MANAGED_DICT | FLAG_HEAP_TYPE;
        if facts.flags & managed != managed {
            return None;
        }
        // SAFETY: the class says that the instance has them; a heap type has its table of keys.
        unsafe {
            let values = match self.objects.minor {
                11 => word(holder - 32),
                12 => {
                    let marked = word(holder - 24);
                    if marked & 1 != 0 { marked + 1 } else { 0 }
                }
                _ if facts.flags & FLAG_INLINE_VALUES != 0 => holder + facts.basic_bytes,
                _ => 0,
            };
            let keys = word(facts.class + self.objects.type_cached_keys);
            if values == 0 || keys == 0 {
                return None;
            }
            let entries = entries_of(keys);
            let room = match self.objects.minor {
                11 | 12 => entries.count,
                _ => entries.count.min(u64::from(byte(values))),
            };
            for place in 0..room.min(PLACES_MAX) {
                if word(values + self.values_header() + 8 * place) == held {
                    let key = word(entries.first + place * entries.step);
                    let is_str = key != 0 && is_exactly(key, self.types.str);
                    return is_str.then(|| utf8_of(key, self.objects, name).0);
                }
            }
            None
        }
    }

    /// A member of `__slots__`, of the class or of one before it.
    unsafe fn slot(&self, holder: u64, class: u64, held: u64, name: &mut [u8; STEP_BYTES]) -> Option<usize> {
        let mut base = class;
        // SAFETY: a heap type has members behind it, as many as its size says; a base of a living type lives.
        unsafe {
            for _ in 0..BASES_MAX {
                if base == 0 {
                    break;
                }
                if word(base + TYPE_FLAGS) & FLAG_HEAP_TYPE != 0 {
                    let first = base + word(word(base + TYPE) + TYPE_BASIC_SIZE);
                    for place in 0..word(base + SIZE).min(MEMBERS_MAX) {
                        let member = first + place * MEMBER_BYTES;
                        let offset = word(member + MEMBER_OFFSET);
                        if offset.is_multiple_of(8)
                            && MEMBERS_OF_OBJECTS.contains(&half(member + MEMBER_TYPE))
                            && offset + 8 <= word(class + TYPE_BASIC_SIZE)
                            && word(holder + offset) == held
                        {
                            return Some(c_text(word(member), name));
                        }
                    }
                }
                base = word(base + TYPE_BASE);
            }
        }
        None
    }

    /// A field of a type in C, or the class itself.
    unsafe fn field(&self, holder: u64, facts: &Facts, held: u64, name: &mut [u8; STEP_BYTES]) -> Option<usize> {
        // SAFETY: objects of these types have these fields, and a type in C has members up to one without a name.
        unsafe {
            // Instances of a class in C do not refer to it: one that holds it, as `{set}` does, has it among its items.
            if held == facts.class && facts.flags & FLAG_HEAP_TYPE != 0 {
                return Some(copy(b"__class__", name));
            }
            if facts.flags & FLAG_EXCEPTION != 0
                && let Some(field) = fields_of(&EXCEPTION_FIELDS, holder, held)
            {
                return Some(copy(field, name));
            }
            if facts.flags & FLAG_HEAP_TYPE != 0 {
                return None;
            }
            let mut own = [0; 32];
            let len = c_text(word(facts.class + TYPE_NAME), &mut own);
            let known = FIELDS.iter().find(|(of, ..)| own.get(..len) == Some(of)).map(|(_, field)| field);
            if let Some(field) = known.and_then(|field| fields_of(core::slice::from_ref(field), holder, held)) {
                return Some(copy(field, name));
            }
            let first = word(facts.class + TYPE_MEMBERS);
            for place in 0..if first == 0 { 0 } else { MEMBERS_MAX } {
                let member = first + place * MEMBER_BYTES;
                if word(member) == 0 {
                    break;
                }
                let is_object = MEMBERS_OF_OBJECTS.contains(&half(member + MEMBER_TYPE));
                if is_object && word(holder + word(member + MEMBER_OFFSET)) == held {
                    return Some(c_text(word(member), name));
                }
            }
            None
        }
    }

    /// A local variable of a frame.
    ///
    /// # Safety
    /// A frame that runs Python code, or a generator's.
    pub unsafe fn local(&self, frame: u64, held: u64, name: &mut [u8; STEP_BYTES]) -> (Step, usize) {
        // SAFETY: as the caller promises; a code object has a tuple of names, one for each variable.
        unsafe {
            let code = word(frame + self.frames.code) & !7;
            if code == 0 {
                return (Step::Plain, 0);
            }
            let names = word(code + CODE_LOCAL_NAMES);
            let locals = u64::from(half(code + self.objects.code_locals));
            for slot in 0..locals.min(PLACES_MAX) {
                if word(frame + self.frames.locals + 8 * slot) & !3 == held {
                    let is_named = names != 0 && is_exactly(names, self.types.tuple) && slot < word(names + SIZE);
                    let text = if is_named { word(names + self.tuple_header() + 8 * slot) } else { 0 };
                    let is_str = text != 0 && is_exactly(text, self.types.str);
                    return (Step::Local, if is_str { utf8_of(text, self.objects, name).0 } else { 0 });
                }
            }
            (Step::Plain, 0)
        }
    }

    /// Name and file of a frame's function, and how long both are.
    ///
    /// # Safety
    /// As `local`.
    pub unsafe fn function(
        &self,
        frame: u64,
        name: &mut [u8; STEP_BYTES],
        file: &mut [u8; STEP_BYTES],
    ) -> (usize, usize) {
        const FILE: u64 = 112;
        const QUALIFIED_NAME: u64 = 128;
        // SAFETY: as above; both are str.
        unsafe {
            let code = word(frame + self.frames.code) & !7;
            if code == 0 {
                return (0, 0);
            }
            let read = |field: u64, into: &mut [u8; STEP_BYTES]| {
                let text = word(code + field);
                if text != 0 && is_exactly(text, self.types.str) { utf8_of(text, self.objects, into).0 } else { 0 }
            };
            (read(QUALIFIED_NAME, name), read(FILE, file))
        }
    }
}

/// Of a frame object.
const FRAME_OBJECT_BACK: u64 = 16;
const FRAME_OBJECT_FRAME: u64 = 24;
/// Of a type: its objects are exceptions.
const FLAG_EXCEPTION: u64 = 1 << 30;
/// Its offset and its name.
type Field = (u64, &'static [u8]);
/// Fields that are no members of their types: `PyBaseExceptionObject`, and by the names of types.
const EXCEPTION_FIELDS: [Field; 5] =
    [(24, b"args"), (32, b"__notes__"), (40, b"__traceback__"), (48, b"__context__"), (56, b"__cause__")];
const FIELDS: [(&[u8], Field); 4] = [
    (b"cell", (16, b"cell_contents")),
    (b"traceback", (16, b"tb_next")),
    (b"frame", (FRAME_OBJECT_BACK, b"f_back")),
    (b"builtin_function_or_method", (24, b"__self__")),
];

/// From the beginning of an object with so many items: where the pointer to its `__dict__` is. Below 0: so far before the end.
fn dict_place(offset: i64, facts: &Facts, items: u64) -> Option<u64> {
    const POINTER: u64 = 8;
    if offset >= 0 {
        return (offset != 0).then_some(offset.cast_unsigned());
    }
    let bytes = facts.basic_bytes.saturating_add(items.saturating_mul(facts.item_bytes));
    let end = bytes.checked_next_multiple_of(POINTER).filter(|bytes| *bytes <= BYTES_MAX)?;
    end.checked_add_signed(offset)
}

unsafe fn fields_of(fields: &[Field], holder: u64, held: u64) -> Option<&'static [u8]> {
    // SAFETY: the holder has these fields.
    fields.iter().find(|(offset, _)| unsafe { word(holder + offset) } == held).map(|(_, name)| *name)
}

fn copy(text: &[u8], into: &mut [u8; STEP_BYTES]) -> usize {
    into.iter_mut().zip(text).for_each(|(slot, letter)| *slot = *letter);
    text.len().min(into.len())
}

/// Of a code object: the names of its variables.
const CODE_LOCAL_NAMES: u64 = 96;

#[cfg(test)]
mod tests {
    use super::dict_place;
    use crate::classes::{Facts, Kind};

    #[test]
    fn the_dict_is_where_the_class_says() {
        let facts = Facts {
            class: 0,
            flags: 0,
            basic_bytes: 32,
            item_bytes: 8,
            traverse: 0,
            is_gc: 0,
            before_bytes: 16,
            kind: Kind::Other,
        };
        // A cell and an object of slots have none, a module has it in front, a subclass of tuple behind its items.
        assert_eq!(dict_place(0, &facts, 0), None);
        assert_eq!(dict_place(16, &facts, 7), Some(16));
        assert_eq!(dict_place(-8, &facts, 3), Some(48));
        // Items of an int have four bytes each.
        assert_eq!(dict_place(-8, &Facts { item_bytes: 4, ..facts }, 3), Some(40));
        assert_eq!(dict_place(-8, &facts, u64::MAX), None);
    }
}
