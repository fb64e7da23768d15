//! What runs for no code of the program: the interpreter's own beginning and end, and what asyncio's event loop does for itself.
//! Owns: which stacks are part of it. Never: counts a stack with code of the user's or of a library's (a `.pth` file, an `atexit` function) that runs
//! in the interpreter's beginning or end, or that the loop was given to run.

use crate::tables::own_code::event_loop::EventLoop;
use crate::tables::owner::{Owner, is_nameless};
use crate::tables::profile::{File, FrameIndex, Home, NodeIndex, Profile};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    StartUp,
    Shutdown,
    EventLoop,
    /// Threads that wait for work to come, where that is most of what a program does.
    ForWork,
    /// Which of the tests that are coroutines it was no stack tells.
    AsyncTests,
}

/// CPython 3.11 to 3.15, Python/pylifecycle.c, Modules/main.c. The names that begin with `Py_` are exported, so a stripped interpreter has them.
const INITIALIZING: [&str; 3] = ["Py_InitializeFromConfig", "Py_InitializeEx", "pymain_init"];
const FINALIZING: [&str; 3] = ["Py_FinalizeEx", "_Py_Finalize", "finalize_modules"];
/// Python functions that only the beginning calls: they tell it where the C stack below them was cut, as in the first milliseconds of a process.
const BEGINNING: [(&str, &str); 3] = [
    ("<frozen importlib._bootstrap>", "_install"),
    ("<frozen importlib._bootstrap>", "_install_external_importers"),
    ("<frozen getpath>", "<module>"),
];

impl Phase {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Phase::StartUp => "interpreter start-up",
            Phase::Shutdown => "interpreter shutdown",
            Phase::EventLoop => "event loop (asyncio)",
            Phase::ForWork => "waiting for work",
            Phase::AsyncTests => "tasks and waits of async tests",
        }
    }

    /// With the frame that the phase begins below. `own`: the user's code in the stack. At its end the interpreter waits for threads of the program's,
    /// which go on, and an event loop waits for events; in the beginning nobody waits but the interpreter.
    #[must_use]
    pub fn of(
        profile: &Profile,
        event_loop: &EventLoop,
        leaf: Option<NodeIndex>,
        own: &[FrameIndex],
        is_waiting: bool,
    ) -> Option<(Phase, FrameIndex)> {
        let of_interpreter = own.is_empty().then(|| Phase::of_interpreter(profile, leaf)).flatten();
        match of_interpreter {
            Some((Phase::StartUp, _)) => of_interpreter,
            _ if is_waiting => None,
            Some(_) => of_interpreter,
            None => Some((Phase::EventLoop, event_loop.itself(profile, leaf)?)),
        }
    }

    /// The innermost C function of the lists decides, and without one a Python function of them.
    fn of_interpreter(profile: &Profile, leaf: Option<NodeIndex>) -> Option<(Phase, FrameIndex)> {
        let mut begins = None;
        for frame in profile.stack(leaf) {
            let function = profile.function_of(frame);
            let is_one_of = |names: &[&str]| names.contains(&function.name.as_str());
            let is_beginning = |file: &File| BEGINNING.contains(&(file.path.as_str(), function.name.as_str()));
            match function.home {
                Home::Python { file, .. } if is_of_a_library(&profile.files[file]) => return None,
                Home::Python { file, .. } if is_beginning(&profile.files[file]) => begins = Some(frame),
                Home::C { .. } if is_one_of(&FINALIZING) => return Some((Phase::Shutdown, frame)),
                Home::C { .. } if is_one_of(&INITIALIZING) => return Some((Phase::StartUp, frame)),
                Home::Python { .. } | Home::C { .. } | Home::Mark => {}
            }
        }
        begins.map(|frame| (Phase::StartUp, frame))
    }
}

/// The lines of a `.pth` file have no name: an import in them does not make a library.
fn is_of_a_library(file: &File) -> bool {
    file.owner == Owner::Library && !is_nameless(&file.path)
}
