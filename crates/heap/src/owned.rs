//! Objects that an object refers to, and of which its `tp_traverse` says nothing.
//! Owns: where they are, by kind. Never: follows them (walk.rs does).

use crate::classes::{Facts, Kind};
use crate::elements::Elements;
use crate::layout::{FLAG_HEAP_TYPE, FLAG_INLINE_VALUES, FLAG_MANAGED_DICT, MANAGED_DICT, Objects};
use crate::layout::{TYPE_BASE, TYPE_BASES, TYPE_CACHE, TYPE_DICT, TYPE_FLAGS, TYPE_MRO};
use crate::members::each_member;
use crate::raw::{byte, word};
use crate::sizes::entries_of;

/// A table of keys that several instances share, or an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owned {
    Object(u64),
    SharedKeys(u64),
}

/// Of a code object.
const CODE_FIELDS: [u64; 9] = [24, 32, 40, 96, 104, 112, 120, 128, 136];
const DESCRIPTOR_FIELDS: [u64; 2] = [24, 32];
const RANGE_FIELDS: [u64; 4] = [16, 24, 32, 40];
/// Whether a datetime or a time has a time zone, and where.
const HAS_ZONE: u64 = 24;
const DATETIME_ZONE: u64 = 40;
const TIME_ZONE: u64 = 32;
/// Offset and name of a fixed time zone.
const ZONE_FIELDS: [u64; 2] = [16, 24];
const ARRAY_FIELDS: [u64; 2] = [48, 56];
/// Unused data, unconsumed tail, dictionary: Modules/zlibmodule.c.
const INFLATER_FIELDS: [u64; 3] = [128, 136, 152];
/// Name, path, and what `stat` said, of the file and of a link: Modules/posixmodule.c.
const ENTRY_FIELDS: [u64; 4] = [16, 24, 32, 40];

/// The dict of an instance's attributes, if it has one beside the room for them in itself; 0: it has none.
/// `PyObject_VisitManagedDict` of 3.13 and 3.14 told the attributes in that room and not the dict, until gh-130327 was mended in March 2026;
/// since then it tells the dict, which tells them. A dict that is one of the attributes, too, passes for one that was told: it counts as in use.
///
/// # Safety
/// As `each_owned`.
pub unsafe fn dict_of(object: u64, facts: &Facts, minor: u8) -> u64 {
    const BOTH: u64 = FLAG_INLINE_VALUES | FLAG_MANAGED_DICT;
    // SAFETY: the class says what lies in front of its instances.
    if minor >= 13 && facts.flags & BOTH == BOTH { unsafe { word(object - MANAGED_DICT) } } else { 0 }
}

/// Tells each of them.
///
/// # Safety
/// `object` is alive, and of the class that `facts` are about.
pub unsafe fn each_owned(object: u64, facts: &Facts, objects: &Objects, found: &mut impl FnMut(Owned)) {
    // SAFETY: objects of these kinds have these fields, in which there is an object or 0.
    unsafe {
        let mut field = |offset: u64| found(Owned::Object(word(object + offset)));
        match facts.kind {
            Kind::Code => {
                CODE_FIELDS.into_iter().for_each(&mut field);
                if objects.minor == 11 {
                    field(objects.code_cached);
                } else {
                    let cached = word(object + objects.code_cached);
                    if cached != 0 {
                        (0..4).for_each(|place| found(Owned::Object(word(cached + 8 * place))));
                    }
                }
            }
            Kind::Range => RANGE_FIELDS.into_iter().for_each(field),
            Kind::Descriptor => DESCRIPTOR_FIELDS.into_iter().for_each(field),
            Kind::DateTime if byte(object + HAS_ZONE) != 0 => field(DATETIME_ZONE),
            Kind::Time if byte(object + HAS_ZONE) != 0 => field(TIME_ZONE),
            Kind::Zone => ZONE_FIELDS.into_iter().for_each(field),
            Kind::Type if word(object + TYPE_FLAGS) & FLAG_HEAP_TYPE != 0 => {
                objects.type_names.into_iter().for_each(&mut field);
                found(Owned::SharedKeys(word(object + objects.type_cached_keys)));
            }
            Kind::Type => [TYPE_BASE, TYPE_DICT, TYPE_BASES, TYPE_MRO, TYPE_CACHE].into_iter().for_each(field),
            Kind::Dict | Kind::Ordered => dict_keys(object, found),
            Kind::Array => {
                ARRAY_FIELDS.into_iter().for_each(&mut field);
                Elements { minor: objects.minor, found: |element| found(Owned::Object(element)) }.each(object);
            }
            Kind::Inflater => INFLATER_FIELDS.into_iter().for_each(field),
            Kind::DirEntry => ENTRY_FIELDS.into_iter().for_each(field),
            Kind::Members => each_member(facts.class, &mut field),
            _ => {}
        }
    }
}

/// `dict_traverse` leaves out keys where all of them are str.
unsafe fn dict_keys(object: u64, found: &mut impl FnMut(Owned)) {
    // SAFETY: a dict has a table of keys.
    unsafe {
        let keys = word(object + 32);
        if keys == 0 {
            return;
        }
        let entries = entries_of(keys);
        if entries.is_shared() {
            found(Owned::SharedKeys(keys));
        } else if entries.has_str_keys_only() {
            (0..entries.count).for_each(|place| found(Owned::Object(word(entries.first + place * entries.step))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Owned, dict_of, each_owned};
    use crate::classes::{Facts, Kind};
    use crate::layout::{
        FLAG_INLINE_VALUES, FLAG_MANAGED_DICT, MEMBER_BYTES, MEMBER_OFFSET, MEMBER_TYPE, TYPE_BASE, TYPE_BASIC_SIZE,
        TYPE_MEMBERS, TYPE_WEAK_REFERENCES, of,
    };
    use crate::made::made;
    use crate::members::has_members;

    fn facts(class: u64, flags: u64, kind: Kind) -> Facts {
        Facts { class, flags, basic_bytes: 16, item_bytes: 0, traverse: 0, is_gc: 0, before_bytes: 0, kind }
    }

    #[test]
    fn a_dict_beside_the_attributes_is_found() {
        let object = made(6, &[(8, 77)]) + 32;
        let both = facts(0, FLAG_INLINE_VALUES | FLAG_MANAGED_DICT, Kind::Other);
        // SAFETY: memory as CPython has it.
        let found = |facts: &Facts, minor| unsafe { dict_of(object, facts, minor) };
        assert_eq!((found(&both, 13), found(&both, 15)), (77, 77));
        // In earlier versions there are other things in this place, and `tp_traverse` tells a dict that is there alone.
        assert_eq!((found(&both, 12), found(&facts(0, FLAG_MANAGED_DICT, Kind::Other), 13)), (0, 0));
    }

    /// A class with members: the type and the place of each.
    fn class(base: u64, bytes: u64, members: &[(u64, u64)]) -> u64 {
        let fields = members.iter().enumerate().flat_map(|(number, (kind, place))| {
            let member = MEMBER_BYTES * number as u64;
            [(member, 1), (member + MEMBER_TYPE, *kind), (member + MEMBER_OFFSET, *place)]
        });
        let listed = made(5 * (members.len() + 1), &fields.collect::<Vec<_>>());
        let weak_references = 40;
        let type_fields = [
            (TYPE_BASIC_SIZE, bytes),
            (TYPE_WEAK_REFERENCES, weak_references),
            (TYPE_MEMBERS, listed),
            (TYPE_BASE, base),
        ];
        made(64, &type_fields)
    }

    #[test]
    fn members_that_are_objects_are_found_once() {
        let (number, object, set) = (1, 6, 16);
        let base = class(0, 32, &[(object, 16), (number, 24)]);
        // One place with two names, the base's place again, weak references, one beyond the end, one in the header, one at an odd place.
        let members =
            [(set, 32), (object, 32), (object, 16), (object, 40), (object, 56), (object, 52), (object, 8), (set, 20)];
        let derived = class(base, 56, &[members.as_slice(), &[(set, 48)]].concat());
        let holder = made(8, &[(16, 100), (24, 200), (32, 300), (40, 400), (48, 0), (56, 500)]);
        let mut found = vec![];
        let mut tell = |owned| found.push(owned);
        let facts = facts(derived, 0, Kind::Members);
        // SAFETY: memory as CPython has it.
        unsafe { each_owned(holder, &facts, &of(13).unwrap(), &mut tell) };
        assert_eq!(found, [Owned::Object(300), Owned::Object(100), Owned::Object(0)]);
        // SAFETY: as above.
        let has_any = |class| unsafe { has_members(class) };
        assert!(has_any(base) && has_any(class(base, 32, &[])) && !has_any(class(0, 32, &[(number, 16)])));
    }
}
