//! What the dynamic linker's own words tell: whether files came or went, and whether its lock is one that nobody gives back any more.
//! Owns: where these words lie. Never: takes a place for one of them that was not seen to be it; takes the linker's lock where the words tell.
//!
//! `dl_iterate_phdr` takes the lock of the linker's list. Each C++ exception and many a profiler take it, too, and a child that is forked
//! meanwhile inherits it locked for good: whoever asks there waits for ever. glibc makes no other lock of the linker's anew, either, but
//! those of loading and of thread-local storage. As nothing can be loaded or unloaded without that lock, the list of such a child stays.
//!
//! The words lie in `_rtld_global`, whose first two fields never change their place ("Forever", says sysdeps/generic/ldsodefs.h of glibc). The
//! lock is the mutex in there that this thread holds during the callback and not before it. Behind it, and behind one more lock since
//! glibc 2.35, is the count of files that ever came, which the callback is told, too. Where something else is found, the linker is asked.

use crate::system::errno;
use crate::system::proc::own_tid;
use crate::system::symbols;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::SeqCst};

/// How often files came and went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Changes {
    loaded: u64,
    /// So many files are there. By the words, of the program's own namespace; else of all.
    present: u64,
}

/// Files of the program's namespace; null, as the other two: not known.
static PRESENT: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());
/// Files that ever came.
static LOADED: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());
/// The lock's own word, 0 while it is free.
static LOCK: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::null_mut());
/// The lock is held by a thread that this process does not have.
static ORPHANED: AtomicBool = AtomicBool::new(false);
static LEARNT: AtomicBool = AtomicBool::new(false);

impl Changes {
    pub(in crate::reading) fn now() -> Changes {
        unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _bytes: usize, out: *mut c_void) -> c_int {
            // SAFETY: the linker gives a valid record; `out` is the value below.
            unsafe { *out.cast::<Changes>() = Changes::told_by(&*info) };
            1
        }
        if let Some(changes) = Changes::of_words() {
            return changes;
        }
        let mut changes = Changes::default();
        // SAFETY: the callback gets the address of `changes`, which outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut changes).cast()) };
        changes
    }

    /// Whether each file that was there `before` has been there since. One that came to another namespace, or to one while another went, makes
    /// the two counts grow apart.
    pub(super) const fn only_came_since(self, before: Changes) -> bool {
        self.loaded.wrapping_sub(before.loaded) == self.present.wrapping_sub(before.present)
    }

    /// In the linker's callback.
    pub(in crate::reading) fn told_by(info: &libc::dl_phdr_info) -> Changes {
        match Changes::of_words() {
            Some(changes) if changes.loaded == info.dlpi_adds => changes,
            is_known => {
                if is_known.is_some() {
                    // Not that count, after all.
                    LOADED.store(core::ptr::null_mut(), SeqCst);
                }
                Changes { loaded: info.dlpi_adds, present: info.dlpi_adds - info.dlpi_subs }
            }
        }
    }

    /// What is told without asking.
    pub(in crate::reading) fn of_words() -> Option<Changes> {
        // SAFETY: null, or words of the linker's, which stays as long as the process; it changes them under its lock.
        let (loaded, present) = unsafe { (LOADED.load(SeqCst).as_ref()?, PRESENT.load(SeqCst).as_ref()?) };
        Some(Changes { loaded: loaded.load(SeqCst), present: u64::from(present.load(SeqCst)) })
    }
}

/// Whether the linker's list may be asked for.
#[must_use]
pub fn may_ask_linker() -> bool {
    !ORPHANED.load(SeqCst)
}

/// The same for one who must never wait there: false, too, where the lock itself was not found.
#[must_use]
pub fn sees_linker_lock() -> bool {
    may_ask_linker() && !LOCK.load(SeqCst).is_null()
}

/// In a forked child, in its one thread.
pub fn forked() {
    // SAFETY: null, or a word of the linker's.
    if let Some(lock) = unsafe { LOCK.load(SeqCst).as_ref() } {
        ORPHANED.store(lock.load(SeqCst) != 0, SeqCst);
    }
}

/// Once in a process, before it forks with a sampler: by the thread that loads this library, or by the sampler's, for whose answer the program
/// waits a bounded time. A forked child may have got the linker's lock from a thread that is gone, and whoever asks for the list there waits for
/// ever: such a lock is seen by its holder.
pub fn learn() {
    if LEARNT.swap(true, SeqCst) {
        return;
    }
    let Some((begin, end)) = symbols::address(c"_rtld_global").and_then(symbols::extent_at) else { return };
    let Some(list) = symbols::address(c"_r_debug") else { return };
    let mut search = Search {
        begin,
        words: ((end - begin) / 8) as usize,
        // SAFETY: link.h has this record, which debuggers read, too; its second word leads to the list.
        list: unsafe { (list as *const u64).add(1).read_volatile() },
        tid: own_tid(),
        others: Vec::new(),
        files: 0,
        found: None,
    };
    if (0..search.words).any(|at| search.is_orphaned_lock(at)) {
        ORPHANED.store(true, SeqCst);
        return;
    }
    search.others = (0..search.words).filter(|&at| search.is_held_lock(at)).collect();
    // SAFETY: the callback gets the address of `search`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut search).cast()) };
    let Some((lock, loaded)) = search.found.filter(|_| search.has_beginning()) else { return };
    PRESENT.store((begin + 8) as *mut AtomicU32, SeqCst);
    LOADED.store(search.address(loaded) as *mut AtomicU64, SeqCst);
    LOCK.store(search.address(lock) as *mut AtomicU32, SeqCst);
}

unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _bytes: usize, search: *mut c_void) -> c_int {
    // SAFETY: the linker gives a valid record; `search` is the one above.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    search.files += 1;
    if search.files == 1 {
        search.found = search.find(info.dlpi_adds);
    }
    0
}

/// Words are counted from the beginning of `_rtld_global`.
struct Search {
    begin: u64,
    words: usize,
    list: u64,
    tid: u32,
    /// Locks that this thread holds anyhow.
    others: Vec<usize>,
    files: u32,
    /// The lock, and the count of files that ever came.
    found: Option<(usize, usize)>,
}

impl Search {
    /// Of a pthread_mutex_t, as the public header bits/pthreadtypes.h has it on x86-64.
    const LOCK_WORDS: usize = 5;

    const fn address(&self, at: usize) -> u64 {
        self.begin + 8 * at as u64
    }

    fn word(&self, at: usize) -> Option<u64> {
        // SAFETY: a word of the linker's, which stays as long as the process; others may change it.
        (at < self.words).then(|| unsafe { AtomicU64::from_ptr(self.address(at) as *mut u64) }.load(SeqCst))
    }

    /// A recursive lock, taken once by this thread.
    fn is_held_lock(&self, at: usize) -> bool {
        self.holder(at).is_some_and(|(holder, count)| holder == self.tid && count == 1)
    }

    /// One that a thread holds which this process does not have: the process that forked it had that thread.
    fn is_orphaned_lock(&self, at: usize) -> bool {
        let held = self.holder(at);
        held.is_some_and(|(holder, count)| {
            let tid = i32::try_from(holder).unwrap_or(0);
            // SAFETY: the signal 0 reaches nobody; the kernel says whether there is such a thread.
            let is_gone = || unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, 0) } == -1;
            let is_no_thread = (1..16).contains(&count) && tid > 0 && is_gone() && errno::get() == libc::ESRCH;
            // A thread may give its lock back and end between the two looks.
            is_no_thread && self.holder(at) == held
        })
    }

    /// Of a recursive lock that is locked: by whom, and how often.
    fn holder(&self, at: usize) -> Option<(u32, u32)> {
        const RECURSIVE: u32 = 1;
        let (first, second, third) = (self.word(at)?, self.word(at + 1)?, self.word(at + 2)?);
        let (is_locked, users) = (matches!(first as u32, 1 | 2), (second >> 32) as u32);
        (is_locked && users == 1 && third as u32 == RECURSIVE).then_some((second as u32, (first >> 32) as u32))
    }

    /// Under the linker's lock.
    fn find(&self, loaded: u64) -> Option<(usize, usize)> {
        let mut locks = (0..self.words).filter(|&at| self.is_held_lock(at) && !self.others.contains(&at));
        let (Some(lock), None) = (locks.next(), locks.next()) else { return None };
        let behind = [lock + Self::LOCK_WORDS, lock + 2 * Self::LOCK_WORDS];
        let mut counts = behind.into_iter().filter(|&at| self.word(at) == Some(loaded));
        let (Some(count), None) = (counts.next(), counts.next()) else { return None };
        Some((lock, count))
    }

    /// The linker's list, and how many files are in it.
    fn has_beginning(&self) -> bool {
        self.word(0) == Some(self.list) && self.word(1).map(|word| word as u32) == Some(self.files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_move_with_the_list() {
        let told = || {
            unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _bytes: usize, out: *mut c_void) -> c_int {
                // SAFETY: the linker gives a valid record; `out` is the value below.
                unsafe { *out.cast::<(u64, u64)>() = ((*info).dlpi_adds, (*info).dlpi_subs) };
                1
            }
            let mut told = (0_u64, 0_u64);
            // SAFETY: the callback gets the address of `told`, which outlives the call.
            unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut told).cast()) };
            told
        };
        let agrees = || {
            let (loaded, unloaded) = told();
            assert_eq!(Changes::of_words(), Some(Changes { loaded, present: loaded - unloaded }));
        };
        learn();
        agrees();
        let before = Changes::now();
        // SAFETY: a name that ends in NUL; the handle is closed once.
        unsafe {
            let library = libc::dlopen(c"libresolv.so.2".as_ptr(), libc::RTLD_NOW);
            assert!(!library.is_null());
            let with_it = Changes::now();
            assert_ne!(with_it, before);
            agrees();
            libc::dlclose(library);
            assert_ne!(Changes::now(), with_it);
        }
        agrees();
    }

    #[test]
    fn files_only_came_where_both_counts_grew_alike() {
        let since = |(loaded, present), (loaded_before, present_before)| {
            let before = Changes { loaded: loaded_before, present: present_before };
            Changes { loaded, present }.only_came_since(before)
        };
        assert!(since((7, 7), (7, 7)) && since((9, 6), (7, 4)));
        assert!(!since((7, 6), (7, 7)), "one went");
        assert!(!since((8, 7), (7, 7)), "one went and one came, or one came to another namespace");
        assert!(!since((9, 6), (7, 7)));
    }

    #[test]
    fn a_child_sees_that_the_lock_was_held() {
        static INSIDE: AtomicU32 = AtomicU32::new(0);
        unsafe extern "C" fn stay(_info: *mut libc::dl_phdr_info, _bytes: usize, _nothing: *mut c_void) -> c_int {
            INSIDE.store(1, SeqCst);
            while INSIDE.load(SeqCst) == 1 {
                std::thread::yield_now();
            }
            1
        }
        let orphaned = || {
            // SAFETY: the child makes one system call, after it has read two words.
            let child = unsafe { libc::fork() };
            if child == 0 {
                forked();
                // SAFETY: ends the child.
                unsafe { libc::_exit(i32::from(!may_ask_linker())) };
            }
            let mut status = 0;
            // SAFETY: waits for that child.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            libc::WEXITSTATUS(status)
        };
        learn();
        assert_eq!(orphaned(), 0);
        std::thread::scope(|scope| {
            // SAFETY: the callback uses nothing of what it is given.
            scope.spawn(|| unsafe { libc::dl_iterate_phdr(Some(stay), core::ptr::null_mut()) });
            while INSIDE.load(SeqCst) == 0 {
                std::thread::yield_now();
            }
            assert_eq!(orphaned(), 1);
            INSIDE.store(2, SeqCst);
        });
        assert_eq!(orphaned(), 0);
    }
}
