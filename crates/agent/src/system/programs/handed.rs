//! What this process got from `genba run` and hands on: its libraries, its session, the list of programs that cannot have them.
//! Owns: those three, for the life of the process. Never: changes the first two after `main` has begun; the list may come later, with a recording
//! from genba's hand (files_over_fork.rs).

use crate::system::own_ids::own_pid;
use crate::system::programs::environment;
use crate::system::programs::words::{PRELOAD, SESSION, is_own};
use genba_bells::programs::{Programs, Reason};
use std::ffi::CString;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::SeqCst};

static HANDED: AtomicPtr<Handed> = AtomicPtr::new(core::ptr::null_mut());
static PROGRAMS: AtomicPtr<Programs> = AtomicPtr::new(core::ptr::null_mut());
/// The process that is counted as one that cannot open its recording; 0: none.
static OUT_OF_REACH: AtomicU32 = AtomicU32::new(0);

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

/// Where programs that cannot be followed are counted.
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

/// This process, which runs that program, cannot open its recording. Counted once: the sampler may find that first, and then the thread that began
/// the sampler. False: there is nowhere to count it.
pub fn count_out_of_reach(executable: &str) -> bool {
    let Some(programs) = programs() else { return false };
    let process = own_pid();
    if OUT_OF_REACH.swap(process, SeqCst) != process {
        programs.add(Reason::RecordingOutOfReach, executable.as_bytes());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::{count_in, count_out_of_reach};
    use genba_bells::programs::{Programs, Reason};

    #[test]
    fn a_process_that_cannot_open_its_recording_is_counted_once() {
        static OF_RUN: Programs = Programs::new();
        count_in(&OF_RUN);
        assert!(count_out_of_reach("/bin/embeds") && count_out_of_reach("/bin/embeds"));
        let (started, _) = OF_RUN.started();
        let counted: Vec<_> = started.iter().filter(|row| row.reason == Reason::RecordingOutOfReach).collect();
        assert_eq!(counted.iter().map(|row| row.count).collect::<Vec<_>>(), [1], "{counted:?}");
    }
}
