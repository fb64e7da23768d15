//! Which of CPython's locks a thread sleeps on. A thread parked in CPython's parking lot sleeps on a semaphore in a `struct wait_entry` on
//! its own stack. The entry is part of a list and holds the address of the thing that the thread waits for (3.14, 3.15, late 3.13).
//! Before, a lock has a semaphore of its own, and only the lock knows it (3.11 to 3.13).
//! Owns: the offsets of that entry, of a lock's type and of an RLock's owner. Never: asks for a version (the list, the type and its name
//! must fit), believes an owner that is no thread of CPython's. Keeps: I-06, I-07.

use crate::memory::{Address, Fault, Memory};

/// From the semaphore, whose first word is the futex: back to the address of what is waited for, and on to the links of the list.
const AWAITED_BEFORE: u64 = 8;
const LINKS: u64 = 32;
/// `struct llist_node`: the next one, the previous one.
const PREVIOUS: u64 = 8;
/// In each of these objects what is waited for follows the head (builds with a GIL).
const OBJECT_HEAD: u64 = 16;
const OBJECT_TYPE: u64 = 8;
const TYPE_NAME: u64 = 24;
/// Of what is waited for in an RLock, its mutex or semaphore: on to the thread that holds it (`_PyRecursiveMutex.thread`, `rlock_owner`).
const OWNER: u64 = 8;
/// The longest of the names with its end.
const NAME_WORDS: usize = 3;

/// What a thread sleeps on, by the type of the object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lock {
    Plain,
    RLock,
    SimpleQueue,
}

const KINDS: [(&[u8], Lock); 3] =
    [(b"_thread.lock\0", Lock::Plain), (b"_thread.RLock\0", Lock::RLock), (b"_queue.SimpleQueue\0", Lock::SimpleQueue)];

/// The lock of a thread that sleeps on this futex; `None` where it is not an entry of the parking lot for one of the known types.
pub fn lock_at(futex: u64, memory: &impl Memory) -> Option<Lock> {
    let links = futex.checked_add(LINKS).filter(|_| futex.is_multiple_of(8))?;
    let object = memory.word(Address(futex.checked_sub(AWAITED_BEFORE)?)).ok()?.checked_sub(OBJECT_HEAD)?;
    if !is_in_list(links, memory).ok()? {
        return None;
    }
    kind_of(object, memory)
}

/// Whether the object at this address is a lock whose threads sleep on this futex: which kind, and where an RLock names its holder, as
/// `owner_of_rlock`. Source: CPython 3.11 to 3.13, Modules/_threadmodule.c (`lockobject`, `rlockobject`), and 3.11 and 3.12,
/// Modules/_queuemodule.c: the address of the semaphore follows the head.
pub fn lock_of(object: u64, futex: u64, memory: &impl Memory) -> Option<(Lock, Address)> {
    let semaphore = object.checked_add(OBJECT_HEAD)?;
    if futex == 0 || memory.word(Address(semaphore)).ok()? != futex {
        return None;
    }
    Some((kind_of(object, memory)?, Address(semaphore.checked_add(OWNER)?)))
}

/// Where the thread that holds this RLock is named, as `threading.get_ident` names it; 0: nobody holds it. For a futex of kind `RLock`.
pub fn owner_of_rlock(futex: u64, memory: &impl Memory) -> Option<Address> {
    let mutex = memory.word(Address(futex.checked_sub(AWAITED_BEFORE)?)).ok()?;
    mutex.checked_add(OWNER).map(Address)
}

fn kind_of(object: u64, memory: &impl Memory) -> Option<Lock> {
    let class = memory.address(Address(object.checked_add(OBJECT_TYPE)?)).ok()?;
    let name = memory.address(Address(class.0.checked_add(TYPE_NAME)?)).ok()?;
    kind_named(name, memory)
}

/// Whether both neighbours of the entry know it.
fn is_in_list(links: u64, memory: &impl Memory) -> Result<bool, Fault> {
    let (Some(before), false) = (links.checked_add(PREVIOUS), links == 0) else { return Err(Fault) };
    let (next, previous) = (memory.word(Address(links))?, memory.word(Address(before))?);
    let back = next.checked_add(PREVIOUS).ok_or(Fault)?;
    Ok(memory.word(Address(back))? == links && memory.word(Address(previous))? == links)
}

/// Reads no word of the name beyond its end.
fn kind_named(name: Address, memory: &impl Memory) -> Option<Lock> {
    let mut text = [0; NAME_WORDS * 8];
    for (index, part) in text.chunks_exact_mut(8).enumerate() {
        part.copy_from_slice(&memory.word(Address(name.0.checked_add(index as u64 * 8)?)).ok()?.to_le_bytes());
        if part.contains(&0) {
            break;
        }
    }
    KINDS.iter().find(|(name, _)| text.starts_with(name)).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    const FUTEX: u64 = 0x7000_0010;
    const ROOT: u64 = 0x5000;
    const OBJECT: u64 = 0x6000;
    const TYPE: u64 = 0x8000;
    const NAME: u64 = 0x9000;

    /// Words by their addresses, and nothing between them.
    struct Words(HashMap<u64, u64>);

    impl Memory for Words {
        fn word(&self, address: Address) -> Result<u64, Fault> {
            self.0.get(&address.0).copied().ok_or(Fault)
        }
    }

    /// A thread parked on an object of a type of this name.
    fn parked(name: &str) -> Words {
        let mut words = HashMap::new();
        words.insert(FUTEX - 8, OBJECT + 16);
        words.insert(FUTEX + 32, ROOT);
        words.insert(FUTEX + 40, ROOT);
        words.insert(ROOT, FUTEX + 32);
        words.insert(ROOT + 8, FUTEX + 32);
        words.insert(OBJECT + 8, TYPE);
        words.insert(TYPE + 24, NAME);
        let mut text = name.as_bytes().to_vec();
        text.resize(name.len() / 8 * 8 + 8, 0);
        for (index, part) in text.chunks_exact(8).enumerate() {
            words.insert(NAME + index as u64 * 8, u64::from_le_bytes(part.try_into().unwrap()));
        }
        Words(words)
    }

    #[test]
    fn the_type_of_the_awaited_object_tells() {
        let of = |name: &str| lock_at(FUTEX, &parked(name));
        assert_eq!(of("_thread.lock"), Some(Lock::Plain));
        assert_eq!(of("_thread.RLock"), Some(Lock::RLock));
        assert_eq!(of("_queue.SimpleQueue"), Some(Lock::SimpleQueue));
        for name in ["_thread.lock2", "_thread.loc", "_queue.SimpleQueues", "_thread._localdummy", "object", ""] {
            assert_eq!(of(name), None, "{name}");
        }
    }

    #[test]
    fn an_rlock_names_its_owner_behind_its_mutex() {
        assert_eq!(owner_of_rlock(FUTEX, &parked("_thread.RLock")), Some(Address(OBJECT + 24)));
        for (futex, mutex) in [(7, 0), (FUTEX, u64::MAX - 7), (FUTEX, u64::MAX)] {
            let mut words = parked("_thread.RLock");
            words.0.insert(FUTEX - 8, mutex);
            assert_eq!(owner_of_rlock(futex, &words), None, "{futex:#x} {mutex:#x}");
        }
    }

    #[test]
    fn a_lock_with_a_semaphore_of_its_own_is_told_by_it() {
        let with = |name: &str| {
            let mut words = parked(name);
            words.0.insert(OBJECT + 16, FUTEX);
            words
        };
        let of = |name: &str| lock_of(OBJECT, FUTEX, &with(name)).map(|(kind, _)| kind);
        assert_eq!(of("_thread.lock"), Some(Lock::Plain));
        assert_eq!(of("_queue.SimpleQueue"), Some(Lock::SimpleQueue));
        assert_eq!(lock_of(OBJECT, FUTEX, &with("_thread.RLock")), Some((Lock::RLock, Address(OBJECT + 24))));
        assert_eq!(of("object"), None);
        for (object, futex) in [(OBJECT, FUTEX + 8), (OBJECT, 0), (0, FUTEX), (u64::MAX, FUTEX), (u64::MAX - 15, FUTEX)]
        {
            assert_eq!(lock_of(object, futex, &with("_thread.lock")), None, "{object:#x} {futex:#x}");
        }
    }

    #[test]
    fn nothing_is_said_where_a_word_is_missing() {
        let words = parked("_queue.SimpleQueue");
        for missing in words.0.keys() {
            let mut less = parked("_queue.SimpleQueue");
            less.0.remove(missing);
            assert_eq!(lock_at(FUTEX, &less), None, "{missing:#x}");
        }
    }

    #[test]
    fn nothing_is_said_of_what_is_in_no_list() {
        for link in [FUTEX + 32, FUTEX + 40, ROOT, ROOT + 8] {
            for other in [0, u64::MAX, TYPE] {
                let mut words = parked("_thread.lock");
                words.0.insert(link, other);
                assert_eq!(lock_at(FUTEX, &words), None, "{link:#x} {other:#x}");
            }
        }
    }

    #[test]
    fn no_address_overflows() {
        for address in [0, 7, 8, u64::MAX, u64::MAX - 7, FUTEX + 4] {
            assert_eq!(lock_at(address, &parked("_thread.lock")), None, "{address:#x}");
        }
        for (place, word) in [(FUTEX - 8, 15), (FUTEX - 8, u64::MAX), (OBJECT + 8, u64::MAX), (TYPE + 24, u64::MAX)] {
            let mut words = parked("_thread.lock");
            words.0.insert(place, word);
            assert_eq!(lock_at(FUTEX, &words), None, "{place:#x}");
        }
    }
}
