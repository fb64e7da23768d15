//! Addresses of symbols in the loaded files.
//! Owns: the one use of dlsym. Never: calls what it finds.

use std::ffi::CStr;

/// In the order of the dynamic linker.
#[must_use]
pub fn address(name: &CStr) -> Option<u64> {
    // SAFETY: the name ends in NUL; dlsym reads the linker's tables under the linker's own lock.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found as u64)
}

/// The definition that the program would get without genba's.
#[must_use]
pub fn next(name: &CStr) -> Option<u64> {
    // SAFETY: as above; RTLD_NEXT starts behind the library that this code is in.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    (!found.is_null()).then_some(found as u64)
}
