"""Recording this process from inside: start, stop, pause, resume, and `record` around a piece of it.

Owns: the recording's file until it begins, and what the calls mean inside of `genba run`, where they are marks in the one
recording that there is. Never: samples, reads a recording.
"""

import functools
import inspect
import linecache
import os
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast

from genba import _agent
from genba._agent import Outcome
from genba._profile import Profile, open_recording
from genba._replacing import HINT_FOREIGN, forget_aside, is_replaceable, put_back, set_aside
from genba._session import Options, check_ending
from genba._turn import Turn
from genba.errors import AlreadyRecording, CannotRecord, GenbaError, NotRecording

_P = ParamSpec("_P")
_R = TypeVar("_R")


# Orders to the library; and who is inside of a decorated function.
turn = Turn()
_calls_turn = Turn()
# The path that this process was told to record to, until `stop`, and whether that is a mark only, inside of `genba run`.
_begun: Path | None = None
_is_mark = False


def _forked() -> None:
    """In a forked child: the recording is the parent's."""
    global _begun
    _begun = None


os.register_at_fork(after_in_child=_forked)


def start(
    path: str | os.PathLike[str],
    *,
    interval_ns: int | None = None,
    budget: float | None = None,
    duration_ns: int | None = None,
    native: bool = True,
    children: bool = False,
    memory: bool = False,
    tags: Mapping[str, str] | None = None,
    force: bool = False,
) -> Path:
    """Begins to record this process, all of its threads, and returns where to.

    `interval_ns`: time between two ticks of a thread, 50,000 to 1,000,000,000, kept exactly. None is 1 ms at first, then as often as `budget`
    allows, the share of the program's own CPU that sampling may take: 0.001 to 1, None is 0.02.
    `duration_ns`: recording stops after it. `native`: C frames, too. `children`: forked children, too (not what they `exec`).
    `memory`: the resident size as well. `tags`: stored in the recording. `force`: replaces an empty file or a recording, nothing else.

    Inside of `genba run` the recording is that one: the call is a mark in it, and its path is returned.

    Raises AlreadyRecording; FileExistsError and other OSErrors for the file; ValueError for an option; CannotRecord when
    the interpreter or the system does not allow it.
    """
    options = Options(interval_ns, duration_ns, native, children, memory, dict(tags or {}), budget)
    check_ending(path)
    asked = Path(os.path.abspath(path))
    return _start(asked, options, force)


def _start(asked: Path, options: Options, force: bool) -> Path:
    options.encode(str(asked))
    try:
        return _start_in_turn(asked, options, force)
    except BaseException:
        # Whatever came in between, Ctrl-C or a signal handler's exception: nobody knows of this recording, so nobody would end it.
        _forget(asked)
        raise


@turn
def _start_in_turn(asked: Path, options: Options, force: bool) -> Path:
    global _begun, _is_mark
    state = _agent.state()
    if state.is_begun_by_command:
        if _begun is not None:
            raise AlreadyRecording(str(_begun), str(asked))
        _done(_agent.mark(f"genba.start({str(asked)!r})"), "start")
        _begun, _is_mark = asked, True
        return Path(state.path)
    if state.is_recording:
        raise AlreadyRecording(state.path, str(asked))
    before = _begun, _is_mark
    _begun, _is_mark = asked, False
    try:
        begin(asked, options, force)
    except BaseException:
        _undo(asked)
        _begun, _is_mark = before
        raise
    return asked


def _forget(asked: Path) -> None:
    """What was begun as this very path."""
    global _begun
    if _begun is asked:
        _begun = None
        if not _is_mark:
            _undo(asked)


def _undo(path: Path) -> None:
    if stop_aside(path):
        path.unlink(missing_ok=True)
        put_back(path)


def begin(path: Path, options: Options, force: bool) -> None:
    """A recording that goes to `path`, which is absolute. The caller has the turn."""
    try:
        if force:
            set_aside(path)
        # An empty file that only its owner may read: it will hold source text.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        outcome, words = _agent.start(options.encode(str(path)))
        if outcome is Outcome.ALREADY:
            raise AlreadyRecording(words, str(path))
        if outcome is Outcome.LATE:
            raise CannotRecord(
                "the sampler did not begin within 5 s: the machine is too busy, or another thread is starting one",
                "call it again when the machine has less to do; only one recording at a time goes on in a process",
            )
        if outcome is not Outcome.DONE:
            raise CannotRecord(f"{path} was not begun: {words}", _agent.hint_of(words))
        forget_aside(path)
    except FileExistsError as failure:
        # Somebody's, perhaps an empty one.
        failure.add_note("hint: force=True replaces it" if not force and is_replaceable(path) else HINT_FOREIGN)
        raise
    except BaseException:
        _undo(path)
        _remove_if_empty(path)
        put_back(path)
        raise


def stop_aside(path: Path) -> bool:
    """Ends the recording to `path` that this process has begun itself. False: there is none."""
    state = _agent.state()
    there = state.is_recording and not state.is_begun_by_command and state.path == str(path)
    if there:
        _agent.stop()
    return there


def stop(*, finish: bool = True) -> Path:
    """Ends the recording and returns its path.

    `finish`: the names of C functions and the text of source files are added, by the command in a process of its own; this
    call waits for that (a few tenths of a second, by how much was hit). Without it they are found when the recording is read, as
    long as the files are where they were.

    A recording that has ended by itself (`duration_ns`, a full disk) is finished all the same.

    Raises NotRecording; CannotRecord when the last block or the names could not be written (the samples are there).
    """
    global _begun
    begun = _begun
    try:
        ended, is_own = _ended()
        if finish and is_own:
            _agent.command("within", "finish", "--told", str(ended), told=sources_in_no_file())
        return ended
    except NotRecording:
        raise
    except BaseException:
        # Interrupted, or not finished: the next `stop` goes on with it.
        if _begun is None:
            _begun = begun
        raise


@turn
def _ended() -> tuple[Path, bool]:
    """The recording that goes on no longer, and whether it is one of this process's own."""
    global _begun
    state = _agent.state()
    begun, _begun = _begun, None
    if begun is None:
        # With children=True a forked child goes on in its parent's recording.
        if not state.is_recording or state.is_begun_by_command:
            raise NotRecording("stop")
        begun = Path(state.path)
    elif _is_mark:
        # The command's recording may have ended before: `genba run --duration`.
        if state.is_begun_by_command:
            with suppress(NotRecording):
                _done(_agent.mark(f"genba.stop({str(begun)!r})"), "stop")
        return (Path(state.path) if state.path else begun), False
    if state.is_recording:
        _done(_agent.stop(), "stop")
    return begun, True


def sources_in_no_file() -> str:
    """What `linecache` was told by a notebook, a debugger, a template: a path, a zero byte, a text, a zero byte, and so on."""
    cached = {name: "".join(entry[2]) for name, entry in list(linecache.cache.items()) if len(entry) == 4}
    # Nobody runs a text with a zero byte: it cannot be compiled.
    told = {name: text for name, text in cached.items() if "\0" not in name + text}
    return "".join(f"{name}\0{text}\0" for name, text in told.items() if not os.path.exists(name))


def pause() -> None:
    """Takes no samples until `resume`: time and CPU until then are in no sample. Raises NotRecording."""
    _done(_agent.pause(paused=True), "pause")


def resume() -> None:
    """Goes on after `pause`. Raises NotRecording."""
    _done(_agent.pause(paused=False), "resume")


def is_active() -> bool:
    """Whether this process is being recorded, and not paused: by `start`, `record` or `genba run`."""
    state = _agent.state()
    return state.is_recording and not state.is_paused


def path() -> Path | None:
    """Where this process is being recorded to, paused or not; None: it is not."""
    state = _agent.state()
    return Path(state.path) if state.is_recording else None


def _done(answer: tuple[Outcome, str], what: str) -> None:
    outcome, words = answer
    if outcome is Outcome.NOT_RECORDING:
        raise NotRecording(what)
    if outcome is not Outcome.DONE:
        late = "the sampler did not answer within 5 s, the machine is too busy"
        raise CannotRecord(f"{what}: {words or late}", _agent.hint_of(words) if words else "call it again when the machine has less to do")


def _written() -> None:
    """What is in memory is in the file, if the recording still goes on. Raises CannotRecord."""
    with suppress(NotRecording):
        _done(_agent.mark(""), "profile")


def _remove_if_empty(path: Path) -> None:
    if path.exists() and path.stat().st_size == 0:
        path.unlink()


class Recorded:
    """What `with genba.record(…) as r` gives. Fields: `path`, where the recording is."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def profile(self) -> Profile:
        """What was recorded; during the recording, what was recorded so far. Raises CannotRecord when the sampler does not write that."""
        if _agent.state().path == str(self.path):
            _written()
        return open_recording(self.path)


def _tell(failure: Exception, error: BaseException | None) -> None:
    """`error` is on its way to the program: a warning that is made an exception (`-W error`) must not take its place."""
    if error is None:
        warnings.warn(f"genba: {failure}", RuntimeWarning, stacklevel=4)
    else:
        error.add_note(f"genba: {failure}")


class record:  # noqa: N801  (used as a function)
    """Records a piece of the program: `with genba.record("x.genba") as r:`, or `@genba.record("x.genba")` on a function, a coroutine
    function, a generator function or an asynchronous one.

    Options as for `start`. As a decorator each call is a recording of its own: x.genba, x-2.genba, …; a call inside of another
    call (recursion, another thread, another task) is a part of that one's recording. What keeps genba from recording a call, or from
    ending a recording, is a warning: the function's result is its own.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        interval_ns: int | None = None,
        budget: float | None = None,
        native: bool = True,
        children: bool = False,
        memory: bool = False,
        tags: Mapping[str, str] | None = None,
        force: bool = False,
    ) -> None:
        check_ending(path)
        self._path = Path(path)
        self._options = Options(interval_ns, None, native, children, memory, dict(tags or {}), budget)
        self._force = force
        self._calls = 0
        self._began = False
        self._pid = os.getpid()
        # What it began: the very object, since two recordings may have one path.
        self._asked: Path | None = None

    def __enter__(self) -> Recorded:
        asked = Path(os.path.abspath(self._path))
        try:
            self._asked = asked
            return Recorded(_start(asked, self._options, self._force))
        except BaseException:
            # Begun, and then interrupted: `__exit__` will not be called.
            _forget(asked)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end(error)

    def _begin(self, path: Path, force: bool) -> None:
        self._asked = Path(os.path.abspath(path))
        _start(self._asked, self._options, force)

    def _end(self, error: BaseException | None) -> None:
        """The program's own result stands, or its own exception: what goes wrong here is a warning, or a note to that exception."""
        if _begun is not self._asked:
            # The program has stopped it itself, and perhaps begun another.
            return
        try:
            stop()
        except NotRecording:
            # The program has stopped it itself.
            return
        except (GenbaError, OSError) as failure:
            _tell(failure, error)
        except BaseException:
            # Interrupted: nobody else will end it. Its names are found when it is read.
            with suppress(GenbaError):
                stop(finish=False)
            raise

    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        if inspect.iscoroutinefunction(function):
            return cast(Callable[_P, _R], self._around_coroutine(function))
        if inspect.isasyncgenfunction(function):
            return cast(Callable[_P, _R], self._around_async_generator(function))
        if inspect.isgeneratorfunction(function):
            return cast(Callable[_P, _R], self._around_generator(function))

        @functools.wraps(function)
        def recorded(*arguments: _P.args, **named: _P.kwargs) -> _R:
            with self._call():
                return function(*arguments, **named)

        return recorded

    def _call(self) -> "_Call":
        return _Call(self)

    def _around_coroutine(self, function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @functools.wraps(function)
        async def recorded(*arguments: Any, **named: Any) -> Any:
            with self._call():
                return await function(*arguments, **named)

        return recorded

    def _around_generator(self, function: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., Generator[Any, Any, Any]]:
        @functools.wraps(function)
        def recorded(*arguments: Any, **named: Any) -> Generator[Any, Any, Any]:
            with self._call():
                return (yield from function(*arguments, **named))

        return recorded

    def _around_async_generator(self, function: Callable[..., AsyncGenerator[Any, Any]]) -> Callable[..., AsyncGenerator[Any, Any]]:
        @functools.wraps(function)
        async def recorded(*arguments: Any, **named: Any) -> AsyncGenerator[Any, Any]:
            with self._call():
                inner = function(*arguments, **named)
                try:
                    step = inner.asend(None)
                    while True:
                        item = await step
                        try:
                            step = inner.asend((yield item))
                        except GeneratorExit:
                            raise
                        except BaseException as error:
                            step = inner.athrow(error)
                except StopAsyncIteration:
                    return
                finally:
                    await inner.aclose()

        return recorded


class _Call:
    """One call of a decorated function: a recording, unless it runs inside of another call of the same, or genba is kept from it."""

    def __init__(self, owner: record) -> None:
        self._owner = owner
        # 0: not inside.
        self._pid = 0

    def __enter__(self) -> None:
        try:
            self._enter()
        except (GenbaError, OSError) as failure:
            warnings.warn(f"genba: {failure}", RuntimeWarning, stacklevel=3)
        except BaseException:
            # Interrupted: `__exit__` will not be called.
            self._leave_and_end(None)
            raise

    @_calls_turn
    def _enter(self) -> None:
        owner = self._owner
        if owner._pid != os.getpid():
            # Forked inside of a call: that one's recording is the parent's.
            owner._pid, owner._calls, owner._began = os.getpid(), 0, False
        self._pid = owner._pid
        owner._calls += 1
        if owner._calls == 1:
            owner._begin(owner._path if owner._force else _free(owner._path), owner._force)
            owner._began = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._leave_and_end(error)
        except GenbaError as failure:
            _tell(failure, error)

    def _leave_and_end(self, error: BaseException | None) -> None:
        if self._leave():
            self._owner._end(error)

    @_calls_turn
    def _leave(self) -> bool:
        """Whether it was the call that is recorded."""
        owner = self._owner
        if self._pid != os.getpid() or owner._pid != os.getpid():
            return False
        self._pid = 0
        owner._calls -= 1
        is_last = owner._calls == 0 and owner._began
        if is_last:
            owner._began = False
        return is_last


def _free(path: Path) -> Path:
    """`path`, or the first of x-2, x-3, … that is not there."""
    number = 2
    free = path
    while free.exists():
        free = path.with_stem(f"{path.stem}-{number}")
        number += 1
    return free
