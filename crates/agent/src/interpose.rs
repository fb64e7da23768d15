//! The functions of libc that genba stands in front of, when it is preloaded.
//! Owns: how the real ones are found; one file below for each subject. Never: changes what the program gets; `errno` is the real
//! function's. Only calls through the dynamic linker come here; a raw system call is noticed by `signals::held` on the next tick.

use crate::symbols;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

mod ends;
mod execs;
mod handlers;
mod namespaces;
mod waits;

/// The next definition of a function, found once.
struct Next(AtomicU64, &'static CStr);

impl Next {
    const fn named(name: &'static CStr) -> Next {
        Next(AtomicU64::new(0), name)
    }

    /// 0: libc has no such function.
    fn address(&self) -> u64 {
        let mut address = self.0.load(SeqCst);
        if address == 0 {
            address = symbols::next(self.1).unwrap_or(0);
            self.0.store(address, SeqCst);
        }
        address
    }
}

/// The real function `$name` as a `$type`; where libc has none, the whole function ends with ENOSYS and `$missing`.
macro_rules! next {
    ($name:literal, $type:ty, $missing:expr) => {{
        static NEXT: crate::interpose::Next = crate::interpose::Next::named($name);
        match NEXT.address() {
            0 => {
                crate::lifecycle::set_errno(libc::ENOSYS);
                return $missing;
            }
            // SAFETY: dlsym gave libc's function of this name, which has this type.
            real => unsafe { core::mem::transmute::<u64, $type>(real) },
        }
    }};
}
use next;

/// Where this library was loaded from.
#[must_use]
pub fn own_path() -> Option<String> {
    // SAFETY: dladdr fills the record; its name belongs to the linker.
    unsafe {
        let mut found: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr((own_path as *const ()).cast(), &raw mut found) == 0 || found.dli_fname.is_null() {
            return None;
        }
        Some(CStr::from_ptr(found.dli_fname).to_string_lossy().into_owned())
    }
}
