//! The end: the counts go into a `.prof` file, and the command learns which one.
//! Owns: which file a process writes. Never: writes over another process's file, or looks at counts that another thread may change.
//!
//! The process that the command started writes the file that was asked for; each other one writes its own beside it, `app.PID.prof`.

mod marshal;

use self::marshal::Row;
use super::counts::Totals;
use super::names::Name;
use super::tracer::Tracer;
use crate::process::room;
use crate::process::session::Session;
use crate::system::descriptor::{Descriptor, Identity};
use crate::system::errno;
use crate::system::proc::own_pid;
use rustc_hash::FxHashMap;
use std::ffi::{CStr, CString};

/// What the command is told.
#[derive(Clone, Copy)]
pub enum Note {
    /// A file that was written.
    Wrote,
    /// Why a process was not traced, or has no file.
    Refused,
}

/// More programs than one process becomes.
const NUMBER_MAX: u32 = 1_000;

/// Whether this process is traced. A child of vfork, which has the memory of its parent, is not.
pub fn is_on() -> bool {
    // SAFETY: never freed.
    unsafe { Tracer::get().as_ref() }.is_some_and(|tracer| !tracer.is_stopped && tracer.pid == own_pid())
}

/// When the process ends or becomes another program: the calls so far, with those under way. May be called again.
pub fn end() {
    if !is_on() {
        return;
    }
    let errno = errno::get();
    room::within(|| {
        // SAFETY: asked before anything else is looked at.
        let tracer = unsafe { &mut *Tracer::get() };
        if tracer.python.may_look() {
            if let Err(words) = write(tracer) {
                note(&tracer.session, Note::Refused, words.as_bytes());
            }
        } else {
            note(
                &tracer.session,
                Note::Refused,
                b"the process ended in a thread that did not hold the GIL: its counts are lost",
            );
        }
    });
    errno::set(errno);
}

/// # Errors
/// Why there is no file, or not a whole one.
pub fn write(tracer: &mut Tracer) -> Result<(), &'static str> {
    // Told also by a process that has counted nothing.
    if tracer.has_given_way {
        note(
            &tracer.session,
            Note::Refused,
            b"CPython 3.11 has room for one profile function, and the program set its own: calls made in the meantime are not counted",
        );
    }
    let (names, rows) = added_up(tracer);
    if !tracer.is_within && rows.iter().all(|row| row.totals.calls == 0) {
        return Ok(());
    }
    let pace = tracer.clock.pace();
    let bytes = marshal::bytes(&names, &rows, pace.ticks_per_second);
    drop((names, rows));
    if tracer.is_full {
        note(&tracer.session, Note::Refused, b"there was no memory for more functions: the counts end early");
    }
    if let Some(words) = pace.doubt {
        note(&tracer.session, Note::Refused, words.as_bytes());
    }
    let begun = match &tracer.path {
        Some(path) => {
            Descriptor::open_at(None, path, libc::O_WRONLY | libc::O_TRUNC).ok().map(|file| (path.clone(), file))
        }
        None => own_file(&tracer.session, tracer.is_first),
    };
    let (path, file) = begun.ok_or("the file could not be opened")?;
    whole(&file, &bytes).map_err(|_| "the file could not be written whole: no room, or a limit")?;
    if tracer.path.is_none() {
        note(&tracer.session, Note::Wrote, path.to_bytes());
    }
    tracer.path = Some(path);
    Ok(())
}

fn whole(file: &Descriptor, mut bytes: &[u8]) -> Result<(), i32> {
    while !bytes.is_empty() {
        // SAFETY: reads the bytes.
        let written = unsafe { libc::write(file.number(), bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(_) if errno::get() == libc::EINTR => {}
            Err(_) => return Err(errno::get()),
        }
    }
    Ok(())
}

/// All threads together. Functions with the same name, file and line are one in a `.prof` file.
fn added_up(tracer: &Tracer) -> (Vec<&Name>, Vec<Row>) {
    let (all, threads, waits) = tracer.parts();
    let mut place_of: FxHashMap<&Name, usize> = FxHashMap::default();
    let mut names = Vec::new();
    let places: Vec<usize> = all
        .iter()
        .map(|name| {
            *place_of.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() - 1
            })
        })
        .collect();
    let mut rows: Vec<Row> = names.iter().map(|_| Row::default()).collect();
    let mut by_caller: FxHashMap<(usize, usize), Totals> = FxHashMap::default();
    let now_ticks = tracer.clock.ticks();
    for thread in threads {
        let (functions, pairs) = thread.ended(now_ticks);
        for called in &*functions {
            if let Some(row) = places.get(called.function as usize).and_then(|place| rows.get_mut(*place)) {
                row.totals.add(&called.totals);
            }
        }
        for pair in &*pairs {
            if let (Some(caller), Some(callee)) = (places.get(pair.caller as usize), places.get(pair.callee as usize)) {
                by_caller.entry((*callee, *caller)).or_default().add(&pair.totals);
            }
        }
    }
    for (function, waits) in waits.values() {
        if let Some(row) = places.get(*function as usize).and_then(|place| rows.get_mut(*place)) {
            row.waits.add(&waits.ended(now_ticks));
        }
    }
    let mut by_caller: Vec<_> = by_caller.into_iter().collect();
    by_caller.sort_unstable_by_key(|(pair, _)| *pair);
    for ((callee, caller), totals) in by_caller {
        if let Some(row) = rows.get_mut(callee) {
            row.callers.push((caller, totals));
        }
    }
    (names, rows)
}

/// None: it cannot be made.
fn own_file(session: &Session, is_first: bool) -> Option<(CString, Descriptor)> {
    let asked = CString::new(session.out.as_bytes()).ok()?;
    if is_first
        && let Ok(file) = Descriptor::open_at(None, &asked, libc::O_WRONLY)
        // Another program of this process may have written it.
        && file.private_bytes(libc::S_IFREG) == Some(0)
    {
        return Some((asked, file));
    }
    let stem = session.out.strip_suffix(".prof").unwrap_or(&session.out);
    let pid = own_pid();
    (1..=NUMBER_MAX).find_map(|number| {
        let more = if number == 1 { String::new() } else { format!("-{number}") };
        let path = CString::new(format!("{stem}.{pid}{more}.prof")).ok()?;
        Some((create(&path)?, path)).map(|(file, path)| (path, file))
    })
}

fn create(path: &CStr) -> Option<Descriptor> {
    // SAFETY: the path ends in NUL; no other memory.
    let number =
        unsafe { libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC, 0o600) };
    (number >= 0).then(|| Descriptor::from_number(number))
}

/// Tells the command, if it is still there.
pub fn note(session: &Session, kind: Note, words: &[u8]) {
    let Some(named) = &session.notes else { return };
    let identity = Identity { device: named.device, inode: named.inode };
    let Ok(path) = CString::new(named.path.as_str()) else { return };
    if Identity::of_writable(&path) != Some(identity) {
        return;
    }
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_NONBLOCK | libc::O_NOCTTY;
    let Ok(file) = Descriptor::open_at(None, &path, flags) else { return };
    let mut line = vec![match kind {
        Note::Wrote => b'+',
        Note::Refused => b'-',
    }];
    line.extend_from_slice(words);
    line.push(0);
    let _ = file.write(&line);
}
