//! Counting between two calls of the program's own (`genba.trace`), in a process that nobody started to be traced.
//! Owns: the beginning and the end. Never: runs without the GIL of the main interpreter, counts for a forked child, begins where a sampler is.

use super::file;
use super::functions::Python;
use super::tracer::Tracer;
use super::{beside, hook, monitoring, profile_function};
use crate::process::session::Session;
use crate::system::errno;
use crate::system::proc::own_pid;

/// Why counting does not begin.
pub enum Unbegun {
    /// It is under way; the file that it goes to.
    Already(String),
    Refused(&'static str),
}

const ELSEWHERE: Unbegun = Unbegun::Refused("only the main interpreter can be counted, and another one runs here");

/// With the GIL.
///
/// # Errors
/// Why nothing is counted; the program is as it was.
pub fn start(session: Session) -> Result<(), Unbegun> {
    let errno = errno::get();
    let begun = begin(session);
    errno::set(errno);
    begun
}

fn begin(session: Session) -> Result<(), Unbegun> {
    // SAFETY: never freed; with the GIL.
    let kept = unsafe { Tracer::get().as_mut() };
    match kept {
        Some(tracer) if !tracer.python.is_in_main_interpreter() => return Err(ELSEWHERE),
        Some(tracer) if !tracer.is_stopped && tracer.pid == own_pid() => {
            return Err(Unbegun::Already(tracer.session.out.clone()));
        }
        Some(tracer) if !tracer.is_stopped => {
            return Err(Unbegun::Refused("this process was forked while its parent's calls were counted"));
        }
        Some(tracer) => tracer.begin_anew(session, own_pid()),
        None => {
            let python = Python::find();
            let python = python.ok_or(Unbegun::Refused("this interpreter does not export what tracing needs"))?;
            if !python.is_in_main_interpreter() {
                return Err(ELSEWHERE);
            }
            let mut tracer = Tracer::new(Box::leak(Box::new(python)), session, own_pid(), true);
            tracer.is_within = true;
            tracer.keep();
            hook::watch_forks();
        }
    }
    let tracer = Tracer::get();
    // SAFETY: as above; what `sys` has is borrowed.
    let has_monitoring = unsafe { !((*tracer).python.of_sys)(c"monitoring".as_ptr()).is_null() };
    let installed = if has_monitoring {
        monitoring::install(tracer)
    } else {
        hook::watch_profile_functions(tracer);
        profile_function::install(tracer)
    };
    installed.map(|()| beside::install(tracer)).map_err(|words| {
        uninstall(tracer);
        // SAFETY: as above.
        unsafe { (*tracer).is_stopped = true };
        Unbegun::Refused(words)
    })
}

/// The counts go into the file. `own_frames`: so many calls of the calling thread are genba's own, the innermost ones: they do not count.
/// `None`: nothing is counted here.
///
/// # Errors
/// Why there is no file, or not a whole one.
pub fn stop(own_frames: usize) -> Option<Result<(), &'static str>> {
    let tracer = Tracer::get();
    // SAFETY: never freed; with the GIL.
    unsafe { tracer.as_ref() }.filter(|tracer| {
        // Another interpreter's GIL does not protect the counts.
        tracer.python.is_in_main_interpreter() && tracer.is_within && !tracer.is_stopped
    })?;
    let errno = errno::get();
    uninstall(tracer);
    // SAFETY: as above; nothing of the interpreter's is called while it is used.
    let (python, written, held) = unsafe {
        let tracer = &mut *tracer;
        tracer.is_stopped = true;
        let written = (tracer.pid == own_pid()).then(|| {
            tracer.drop_innermost(own_frames);
            file::write(tracer)
        });
        (tracer.python, written, tracer.forget())
    };
    for code in held {
        // SAFETY: with the GIL; each was held once.
        unsafe { (python.release)(code) };
    }
    errno::set(errno);
    written
}

/// Whether it counts in this very process.
pub fn is_on() -> bool {
    file::is_on()
}

fn uninstall(tracer: *mut Tracer) {
    hook::watch_no_more();
    beside::uninstall(tracer);
    monitoring::uninstall(tracer);
    profile_function::uninstall(tracer);
}
