//! An interpreter that a program loads after its start: a plugin of a server, a packed program, an embedding.
//! Owns: `dlsym`, the moment at which such a program asks for what it has loaded; the thread that begins the recording. Never: keeps its
//! caller waiting for that thread, comes between libc and the caller, by whose address libc answers: it is jumped to.
//!
//! Asked for are names of CPython's API alone: the program's own first one, or the entry of an extension module. Whoever asks for these holds no
//! lock of an allocator.

use super::api::{Beginner, Outcome, start};
use crate::lifecycle::{self, awaited};
use crate::process::files_over_fork;
use crate::process::room;
use crate::process::session::Session;
use crate::system::alternate;
use crate::system::errno;
use crate::system::signals::mask;
use crate::system::symbols::{self, Linker};
use crate::system::threads::starts;
use core::arch::naked_asm;
use genba_python::find::{Found, find};
use genba_signal::memory::Guarded;
use std::ffi::{CStr, c_char, c_void};
use std::time::Duration;

const BOLTED: &str = "BOLT made this build, and it was loaded after the program's start: `genba attach PID` records it";
const TRIES: u32 = 100;
/// For what reads symbols and tables.
const STACK_BYTES: usize = 256 << 10;

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {before}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "jmp rax",
        ".cfi_endproc",
        before = sym before,
    )
}

/// Gives libc's function.
extern "C" fn before(_handle: *mut c_void, name: *const c_char) -> u64 {
    let errno = errno::get();
    // SAFETY: as libc's caller promises.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_bytes());
    let is_pythons = name.is_some_and(|name| name.starts_with(b"Py") || name.starts_with(b"_Py"));
    if is_pythons && let Some(loaded) = awaited::news() {
        let _ = std::panic::catch_unwind(|| look(loaded));
    }
    errno::set(errno);
    symbols::real_dlsym()
}

fn look(loaded: u64) {
    symbols::find_local_python();
    // The program may close it again before the thread that begins has read it.
    if !symbols::stays_loaded(c"_PyRuntime") {
        return;
    }
    match room::within(|| !matches!(find(&Guarded, &Linker), Found::No)) {
        // Another thread looks.
        None => {}
        Some(false) => awaited::none_in(loaded),
        Some(true) => {
            if let Some(text) = awaited::take()
                && !begin(text)
            {
                awaited::give_back();
            }
        }
    }
}

/// On a new thread, which may wait for the dynamic linker: the caller may hold its lock. False: no thread could be made.
fn begin(text: &'static String) -> bool {
    extern "C" fn body(text: *mut c_void) -> *mut c_void {
        // SAFETY: from below; it is never freed.
        let text = unsafe { &*text.cast::<String>() };
        let _ = std::panic::catch_unwind(|| begin_here(text));
        files_over_fork::nobody_begins();
        core::ptr::null_mut()
    }
    // SAFETY: plain pthread calls; all memory is on this stack or never freed. Signals are blocked while the thread is made, so that it
    // inherits the mask.
    unsafe {
        let before = mask::in_kernel(libc::SIG_SETMASK, mask::of_own_thread());
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setstacksize(&raw mut attributes, STACK_BYTES);
        libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        let mut thread: libc::pthread_t = 0;
        let text = core::ptr::from_ref(text).cast_mut().cast();
        let failed = starts::create_thread(&raw mut thread, &raw const attributes, body, text);
        libc::pthread_attr_destroy(&raw mut attributes);
        mask::in_kernel(libc::SIG_SETMASK, before);
        failed == 0
    }
}

fn begin_here(text: &str) {
    let Some((session, found)) = with_room(&|| Some((Session::parse(text)?, find(&Guarded, &Linker)))).flatten() else {
        return;
    };
    let (version, why) = match found {
        Found::No => return,
        Found::Refused { version, reason } => (version, reason),
        Found::Yes { python, version } if alternate::is_in_bolted_file(python.runtime.0) => {
            (version, BOLTED.to_owned())
        }
        Found::Yes { version, .. } => match with_room(&|| start(text, Beginner::Loader)) {
            None | Some((Outcome::Done | Outcome::Already, _)) => return,
            Some((Outcome::Refused, why)) => (version, why.into_owned()),
            Some((Outcome::Late | Outcome::NotRecording, _)) => {
                (version, "the sampler did not answer in time".to_owned())
            }
        },
    };
    with_room(&|| lifecycle::announce(&session, &version, &why));
}

/// `None`: there is no memory. Another thread may have the room for a moment.
fn with_room<T>(work: &impl Fn() -> T) -> Option<T> {
    (0..TRIES).find_map(|number| {
        if number > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        room::within(work)
    })
}
