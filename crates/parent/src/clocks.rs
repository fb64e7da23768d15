//! Reading a clock as a program does: through libc's functions, as the dynamic linker bound them in this process.
//! Owns: those calls, the same one past libc as a plain system call, and which file answers. Never: measures (the command does).

use std::ffi::{CStr, OsStr, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;

/// A function of libc, with its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    Monotonic,
    Realtime,
    /// No vDSO answers this one: the kernel has to look at the thread.
    ThreadCpu,
    /// `gettimeofday`
    TimeOfDay,
}

impl Clock {
    const fn id(self) -> libc::clockid_t {
        match self {
            Clock::Monotonic => libc::CLOCK_MONOTONIC,
            Clock::Realtime | Clock::TimeOfDay => libc::CLOCK_REALTIME,
            Clock::ThreadCpu => libc::CLOCK_THREAD_CPUTIME_ID,
        }
    }

    /// Asks once, and leaves the answer.
    pub fn read(self) {
        if self == Clock::TimeOfDay {
            let mut now = MaybeUninit::<libc::timeval>::zeroed();
            // SAFETY: it fills the value, which is not read. The time zone may be null.
            unsafe { libc::gettimeofday(now.as_mut_ptr(), ptr::null_mut()) };
        } else {
            let mut now = MaybeUninit::<libc::timespec>::zeroed();
            // SAFETY: it fills the value, which is not read.
            unsafe { libc::clock_gettime(self.id(), now.as_mut_ptr()) };
        }
    }

    /// The same by a system call, past libc and the vDSO.
    pub fn read_by_system_call(self) {
        let mut now = MaybeUninit::<libc::timespec>::zeroed();
        // SAFETY: it fills the value, which is not read.
        unsafe { libc::syscall(libc::SYS_clock_gettime, self.id(), now.as_mut_ptr()) };
    }

    /// The file whose function this process calls: libc, or a library that was loaded before it. None: the linker does not tell.
    #[must_use]
    pub fn answered_by(self) -> Option<PathBuf> {
        let function = match self {
            Clock::TimeOfDay => libc::gettimeofday as *const c_void,
            Clock::Monotonic | Clock::Realtime | Clock::ThreadCpu => libc::clock_gettime as *const c_void,
        };
        let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: it takes any address, and fills the value where it finds a file.
        let is_found = unsafe { libc::dladdr(function, found.as_mut_ptr()) } != 0;
        // SAFETY: all zeros are a value of this type, too.
        let found = unsafe { found.assume_init() };
        if !is_found || found.dli_fname.is_null() {
            return None;
        }
        // SAFETY: the linker's own text, of a file that stays loaded.
        let name = unsafe { CStr::from_ptr(found.dli_fname) };
        Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;

    #[test]
    fn libc_answers() {
        for clock in [Clock::Monotonic, Clock::Realtime, Clock::ThreadCpu, Clock::TimeOfDay] {
            clock.read();
            clock.read_by_system_call();
            let file = clock.answered_by().expect("a file");
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            assert!(name.starts_with("libc") || name.contains("vdso"), "{clock:?} is answered by {name}");
        }
    }
}
