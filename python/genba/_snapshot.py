"""The stack of the calling thread at this moment, Python and C, named.

Owns: what a frame of it is. Never: walks a stack; the library looks at this thread while it waits, as at any thread that sleeps.
"""

import json
import os
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from genba import _agent, _recording
from genba._agent import Outcome
from genba._session import INTERVAL_NS_MAX, Options
from genba.errors import CannotRecord


@dataclass(frozen=True)
class Frame:
    """One call. `kind`: python, c, inferred (a C function that a tail call took off the stack), inlined (by the compiler, into the
    function before it), mark (what is missing here). Python: `file`, `line` to `end_line` from 1, `column` to `end_column` from 0 in
    characters, and the `expression` that is being executed. C: `module`, the file it was loaded from; `file` and `line` where debug
    information tells them. What is not known is None."""

    kind: str
    name: str
    file: str | None
    line: int | None
    end_line: int | None
    column: int | None
    end_column: int | None
    expression: str | None
    module: str | None

    def __str__(self) -> str:
        if self.kind == "python":
            lines = (self.expression or "").splitlines()
            return f"{self.file}:{self.line} {self.name}" + (f"   {lines[0]}{' …' if len(lines) > 1 else ''}" if lines else "")
        where = f" [{os.path.basename(self.module)}]" if self.module else ""
        return f"    {self.name}{where}{f' ({self.kind})' if self.kind in ('inferred', 'inlined') else ''}"


def snapshot() -> tuple[Frame, ...]:
    """This thread's stack, from its outermost call to the one that called `snapshot`.

    It waits for the command, which finds the names. The first one in a process that is not being recorded loads
    genba's library, and for the moment begins a recording of its own; during a recording it is a mark in that.

    Raises CannotRecord where `start` would, or when the thread cannot be seen (in a sub-interpreter); OSError where there is no
    temporary folder or no descriptor to be had.
    """
    aside = Path(tempfile.gettempdir(), f"genba-{os.urandom(8).hex()}.genba")
    try:
        frames = _named(*_looked_at(aside))
    finally:
        try:
            _end(aside)
        finally:
            # Once more, should an exception have come in the middle of the first time.
            _end(aside)
    own = [at for at, frame in enumerate(frames) if frame.name == "snapshot" and (frame.file or "").endswith(_OWN_FILE)]
    if not own:
        raise CannotRecord("this thread's Python frames cannot be read", _agent.hint_of(""))
    return tuple(frames[: own[-1]])


_OWN_FILE = os.path.join("genba", "_snapshot.py")


@_recording.turn
def _looked_at(aside: Path) -> tuple[str, str]:
    """The path of a recording, and where in it this thread's stack is. A process that is not being recorded begins one at `aside`, which
    has ended before anybody waits for names."""
    state = _agent.state()
    if state.is_recording:
        return state.path, _own_stack()
    try:
        # So slow that nothing but this thread is looked at.
        _recording.begin(aside, Options(interval_ns=INTERVAL_NS_MAX), force=False)
        return str(aside), _own_stack()
    finally:
        _recording.stop_aside(aside)


def _end(aside: Path) -> None:
    _recording.stop_aside(aside)
    aside.unlink(missing_ok=True)


def _own_stack() -> str:
    outcome, words = _agent.own_stack()
    if outcome is not Outcome.DONE:
        reason = "it is in several interpreters at once, or the machine is too busy for an answer within 5 s"
        raise CannotRecord(
            f"this thread's stack could not be seen: {words or reason}",
            "call genba.snapshot() in the main interpreter, and again when the machine has less to do",
        )
    return words


def _named(path: str, words: str) -> list[Frame]:
    key, node = words.split()
    arguments = ("within", "stack", "--told", "--process", key, "--node", node, path)
    page: dict[str, Any] = json.loads(_agent.command(*arguments, told=_recording.sources_in_no_file()))
    names = [field.name for field in fields(Frame)]
    return [Frame(**{name: frame[name] for name in names}) for frame in page["frames"]]
