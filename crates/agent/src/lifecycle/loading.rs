//! The library is loaded: by the dynamic linker before `main`, or by `import genba`.
//! Owns: what a process that was told to record does then. Never: records an interpreter that it does not know, without saying so.

use super::awaited;
use super::beginning::{begin, prepare};
use super::ending::without_file_size_signal;
use super::last_thread;
use crate::lifecycle::start_block::describe;
use crate::process::arena;
use crate::process::bells;
use crate::process::files_over_fork;
use crate::process::life::LIFE;
use crate::process::process_key::random_key;
use crate::process::room;
use crate::process::session::Session;
use crate::reading::modules;
use crate::system::alternate;
use crate::system::programs::environment;
use crate::system::programs::handed;
use crate::system::real;
use crate::system::signals;
use crate::system::signals::mask;
use crate::system::symbols;
use crate::system::symbols::Linker;
use crate::tracing;
use crate::writing::recorder::Recorder;
use genba_format::proto;
use genba_python::find::{Found, find};
use genba_signal::memory::Guarded;
use std::ffi::CString;

/// Runs when the library is loaded, before `main`.
pub fn on_load() {
    // Without room for a sampler nothing is recorded.
    room::within(on_load_with_room);
}

fn on_load_with_room() {
    // Loaded by `import genba`: what stands in the environment is not meant for it.
    if !environment::preloaded().any(|path| Some(&path) == symbols::own_path().as_ref()) {
        return;
    }
    real::find_all();
    signals::find_real();
    let Some(text) = environment::variable(c"GENBA_SESSION") else { return };
    let Some(session) = Session::parse(&text) else { return };
    session.command.into_iter().for_each(environment::take_place_of);
    arena::allow(session.allocations_max);
    if let Some(door) = &session.door {
        files_over_fork::remember_door(door, &session.out);
    }
    if session.children {
        handed::keep(&text);
        if let Some(table) = &session.bells {
            bells::open(table);
        }
    }
    match find(&Guarded, &Linker) {
        // A library with an interpreter may be loaded later (doors/late.rs).
        // One that leaves its children alone would have to change the environment beside the program's threads.
        Found::No if session.trace.is_none() && session.children => awaited::begin(&text, &session.out),
        Found::No => {}
        Found::Refused { version, reason } if session.trace.is_some() => {
            tracing::begin(session, Some(&format!("{version}: {reason}")));
        }
        Found::Yes { .. } if session.trace.is_some() => tracing::begin(session, None),
        Found::Refused { version, reason } => announce(&session, &version, &reason),
        Found::Yes { python, version } => {
            if !session.children {
                environment::leave();
                if let Some(table) = &session.bells {
                    bells::open(table);
                }
            }
            last_thread::watch();
            LIFE.set_by_command(true);
            alternate::begin(python.runtime.0);
            prepare();
            modules::learn();
            // What the program before this one blocked; before anybody is asked.
            mask::take_over();
            let start = describe(&session, &version);
            begin(session, python, start);
        }
    }
}

/// One block that says why this process is not sampled. The descriptor is open for a moment only. A process that cannot open its recording is
/// counted in the run's table, as one that would be sampled is.
pub fn announce(session: &Session, version: &str, reason: &str) {
    let start = proto::Start { refused: format!("{version}: {reason}"), ..describe(session, version) };
    let Ok(out) = CString::new(session.out.as_bytes()) else { return };
    // In another root the path may lead to a file of the program's.
    let carried = files_over_fork::take_recording();
    let recording = carried.or_else(|| files_over_fork::recording_at(&out));
    let Some(recording) = recording.or_else(|| files_over_fork::recording_by_door(&out)) else {
        handed::count_out_of_reach(&start.executable);
        return;
    };
    let mut recorder = Recorder::new(random_key(), start);
    recorder.set_file(Some(recording));
    without_file_size_signal(|| recorder.announce());
}
