//! The beginning: an audit hook that waits until the interpreter is about to run the program. What runs before (site, the importer) is not the
//! program.
//! Owns: that moment. Never: refuses anything that is audited, looks at anything else than what names the moment.
//!
//! | from    | to      | at the event                                                                          |
//! |---------|---------|---------------------------------------------------------------------------------------|
//! | Waiting | Armed   | `cpython.run_file`, `cpython.run_command`, `cpython.run_stdin`: the source is read     |
//! | Armed   | Begun   | `exec` outside of any Python code (a module that is imported meanwhile runs inside): its code is about to run |
//! | Waiting | Begun   | `cpython.run_module`, or `cpython.run_file` of a `.pyc`, whose code is not announced    |

use super::file;
use super::functions::Python;
use super::tracer::Tracer;
use super::{beside, monitoring, profile_function};
use crate::collections::interpreter::Object;
use crate::process::room;
use crate::process::safe_point;
use crate::process::session::Session;
use crate::system::errno;
use crate::system::proc::own_pid;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

const WAITING: u32 = 0;
const ARMED: u32 = 1;
const BEGUN: u32 = 2;
/// On 3.11: the program's own profile functions are watched.
const BEGUN_WATCHING: u32 = 3;

const NO_MEMORY: &str = "there is no memory";

static STAGE: AtomicU32 = AtomicU32::new(WAITING);
/// A hook stays for ever.
static IS_ADDED: AtomicBool = AtomicBool::new(false);

/// Before `main`. `refused`: the interpreter is one that genba does not trace, and why.
pub fn begin(session: Session, refused: Option<&str>) {
    if let Some(words) = refused {
        return file::note(&session, file::Note::Refused, words.as_bytes());
    }
    let Some(python) = Python::find() else {
        return file::note(&session, file::Note::Refused, b"this interpreter does not export what tracing needs");
    };
    // SAFETY: no memory.
    let is_first = session.trace == u32::try_from(unsafe { libc::getppid() }).ok();
    Tracer::new(Box::leak(Box::new(python)), session, own_pid(), is_first).keep();
    watch_forks();
    // SAFETY: the function lives as long as the process. A hook may be added before there is an interpreter.
    unsafe { (python.add_audit_hook)(hook, core::ptr::null_mut()) };
    IS_ADDED.store(true, SeqCst);
}

/// Once in a process.
pub fn watch_forks() {
    // SAFETY: the function lives as long as the process.
    unsafe {
        dlmalloc::enable_alloc_after_fork();
        libc::pthread_atfork(None, None, Some(after_in_child));
    }
}

/// On 3.11, from now on. With the GIL.
pub fn watch_profile_functions(tracer: *mut Tracer) {
    STAGE.store(BEGUN_WATCHING, SeqCst);
    if !IS_ADDED.swap(true, SeqCst) {
        // SAFETY: never freed; the function lives as long as the process.
        unsafe {
            if ((*tracer).python.add_audit_hook)(hook, core::ptr::null_mut()) != 0 {
                // Another hook forbids it: the program's own profile functions are not watched.
                ((*tracer).python.forget_error)();
            }
        }
    }
}

pub fn watch_no_more() {
    STAGE.store(BEGUN, SeqCst);
}

extern "C" fn hook(event: *const c_char, arguments: Object, _: *mut c_void) -> c_int {
    let stage = STAGE.load(SeqCst);
    if stage == BEGUN {
        return 0;
    }
    // SAFETY: an audited event has a name.
    let event = unsafe { CStr::from_ptr(event) };
    match (stage, event.to_bytes()) {
        (WAITING, b"cpython.run_module") => begins(true),
        (WAITING, b"cpython.run_file") if is_compiled(arguments) => begins(false),
        (WAITING, b"cpython.run_file" | b"cpython.run_command" | b"cpython.run_stdin") => STAGE.store(ARMED, SeqCst),
        (ARMED, b"exec") if !is_in_python() => begins(false),
        (BEGUN_WATCHING, b"sys.setprofile") => {
            let _ = safe_point::run_after_this_call(profile_function::come_back);
        }
        _ => {}
    }
    0
}

/// Whether Python code of this thread is under way.
fn is_in_python() -> bool {
    // SAFETY: with the GIL; what is found is only compared.
    unsafe { !((*Tracer::get()).python.frame)().is_null() }
}

/// The one argument is the name of a file.
fn is_compiled(arguments: Object) -> bool {
    let tracer = Tracer::get();
    // SAFETY: with the GIL; the item is borrowed.
    let (python, name) = unsafe { ((*tracer).python, ((*tracer).python.tuple_item)(arguments, 0)) };
    if name.is_null() {
        // SAFETY: as above.
        unsafe { (python.forget_error)() };
        return false;
    }
    super::names::text(python, name).is_some_and(|name| name.ends_with(b".pyc"))
}

fn begins(is_module: bool) {
    let errno = errno::get();
    let tracer = Tracer::get();
    // SAFETY: never freed; with the GIL.
    let python = unsafe { (*tracer).python };
    if is_module {
        // The interpreter is about to: its import is not the program's.
        // SAFETY: as above.
        unsafe {
            let module = (python.import)(c"runpy".as_ptr());
            if module.is_null() { (python.forget_error)() } else { (python.release)(module) }
        }
    }
    // SAFETY: as above. What `sys` has is borrowed.
    let has_monitoring = unsafe { !(python.of_sys)(c"monitoring".as_ptr()).is_null() };
    // What the installation does is audited, too.
    STAGE.store(if has_monitoring { BEGUN } else { BEGUN_WATCHING }, SeqCst);
    // SAFETY: as above; nothing of the interpreter's is called while it is used.
    let has_room = unsafe { (*tracer).begin() }.ok_or(NO_MEMORY);
    let installed = has_room.and_then(|()| {
        let install = || match has_monitoring {
            true => monitoring::install(tracer),
            false => profile_function::install(tracer),
        };
        room::within(|| install().map(|()| beside::install(tracer))).unwrap_or(Err(NO_MEMORY))
    });
    if let Err(words) = installed {
        // SAFETY: as above.
        room::within(|| file::note(unsafe { &(*tracer).session }, file::Note::Refused, words.as_bytes()));
    }
    errno::set(errno);
}

extern "C" fn after_in_child() {
    let errno = errno::get();
    safe_point::forked();
    // SAFETY: never freed; this is the only thread of the child.
    if let Some(tracer) = unsafe { Tracer::get().as_mut() } {
        if tracer.is_within {
            // The block is its parent's: `genba.trace` takes the callbacks away (python/genba/_tracing.py).
            tracer.pid = 0;
        } else if tracer.python.may_look() {
            tracer.forked(own_pid());
        } else {
            // Another thread may have been in the middle of something.
            tracer.pid = 0;
        }
    }
    errno::set(errno);
}
