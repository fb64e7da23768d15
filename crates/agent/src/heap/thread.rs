//! The thread that walks the heap while the program goes on.
//! Owns: that there is one at a time. Never: keeps whoever starts it waiting.

use super::plan::Known;
use super::request::Request;
use super::walking;
use crate::system::proc;
use crate::system::signals::mask;
use crate::system::threads::starts;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Foreign `tp_traverse` functions run on it, and with `--collect` finalizers of the program.
const STACK_BYTES: usize = 8 << 20;

/// The process whose heap is being walked, or 0. A forked child finds its parent's number, and no walk of its own.
static BUSY: AtomicU32 = AtomicU32::new(0);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Started {
    Yes,
    /// A walk is under way.
    Busy,
    NoThread,
}

/// Whether a walk is under way.
pub fn is_busy() -> bool {
    let busy = BUSY.load(SeqCst);
    busy != 0 && busy == proc::own_pid()
}

pub fn start(request: Request, known: Known) -> Started {
    let pid = proc::own_pid();
    if BUSY.swap(pid, SeqCst) == pid {
        return Started::Busy;
    }
    if begin(Box::new((request, known))) {
        Started::Yes
    } else {
        BUSY.store(0, SeqCst);
        Started::NoThread
    }
}

type Work = (Request, Known);

fn begin(work: Box<Work>) -> bool {
    extern "C" fn body(work: *mut c_void) -> *mut c_void {
        // SAFETY: names the calling thread.
        unsafe { libc::syscall(libc::SYS_prctl, libc::PR_SET_NAME, c"genba-heap".as_ptr(), 0, 0, 0) };
        let work = work.cast::<Work>();
        // SAFETY: from `begin`, for this thread alone. It is not owned here: this thread may be ended where it waits for the GIL.
        let (request, known) = unsafe { &*work };
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| walking::walk(request, known)));
        // SAFETY: made by `Box::into_raw`, and used no more.
        drop(unsafe { Box::from_raw(work) });
        BUSY.store(0, SeqCst);
        core::ptr::null_mut()
    }
    let work = Box::into_raw(work);
    // SAFETY: plain pthread calls; the work lives until the thread frees it. It inherits the mask of this thread, of which the program's signals are
    // blocked meanwhile: `sys.remote_exec` has the program's main thread call.
    unsafe {
        let (own, mut before) = (mask::of_own_thread(), 0_u64);
        let set_mask = |new: *const u64, old: *mut u64| {
            libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, new, old, size_of::<u64>())
        };
        set_mask(&raw const own, &raw mut before);
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setstacksize(&raw mut attributes, STACK_BYTES);
        libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        let mut thread: libc::pthread_t = 0;
        let failed = starts::create_thread(&raw mut thread, &raw const attributes, body, work.cast());
        libc::pthread_attr_destroy(&raw mut attributes);
        set_mask(&raw const before, core::ptr::null_mut());
        if failed != 0 {
            drop(Box::from_raw(work));
        }
        failed == 0
    }
}
