//! The way in where ptrace is forbidden or taken: `sys.remote_exec` of CPython 3.14 and later. The program's main thread runs a script that loads
//! the agent, when it next runs Python code.
//! Owns: when that may be asked, and the script. Never: runs an interpreter that another user could have written, waits without an end.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use genba_entry::Door;
use genba_process::facts::Facts;
use genba_process::interpreter::Interpreter;
use genba_process::refusal::Refusal;
use rustix::process::geteuid;

use super::left_behind::{ANSWER, ANSWER_UNFINISHED, SCRIPT, prefix_of_asked};
use super::placed::sees_as_we_do;
use crate::files::private_folder;
use crate::words::failure::{self, Failure};
use crate::words::refused::refused;

const MINOR_MIN: u32 = 14;
/// The main thread may be in a long call.
const PATIENCE: Duration = Duration::from_secs(10);
const POLLED_EVERY: Duration = Duration::from_millis(5);
const GROUP_OR_OTHERS_WRITE: u32 = 0o022;

/// Whether that way is there at all. The asking interpreter is the program's own: CPython asks for the same version.
pub fn is_possible(interpreter: &Interpreter) -> bool {
    let mut numbers = interpreter.version.split('.').map(|number| number.parse().unwrap_or(0));
    let is_new = (numbers.next(), numbers.next()) >= (Some(3), Some(MINOR_MIN));
    let program = interpreter.facts.executable.as_deref();
    is_new && sees_as_we_do(&interpreter.facts) && program.is_some_and(is_trusted)
}

/// A Python that only root or this user can change.
fn is_trusted(program: &Path) -> bool {
    let is_python = program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"));
    let is_own = |found: fs::Metadata| {
        let by_owner = found.uid() == 0 || found.uid() == geteuid().as_raw();
        found.is_file() && by_owner && found.mode() & GROUP_OR_OTHERS_WRITE == 0
    };
    is_python && fs::metadata(program).is_ok_and(is_own)
}

/// The agent's answer, and what it left in the session's place.
pub fn enter(interpreter: &Interpreter, library: &str, door: Door, session: &str) -> Result<(u8, String), Failure> {
    let pid = interpreter.facts.pid;
    let cannot = |error: std::io::Error| {
        Failure::no(format!("cannot ask process {pid} by sys.remote_exec: {}", failure::of_system(&error)))
    };
    let program = interpreter.facts.executable.as_deref().unwrap_or(Path::new("python3"));
    // Only its owner may look into it, who runs the process, too.
    let folder = private_folder::make(&prefix_of_asked(&interpreter.facts)).map_err(cannot)?;
    let (script, answer) = (folder.path().join(SCRIPT), folder.path().join(ANSWER));
    let session = match door {
        // The thread that it begins on is the program's.
        Door::Attached => format!("{session};asked=1"),
        Door::Heap => session.to_owned(),
    };
    let text = source(library, door, &session, folder.path());
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&script);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(cannot)?;
    let asked = Command::new(program)
        .args(["-I", "-S", "-c", "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])", &pid.to_string()])
        .arg(&script)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .map_err(cannot)?;
    let has_ended = || Facts::of(pid).map_or(true, |facts| facts.is_zombie());
    if !asked.status.success() && has_ended() {
        return Err(refused(&Refusal::Ended { pid }));
    }
    if !asked.status.success() {
        let words = String::from_utf8_lossy(&asked.stderr);
        return Err(Failure::no(format!("process {pid} cannot be asked by sys.remote_exec"))
            .detail(words.lines().last().unwrap_or("the asking interpreter said nothing").to_owned())
            .hint(format!("genba doctor {pid} says what is allowed there")));
    }
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Ok(text) = fs::read_to_string(&answer) {
            let answered =
                text.split_once('\n').and_then(|(answer, words)| Some((answer.parse().ok()?, words.to_owned())));
            return answered
                .ok_or_else(|| Failure::no(format!("process {pid} cannot load genba's library")).detail(text));
        }
        if has_ended() {
            return Err(refused(&Refusal::Ended { pid }));
        }
        std::thread::sleep(POLLED_EVERY);
    }
    // It will run the script yet, and would complain about one that is gone.
    let kept = folder.keep();
    let _ = fs::write(&script, removal(&kept, &script));
    let _ = fs::remove_file(&answer);
    Err(Failure::no(format!("process {pid} did not run genba's script within {} s", PATIENCE.as_secs()))
        .detail("its main thread runs no Python code: it waits, or is in a long C call")
        .detail(format!("{} stays until then, with a script that removes itself", kept.display()))
        .hint("try it again; genba dump shows what its threads do"))
}

/// A script that does nothing but go away.
fn removal(folder: &Path, script: &Path) -> String {
    let text = |path: &Path| serde_json::Value::from(path.display().to_string()).to_string();
    let (script, folder) = (text(script), text(folder));
    format!("import os\ntry:\n    os.unlink({script})\n    os.rmdir({folder})\nexcept OSError:\n    pass\n")
}

/// Leaves no name and no module behind in the program. The agent writes its reason over the bytes of `session`, which nobody else has: each
/// call of `encode` makes new ones.
///
/// The program's signal handlers may run in the midst of it, and raise: KeyboardInterrupt, SystemExit. CPython prints whatever leaves the script and
/// forgets it. So the signal is made to come once more when the script is gone: `again` goes with the script's names, and calls a function in C,
/// since in one in Python the handler would run at once. Which signal it was, only the handler's frame tells: its number is the first argument
/// (0x4 among a code's flags: it takes any number of them). One handler may be that of many signals.
fn source(library: &str, door: Door, session: &str, folder: &Path) -> String {
    // JSON's texts are Python's.
    let text = |text: &str| serde_json::Value::from(text).to_string();
    format!(
        r#"def begin():
    import os, sys
    was_there = "_ctypes" in sys.modules
    words = "a signal handler of the program's interrupted it"
    try:
        import _ctypes
        function = _ctypes.dlsym(_ctypes.dlopen({library}, 2), {function})
        session = {session}.encode()
        words = str(_ctypes.call_function(function, (session,)))
        words += "\n" + session.split(b"\0")[0].decode(errors="replace")
    except Exception as error:
        if signal_of(error) is not None:
            raise
        words = f"{{type(error).__name__}}: {{error}}"
    finally:
        if not was_there:
            sys.modules.pop("_ctypes", None)
        try:
            with open({new}, "w", encoding="utf-8") as file:
                file.write(words)
            os.rename({new}, {answer})
        except OSError:
            pass
def signal_of(error):
    import _functools, _signal
    def told(handler, frame):
        at, code = 0, frame.f_code
        for _ in range(9):
            if type(handler) is type(signal_of):
                break
            elif isinstance(handler, _functools.partial):
                at, handler = at + len(handler.args), handler.func
            else:
                at, handler = at + 1, getattr(handler, "__func__", None) or getattr(type(handler), "__call__", None)
        if getattr(handler, "__code__", None) is not code:
            return None
        if at < code.co_argcount:
            return frame.f_locals.get(code.co_varnames[at])
        rest = frame.f_locals.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount]) if code.co_flags & 4 else None
        at -= code.co_argcount
        return rest[at] if isinstance(rest, tuple) and at < len(rest) else None
    handlers = [(number, _signal.getsignal(number)) for number in _signal.valid_signals()]
    handlers = [(number, handler) for number, handler in handlers if callable(handler)]
    came, trace = None, error.__traceback__
    while trace is not None:
        for number, handler in handlers:
            found = told(handler, trace.tb_frame)
            if isinstance(found, int) and found == number:
                came = number
        trace = trace.tb_next
    if came is None and isinstance(error, KeyboardInterrupt) and any(number == 2 for number, _ in handlers):
        came = 2
    return came
try:
    begin()
except BaseException as error:
    number = signal_of(error)
    if number is not None:
        import _functools, _thread
        class Again:
            __del__ = staticmethod(_functools.partial(_thread.interrupt_main, number))
        again = Again()
del begin, signal_of
"#,
        library = text(library),
        function = text(door.function()),
        session = text(session),
        new = text(&folder.join(ANSWER_UNFINISHED).display().to_string()),
        answer = text(&folder.join(ANSWER).display().to_string()),
    )
}
