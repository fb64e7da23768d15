//! Calls that wait for children: the recording keeps the CPU time that the kernel says a child has used.
//! Owns: the `wait` family. Never: takes or leaves a child that the program's own call would not, changes what that call returns. These
//! are called in signal handlers, and unwound by `pthread_cancel`: nothing here locks or needs a drop.

use crate::process::life;
use crate::system::real::next;
use crate::writing::reaped;
use std::ffi::c_int;

type Wait4 = unsafe extern "C-unwind" fn(libc::pid_t, *mut c_int, c_int, *mut libc::rusage) -> libc::pid_t;
type WaitId = unsafe extern "C-unwind" fn(libc::idtype_t, libc::id_t, *mut libc::siginfo_t, c_int) -> c_int;

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn wait4(
    pid: libc::pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
) -> libc::pid_t {
    let real = next!(c"wait4", Wait4, -1);
    // SAFETY: null or valid, as the caller promises; what genba puts in for null is on this stack.
    unsafe {
        let mut own_status: c_int = 0;
        let mut own_usage: libc::rusage = core::mem::zeroed();
        let status = if status.is_null() { &raw mut own_status } else { status };
        let usage = if usage.is_null() { &raw mut own_usage } else { usage };
        let result = real(pid, status, options, usage);
        if result > 0 && (libc::WIFEXITED(*status) || libc::WIFSIGNALED(*status)) {
            reaped::ended(result, &*usage);
        }
        result
    }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn wait3(status: *mut c_int, options: c_int, usage: *mut libc::rusage) -> libc::pid_t {
    // SAFETY: the same call for any child.
    unsafe { wait4(-1, status, options, usage) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn waitpid(pid: libc::pid_t, status: *mut c_int, options: c_int) -> libc::pid_t {
    // SAFETY: the same call without usage.
    unsafe { wait4(pid, status, options, core::ptr::null_mut()) }
}

/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn wait(status: *mut c_int) -> libc::pid_t {
    // SAFETY: the same call for any child, without usage.
    unsafe { wait4(-1, status, 0, core::ptr::null_mut()) }
}

/// libc's `waitid` tells no usage, and the system call that does cannot be cancelled. So libc's waits and takes nothing, and the
/// system call takes what is there then.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn waitid(
    kind: libc::idtype_t,
    id: libc::id_t,
    info: *mut libc::siginfo_t,
    options: c_int,
) -> c_int {
    let real = next!(c"waitid", WaitId, -1);
    let takes = options & libc::WEXITED != 0 && options & libc::WNOWAIT == 0;
    // SAFETY: null or valid, as the caller promises; what genba puts in for null is on this stack.
    unsafe {
        if !takes || !life::is_recording() {
            return real(kind, id, info, options);
        }
        let mut own_info: libc::siginfo_t = core::mem::zeroed();
        let mut usage: libc::rusage = core::mem::zeroed();
        loop {
            let waited = real(kind, id, &raw mut own_info, options | libc::WNOWAIT);
            if waited != 0 {
                return waited;
            }
            let info = if info.is_null() { &raw mut own_info } else { info };
            let at_once = options | libc::WNOHANG;
            let result = libc::syscall(libc::SYS_waitid, kind, id, info, at_once, &raw mut usage) as c_int;
            let pid = (*info).si_pid();
            if result == 0 && pid == 0 && options & libc::WNOHANG == 0 {
                // Another thread has taken it: the caller's call would still wait.
                continue;
            }
            if result == 0
                && pid != 0
                && [libc::CLD_EXITED, libc::CLD_KILLED, libc::CLD_DUMPED].contains(&(*info).si_code)
            {
                reaped::ended(pid, &usage);
            }
            return result;
        }
    }
}
