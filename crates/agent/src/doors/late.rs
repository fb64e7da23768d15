//! An interpreter that a program loads after its start: a plugin of a server, a packed program, an embedding.
//! Owns: `dlsym`, the moment at which such a program asks for what it has loaded; the thread that begins the recording. Never: keeps its
//! caller waiting for that thread, comes between libc and the caller, by whose address libc answers: it is jumped to.
//!
//! Asked for are names of CPython's API alone: the program's own first one, or the entry of an extension module. Whoever asks for these holds no
//! lock of an allocator.

use super::api::{Beginner, start};
use crate::lifecycle::{self, awaited};
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
    if is_pythons && awaited::is_to_look() {
        let _ = std::panic::catch_unwind(look);
    }
    errno::set(errno);
    symbols::real_dlsym()
}

fn look() {
    symbols::find_local_python();
    let is_found = room::within(|| !matches!(find(&Guarded, &Linker), Found::No));
    if is_found == Some(true)
        && let Some(text) = awaited::take()
    {
        begin(text);
    }
}

/// On a thread of its own: it may have to wait for the dynamic linker, whose lock the caller may have.
fn begin(text: &'static str) {
    extern "C" fn body(text: *mut c_void) -> *mut c_void {
        // SAFETY: from below; it is never freed.
        let text: &'static &'static str = unsafe { &*text.cast::<&'static str>() };
        let _ = std::panic::catch_unwind(|| begin_here(text));
        core::ptr::null_mut()
    }
    let Some(text) = room::within(|| Box::into_raw(Box::new(text))) else { return };
    // SAFETY: plain pthread calls; all memory is on this stack or was leaked. Signals are blocked while the thread is made, so that it
    // inherits the mask.
    unsafe {
        let before = mask::in_kernel(libc::SIG_SETMASK, mask::of_own_thread());
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setstacksize(&raw mut attributes, STACK_BYTES);
        libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        let mut thread: libc::pthread_t = 0;
        starts::create_thread(&raw mut thread, &raw const attributes, body, text.cast());
        libc::pthread_attr_destroy(&raw mut attributes);
        mask::in_kernel(libc::SIG_SETMASK, before);
    }
}

fn begin_here(text: &str) {
    let Some(session) = room::within(|| Session::parse(text)).flatten() else { return };
    let refused = room::within(|| match find(&Guarded, &Linker) {
        Found::No => None,
        Found::Refused { version, reason } => Some((version, reason)),
        Found::Yes { python, version } => alternate::is_in_bolted_file(python.runtime.0).then(|| {
            let reason =
                "BOLT made this build, and it was loaded after the program's start: `genba attach PID` records it";
            (version, reason.to_owned())
        }),
    });
    lifecycle::leave_alone(&session);
    match refused.flatten() {
        Some((version, reason)) => lifecycle::announce(&session, &version, &reason),
        None => {
            // What it comes to is in the recording.
            let _ = room::within(|| start(text, Beginner::Loader));
        }
    }
}
