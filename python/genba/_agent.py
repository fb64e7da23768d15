"""The library inside this process: loaded on first use, one for all recordings.

Owns: ctypes, and the search for the library: the one that `genba run` preloaded, else the command's own copy. Never: decides
what a recording is called, reads one. Partner: crates/agent/src/doors/api.rs.
"""

import ctypes
import os
import subprocess
from enum import IntEnum
from functools import cache

from genba._command import CommandNotFound, find_command
from genba._turn import Turn
from genba.errors import CannotRecord

_WORDS_BYTES = 4096
HINT_OLDER = "python -m genba run starts the program with this package's own command"


class Outcome(IntEnum):
    """What a call came to."""

    DONE = 0
    REFUSED = 1
    ALREADY = 2
    NOT_RECORDING = 3
    LATE = 4


class State:
    """What this process is doing. `path` is empty without a recording."""

    def __init__(self, bits: int, path: str) -> None:
        self.is_recording = bool(bits & 1)
        self.is_paused = bool(bits & 2)
        self.is_begun_by_command = bool(bits & 4)
        self.path = path


def start(session: str) -> tuple[Outcome, str]:
    """Begins a recording as `session` says (crates/agent/src/process/session.rs). The words say why not, or where the other one goes."""
    return _call("genba_start", session.encode())


def stop() -> tuple[Outcome, str]:
    return _call("genba_stop")


def pause(paused: bool) -> tuple[Outcome, str]:
    return _call("genba_pause", int(paused))


def mark(text: str) -> tuple[Outcome, str]:
    """Writes what is in memory to the file, behind a mark."""
    return _call("genba_mark", text.encode())


def own_stack() -> tuple[Outcome, str]:
    """Looks at the calling thread. The words: its process's key in the recording, and its stack's leaf node."""
    return _call("genba_own_stack")


def state() -> State:
    """Loads nothing: a process without the library is not being recorded."""
    library = _preloaded() or _loaded_before()
    if library is None:
        return State(0, "")
    words = ctypes.create_string_buffer(_WORDS_BYTES)
    bits = int(library.genba_state(words, ctypes.c_size_t(_WORDS_BYTES)))
    return State(bits, words.value.decode(errors="surrogateescape"))


def hint_of(refused: str, otherwise: str = "") -> str:
    """What helps where the library refused with these words. `otherwise`: where they name nothing that could end."""
    if "exclude each other" in refused:
        return "one after the other: end what goes on in this process first"
    return otherwise or f"genba doctor {os.getpid()} lists what is in genba's way in this process"


def _call(name: str, *arguments: bytes | int) -> tuple[Outcome, str]:
    words = ctypes.create_string_buffer(_WORDS_BYTES)
    function = getattr(_library(), name, None)
    if function is None:
        raise CannotRecord(f"the genba that runs this program is older than this package: it has no {name}", HINT_OLDER)
    outcome = function(*arguments, words, ctypes.c_size_t(_WORDS_BYTES))
    return Outcome(outcome), words.value.decode(errors="surrogateescape")


_loaded: ctypes.CDLL | None = None


def _loaded_before() -> ctypes.CDLL | None:
    return _loaded


@cache
def _preloaded() -> ctypes.CDLL | None:
    """The library that `genba run` put in front of all others."""
    everything = ctypes.CDLL(None)
    return everything if hasattr(everything, "genba_state") else None


def _library() -> ctypes.CDLL:
    global _loaded
    if _loaded is None:
        # Its handlers and its thread may run at any time: it stays until the process ends.
        _loaded = _preloaded() or ctypes.CDLL(_unpacked(), mode=os.RTLD_NOW | os.RTLD_NODELETE)
    return _loaded


def library_name() -> str | None:
    """What ctypes opens to call the library as this module does; None: it is among what the process was started with."""
    library = _library()
    return None if library is _preloaded() else library._name


def _unpacked() -> str:
    return command("within", "agent").strip()


def command(*arguments: str, told: str = "") -> str:
    """What the command prints when it reads `told`. Raises CannotRecord with its own words."""
    path = _command_path()
    done = subprocess.run(
        [path, *arguments],
        input=told,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        env=_environment(),
    )
    if done.returncode < 0:
        raise CannotRecord(f"genba {arguments[0]} was ended by signal {-done.returncode}", "a limit on memory or file sizes may be the reason")
    if done.returncode != 0:
        message, _, hint = done.stderr.strip().partition("\nhint: ")
        raise CannotRecord(message.removeprefix("error: "), hint)
    return done.stdout


# `sysconfig` has a lock of its own, in which a child that another thread forks meanwhile would hang.
_finding = Turn()


@cache
@_finding
def _command_path() -> str:
    try:
        return str(find_command())
    except CommandNotFound as failure:
        raise CannotRecord(str(failure), failure.hint) from None


def _environment() -> dict[str, str]:
    """Without what `genba run` says to the program's children, since the command is none of them. Settings of the folder or of the
    environment that the program happens to be in are not this caller's."""
    kept = {name: value for name, value in os.environ.items() if name not in ("GENBA_SESSION", "LD_PRELOAD")}
    return {**kept, "GENBA_SETTINGS": "none"}
