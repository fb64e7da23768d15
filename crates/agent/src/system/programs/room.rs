//! Room for an environment that is made anew: on this stack, and for a large one in a mapping.
//! Owns: those mappings, one a thread, and the next thread's when that ends. Never: takes the program's memory or a lock. A vfork child that runs another program gives nothing back: its
//! parent's thread, which waits for it, uses the mapping again.

use crate::system::own_ids::own_tid;
use crate::system::programs::executable::PATH_BYTES;
use std::ffi::c_char;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

/// So many words lie on the stack, with the null pointer behind the last one.
pub(super) const WORDS_ON_STACK: usize = 1024;
/// More threads than that start such programs without a mapping of their own.
const MAPPINGS: usize = 16;

/// Words, and one that is made: the list of libraries.
pub(super) struct Room<'a> {
    words: &'a mut [*const c_char],
    count: usize,
    list: &'a mut [u8],
    length: usize,
}

impl Room<'_> {
    /// `None`: no room. The last place is the null pointer's.
    pub(super) fn push(&mut self, word: *const c_char) -> Option<()> {
        let [places @ .., _] = &mut *self.words else { return None };
        *places.get_mut(self.count)? = word;
        self.count += 1;
        Some(())
    }

    /// At the end of the list, where a zero stays behind it.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Option<()> {
        let [places @ .., _] = &mut *self.list else { return None };
        let end = self.length + bytes.len();
        places.get_mut(self.length..end)?.copy_from_slice(bytes);
        self.length = end;
        Some(())
    }

    pub(super) fn is_list_empty(&self) -> bool {
        self.length == 0
    }

    /// From here on another list.
    pub(super) fn clear_list(&mut self) {
        self.length = 0;
    }

    /// The list as a word.
    pub(super) fn push_list(&mut self) -> Option<()> {
        *self.list.get_mut(self.length)? = 0;
        let list = self.list.as_ptr().cast();
        self.push(list)
    }

    /// All words, as a program is given them.
    pub(super) fn environment(&mut self) -> *const *const c_char {
        if let Some(behind) = self.words.get_mut(self.count) {
            *behind = core::ptr::null();
        }
        self.words.as_ptr()
    }
}

/// `run` gets room for so many words and a list of so many bytes, as long as it runs. `None`: there is no memory.
pub(super) fn with<R>(words: usize, list_bytes: usize, run: impl FnOnce(Option<&mut Room>) -> R) -> R {
    if words < WORDS_ON_STACK && list_bytes < PATH_BYTES { on_stack(run) } else { mapped(words, list_bytes, run) }
}

#[inline(never)]
fn on_stack<R>(run: impl FnOnce(Option<&mut Room>) -> R) -> R {
    let (mut words, mut list) = ([core::ptr::null(); WORDS_ON_STACK], [0; PATH_BYTES]);
    run(Some(&mut Room { words: &mut words, count: 0, list: &mut list, length: 0 }))
}

/// A mapping that a thread keeps.
struct Mapping {
    /// `pthread_self`, which a vfork child shares with the thread that waits for it; 0: nobody's.
    thread: AtomicU64,
    /// Who uses it now; a thread that a signal interrupts in the middle does not get it twice. One that has run another program stays written here.
    user: AtomicU32,
    address: AtomicU64,
    bytes: AtomicU64,
}

static KEPT: [Mapping; MAPPINGS] = [const {
    Mapping { thread: AtomicU64::new(0), user: AtomicU32::new(0), address: AtomicU64::new(0), bytes: AtomicU64::new(0) }
}; MAPPINGS];

fn mapped<R>(words: usize, list_bytes: usize, run: impl FnOnce(Option<&mut Room>) -> R) -> R {
    let word_bytes = (words + 1) * size_of::<*const c_char>();
    let bytes = word_bytes + list_bytes + 1;
    // SAFETY: no arguments, no memory.
    let (thread, user) = (unsafe { libc::pthread_self() } as u64, own_tid());
    let own = KEPT.iter().find(|kept| kept.thread.load(SeqCst) == thread);
    let own = own.or_else(|| KEPT.iter().find(|kept| kept.thread.compare_exchange(0, thread, SeqCst, SeqCst).is_ok()));
    let own = own.filter(|kept| kept.user.swap(user, SeqCst) != user);
    let had = own.map_or((0, 0), |kept| (kept.address.load(SeqCst), kept.bytes.load(SeqCst)));
    let (address, length) = if had.1 >= bytes as u64 { had } else { (map(bytes), bytes as u64) };
    if let Some(kept) = own.filter(|_| address != 0 && address != had.0) {
        kept.address.store(address, SeqCst);
        kept.bytes.store(length, SeqCst);
        unmap(had);
    }
    let result = if address == 0 {
        run(None)
    } else {
        // SAFETY: a mapping of at least `bytes`, which begins at a page, and which nobody else uses: see `Mapping`.
        let (words, list) = unsafe {
            let list = core::slice::from_raw_parts_mut((address as *mut u8).add(word_bytes), list_bytes + 1);
            (core::slice::from_raw_parts_mut(address as *mut *const c_char, words + 1), list)
        };
        run(Some(&mut Room { words, count: 0, list, length: 0 }))
    };
    match own {
        Some(kept) => kept.user.store(0, SeqCst),
        None => unmap((address, length)),
    }
    result
}

/// The calling thread ends: its mapping is for the next one that needs one.
pub fn thread_ends() {
    // SAFETY: no arguments, no memory.
    let thread = unsafe { libc::pthread_self() } as u64;
    if let Some(kept) = KEPT.iter().find(|kept| kept.thread.load(SeqCst) == thread) {
        kept.thread.store(0, SeqCst);
    }
}

/// 0: there is no memory.
fn map(bytes: usize) -> u64 {
    let (access, private) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping.
    let found = unsafe { libc::mmap(core::ptr::null_mut(), bytes, access, private, -1, 0) };
    if found == libc::MAP_FAILED { 0 } else { found as u64 }
}

fn unmap((address, bytes): (u64, u64)) {
    if address != 0 {
        // SAFETY: of `map`, and nobody uses it any more.
        unsafe { libc::munmap(address as *mut _, bytes as usize) };
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, MAPPINGS, Room, thread_ends, with};
    use std::sync::atomic::Ordering::SeqCst;

    fn place(room: Option<&mut Room>) -> usize {
        room.expect("memory").environment() as usize
    }

    #[test]
    fn a_thread_keeps_its_mapping_and_a_signal_handler_gets_another_one() {
        let (first, within) = with(5000, 10_000, |room| (place(room), with(5000, 10, place)));
        assert_ne!(first, within);
        assert_eq!(with(5000, 10_000, place), first);
        let other = std::thread::spawn(|| with(5000, 10_000, place)).join().expect("it ends");
        assert_ne!(other, first);
        // What a vfork child leaves, once it has run another program.
        let kept = KEPT.iter().find(|kept| kept.address.load(SeqCst) == first as u64).expect("its place");
        kept.user.store(1, SeqCst);
        assert_eq!(with(5000, 10_000, place), first);
    }

    #[test]
    fn threads_that_ended_leave_their_places_to_others() {
        for _ in 0..3 * MAPPINGS {
            let thread = std::thread::spawn(|| {
                with(5000, 10_000, place);
                // SAFETY: no arguments, no memory.
                let own = unsafe { libc::pthread_self() } as u64;
                let had_a_place = KEPT.iter().any(|kept| kept.thread.load(SeqCst) == own);
                thread_ends();
                had_a_place
            });
            assert!(thread.join().expect("it ends"));
        }
    }

    #[test]
    fn no_word_comes_where_the_null_pointer_belongs() {
        for words in [3, 2000] {
            with(words, 10, |room| {
                let room = room.expect("memory");
                let pushed = (0..5000).take_while(|_| room.push(c"A=1".as_ptr()).is_some()).count();
                assert!(pushed >= words);
                // SAFETY: behind the words of this room there is a null pointer.
                assert!(unsafe { *room.environment().add(pushed) }.is_null());
            });
        }
    }
}
