//! What a class is called: its module and its name.
//! Owns: where both are read from. Never: believes a metaclass, which may say anything.

use crate::ground::Ground;
use crate::layout::{FLAG_HEAP_TYPE, TYPE_NAME};
use crate::names::{c_text, utf8_of};
use crate::raw::word;
use crate::walk::Walk;

/// Of a module's or a class's name as much is kept.
pub const TEXT_BYTES: usize = 1024;
pub(crate) const IS_CUT: u8 = 1;
pub(crate) const HAS_MODULE: u8 = 2;

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
