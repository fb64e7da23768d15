//! Members that a class in C declares (`PyMemberDef`): for objects that the collector does not know, nothing else says what they refer to.
//! Owns: which of them are objects. Never: reads an object. A part of owned.rs.

use crate::layout::{MEMBER_BYTES, MEMBER_OFFSET, MEMBER_TYPE, MEMBERS_OF_OBJECTS, TYPE_BASE, TYPE_BASIC_SIZE};
use crate::layout::{TYPE_MEMBERS, TYPE_WEAK_REFERENCES};
use crate::raw::{half, word};

/// Whether a class or one before it has members that are objects.
///
/// # Safety
/// `class` is a type that is alive.
pub unsafe fn has_members(class: u64) -> bool {
    let mut has_any = false;
    // SAFETY: as the caller promises.
    unsafe { each_member(class, &mut |_| has_any = true) };
    has_any
}

/// Where the objects of a class have members that are objects: each place once, under however many names. Not the list of weak references, which
/// belong to others.
///
/// # Safety
/// `class` is a type that is alive.
pub unsafe fn each_member(class: u64, found: &mut impl FnMut(u64)) {
    const HEADER: u64 = 16;
    const BASES_MAX: usize = 64;
    const LISTED_MAX: u64 = 1 << 10;
    const MEMBERS_MAX: usize = 32;
    let (mut places, mut len) = ([0; MEMBERS_MAX], 0);
    // SAFETY: a type has these fields, and members up to one without a name; a base of a living type lives.
    unsafe {
        let (bytes, weak_references) = (word(class + TYPE_BASIC_SIZE), word(class + TYPE_WEAK_REFERENCES));
        let mut base = class;
        for _ in 0..BASES_MAX {
            if base == 0 {
                return;
            }
            let first = word(base + TYPE_MEMBERS);
            for number in 0..if first == 0 { 0 } else { LISTED_MAX } {
                let member = first + number * MEMBER_BYTES;
                if word(member) == 0 {
                    break;
                }
                let place = word(member + MEMBER_OFFSET);
                let is_within = (HEADER..bytes).contains(&place) && place + 8 <= bytes && place.is_multiple_of(8);
                let is_object = MEMBERS_OF_OBJECTS.contains(&half(member + MEMBER_TYPE)) && place != weak_references;
                if is_within
                    && is_object
                    && !places.iter().take(len).any(|known| *known == place)
                    && let Some(slot) = places.get_mut(len)
                {
                    *slot = place;
                    len += 1;
                    found(place);
                }
            }
            base = word(base + TYPE_BASE);
        }
    }
}
