//! What this process got from `genba run` and hands on: its libraries, its session, the list of programs that cannot have them.
//! Owns: those three, for the life of the process. Never: changes them after `main` has begun.

use crate::system::programs::environment;
use crate::system::programs::words::{PRELOAD, SESSION, is_own};
use genba_bells::programs::Programs;
use std::ffi::CString;
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

static HANDED: AtomicPtr<Handed> = AtomicPtr::new(core::ptr::null_mut());
static PROGRAMS: AtomicPtr<Programs> = AtomicPtr::new(core::ptr::null_mut());

/// Both as words of an environment.
pub struct Handed {
    pub preload: CString,
    pub session: CString,
}

impl Handed {
    /// `None`: a list without a library of genba's.
    #[must_use]
    pub fn new(preloaded: impl Iterator<Item = String>, session: &str) -> Option<Handed> {
        let own: Vec<String> = preloaded.filter(|path| is_own(path.as_bytes())).collect();
        let word = |name: &[u8], value: &str| CString::new([name, value.as_bytes()].concat()).ok();
        (!own.is_empty()).then_some(())?;
        Some(Handed { preload: word(PRELOAD, &own.join(":"))?, session: word(SESSION, session)? })
    }
}

/// Programs that this process starts are to be recorded. Before `main`.
pub fn keep(session: &str) {
    if let Some(handed) = Handed::new(environment::preloaded(), session) {
        HANDED.store(Box::into_raw(Box::new(handed)), SeqCst);
    }
}

/// Where programs that cannot be followed are counted. Before `main`.
pub fn count_in(programs: &'static Programs) {
    PROGRAMS.store((&raw const *programs).cast_mut(), SeqCst);
}

#[must_use]
pub fn handed() -> Option<&'static Handed> {
    // SAFETY: made by `into_raw` and never freed.
    unsafe { HANDED.load(SeqCst).as_ref() }
}

/// `None`: they are counted nowhere.
#[must_use]
pub fn programs() -> Option<&'static Programs> {
    // SAFETY: a part of the run's table, whose mapping stays for the life of the process.
    unsafe { PROGRAMS.load(SeqCst).as_ref() }
}
