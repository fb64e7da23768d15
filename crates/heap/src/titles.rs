//! What a class is called: its module and its name.
//! Owns: where both are read from. Never: believes a metaclass, which may say anything.

use crate::classes::Kind;
use crate::ground::Ground;
use crate::layout::{FLAG_HEAP_TYPE, TYPE, TYPE_BASE, TYPE_DICT, TYPE_NAME};
use crate::names::{c_text, is_text, utf8_of};
use crate::raw::word;
use crate::sizes::{entries_of, is_exactly};
use crate::walk::Walk;

/// Of a module's or a class's name as much is kept.
pub const TEXT_BYTES: usize = 1024;
pub(crate) const IS_CUT: u8 = 1;
pub(crate) const HAS_MODULE: u8 = 2;
/// Its objects own memory of which the walk does not know.
pub(crate) const HAS_MORE: u8 = 4;
/// Its objects bear weak references.
pub(crate) const BEARS_WEAK: u8 = 8;

/// Lengths of module and name, and flags.
pub(crate) unsafe fn names_of<G: Ground>(
    walk: &Walk<'_, G>,
    class: u64,
    flags: u64,
    module: &mut [u8; TEXT_BYTES],
    name: &mut [u8; TEXT_BYTES],
) -> ((usize, usize), u8) {
    if class == 0 {
        return ((0, 0), 0);
    }
    let objects = &walk.plan().objects;
    // SAFETY: a type that is alive.
    unsafe {
        if flags & FLAG_HEAP_TYPE != 0 {
            let (name_len, is_name_cut) = utf8_of(word(class + objects.type_names[2]), objects, name);
            let found = walk.module_of(class).map(|text| utf8_of(text, objects, module));
            let (module_len, is_module_cut) = found.unwrap_or_default();
            let cut = if is_name_cut || is_module_cut { IS_CUT } else { 0 };
            return ((module_len, name_len), cut | if found.is_some() { HAS_MODULE } else { 0 });
        }
        // `module.name`, or the name of a builtin.
        let mut whole = [0; TEXT_BYTES];
        let len = c_text(word(class + TYPE_NAME), &mut whole);
        let whole = whole.get(..len).unwrap_or_default();
        let dot = whole.iter().rposition(|&letter| letter == b'.');
        let (before, behind) = match dot {
            Some(dot) => (whole.get(..dot).unwrap_or_default(), whole.get(dot + 1..).unwrap_or_default()),
            None => (&b"builtins"[..], whole),
        };
        module.iter_mut().zip(before).for_each(|(slot, letter)| *slot = *letter);
        name.iter_mut().zip(behind).for_each(|(slot, letter)| *slot = *letter);
        ((before.len(), behind.len()), HAS_MODULE)
    }
}

impl<G: Ground> Walk<'_, G> {
    /// What a class calls its module: address of the text, for those that have one.
    ///
    /// # Safety
    /// `class` is a heap type that is alive.
    #[must_use]
    pub unsafe fn module_of(&self, class: u64) -> Option<u64> {
        // SAFETY: as the caller promises.
        unsafe { self.attribute_of(class, b"__module__").filter(|&value| is_exactly(value, self.plan().types.str)) }
    }

    /// What is in a class's own dict under a name.
    ///
    /// # Safety
    /// `class` is a type that is alive.
    pub(crate) unsafe fn attribute_of(&self, class: u64, name: &[u8]) -> Option<u64> {
        // SAFETY: a type has a dict, or the interpreter has it.
        unsafe {
            let dict = word(class + TYPE_DICT);
            let keys = if dict == 0 { 0 } else { word(dict + 32) };
            if keys == 0 {
                return None;
            }
            let entries = entries_of(keys);
            for place in 0..entries.count {
                let at = entries.first + place * entries.step;
                let (key, value) = (word(at), word(at + 8));
                let is_str = key != 0 && is_exactly(key, self.plan().types.str);
                if is_str && value != 0 && is_text(key, name, &self.plan().objects) {
                    return Some(value);
                }
            }
            None
        }
    }
}

/// Whether a class that the walk knows nothing of has a `__sizeof__` in C, which says that its objects own more than their block.
///
/// # Safety
/// `class` is a type that is alive, or 0.
pub(crate) unsafe fn has_more<G: Ground>(walk: &Walk<'_, G>, class: u64, kind: Kind) -> bool {
    const BASES_MAX: usize = 64;
    if !matches!(kind, Kind::Other | Kind::Members) {
        return false;
    }
    let method = walk.plan().types.method_descriptor;
    let mut class = class;
    for _ in 0..BASES_MAX {
        // SAFETY: a base of a type that is alive is, too; what is in its dict is an object.
        unsafe {
            let base = if class == 0 { 0 } else { word(class + TYPE_BASE) };
            if base == 0 {
                // `object` has one that knows of no more than the block.
                return false;
            }
            if walk.attribute_of(class, b"__sizeof__").is_some_and(|found| word(found + TYPE) == method) {
                return true;
            }
            class = base;
        }
    }
    false
}
