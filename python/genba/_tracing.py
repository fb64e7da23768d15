"""Counting every call of a piece of this program: `genba.trace`.

Owns: the `.prof` file until counting begins, and what a block is inside of `genba trace`. Never: counts (the library does), adds up.
"""

import atexit
import ctypes
import functools
import inspect
import marshal
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from genba import _agent
from genba._agent import Outcome
from genba._session import Options
from genba._turn import Turn
from genba.errors import CannotRecord

if TYPE_CHECKING:
    import pstats

_P = ParamSpec("_P")
_R = TypeVar("_R")
_WORDS_BYTES = 4096

_turn = Turn()
# What is counted in this process; None: nothing, or what `genba trace` counts.
_count: "_Count | None" = None


class Traced:
    """What `with genba.trace(…) as t` gives. Fields: `path`, where the counts are when the block has ended."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def stats(self) -> "pstats.Stats":
        """The counts, as the standard library's pstats has them. Raises FileNotFoundError where the file is not written yet."""
        from pstats import Stats

        # pstats takes a file without a call for none.
        return Stats(str(self.path)) if marshal.loads(self.path.read_bytes()) else Stats()


class trace:  # noqa: N801  (used as a function)
    """Counts every call in a piece of the program, as cProfile does: `with genba.trace("x.prof") as t:`, or `@genba.trace("x.prof")` on a
    function. Calls of all threads count, those of forked children do not.

    `path`: its name ends in .prof, and no file has it; `force` replaces an empty file or one of pstats. As a decorator each call writes a
    file of its own: x.prof, x-2.prof, …; a call inside of another one counts in that one's.

    Raises FileExistsError and other OSErrors for the file; CannotRecord where another block counts, where the interpreter does not allow it, or
    where the process is being recorded: samples and exact counts exclude each other. Inside of `genba trace` the block is a part
    of that run's counts, and has no file of its own. A decorated function is called in any case: what keeps genba from counting is a warning.
    """

    def __init__(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        self._path = Path(path)
        if self._path.suffix != ".prof":
            raise ValueError(f"{str(self._path)!r} does not end in .prof")
        self._force = force
        self._calls = 0
        self._count: _Count | None = None

    def __enter__(self) -> Traced:
        count = _claimed(Path(os.path.abspath(self._path)), self._force)
        traced = Traced(count.path)
        try:
            # From here on each call counts, so there is none.
            if code := count.begin(count.session, count.words, count.size):
                traced.path = count.not_begun(code)
            else:
                self._count = count
        except BaseException:
            count.give_up()
            raise
        return traced

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        count = self._count
        # This call is genba's own. In a forked child the block is the parent's.
        if count is None or count is not _count:
            return
        outcome = count.end(1, count.words, count.size)
        self._count = None
        count.is_over()
        if outcome == Outcome.REFUSED:
            _tell(count.said(), error)

    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("genba.trace decorates plain functions: others run beside what calls them; use it as a block")

        # The library counts no call of this one and of `_claimed_for_a_call` (names.rs): what they call, their caller has called.
        @functools.wraps(function)
        def traced(*arguments: _P.args, **named: _P.kwargs) -> _R:
            count = self._claimed_for_a_call()
            if count is None:
                return function(*arguments, **named)
            outcome: int = Outcome.DONE
            try:
                if code := count.begin(count.session, count.words, count.size):
                    self._call_not_begun(count, code)
                return function(*arguments, **named)
            except BaseException as failure:
                if count is _count:
                    outcome = count.end(0, count.words, count.size)
                    count.is_over()
                if outcome == Outcome.REFUSED:
                    _tell(count.said(), failure)
                raise
            finally:
                if count is _count:
                    outcome = count.end(0, count.words, count.size)
                    count.is_over()
                    if outcome == Outcome.REFUSED:
                        _tell(count.said(), None)

        return traced

    def _claimed_for_a_call(self) -> "_Count | None":
        if _count is not None:
            return None
        path = Path(os.path.abspath(self._path))
        if self._calls > 0:
            path = path.with_name(f"{path.stem}-{self._calls + 1}.prof")
        try:
            count = _claimed(path, self._force)
        except (CannotRecord, OSError) as failure:
            _tell(str(failure), None)
            return None
        self._calls += 1
        return count

    @staticmethod
    def _call_not_begun(count: "_Count", code: int) -> None:
        try:
            count.not_begun(code)
        except CannotRecord as failure:
            _tell(str(failure), None)


class _Count:
    """One piece of the program, from its claim to its end. `begin` and `end` are the library's own functions, which no count shows."""

    def __init__(self, path: Path, session: bytes, made: bool) -> None:
        library = _library()
        self.begin, self.end = library.genba_trace_start, library.genba_trace_stop
        self.words, self.size = ctypes.create_string_buffer(_WORDS_BYTES), ctypes.c_size_t(_WORDS_BYTES)
        self.path = path
        self.session = session
        self._made = made

    def said(self) -> str:
        return self.words.value.decode(errors="surrogateescape")

    def not_begun(self, code: int) -> Path:
        """Where `genba trace` counts. Raises CannotRecord where nobody does."""
        said = self.said()
        self.give_up()
        if code == Outcome.ALREADY:
            return Path(said)
        raise CannotRecord(f"{self.path} was not begun: {said}", _agent.hint_of(said, "genba.record(path) samples where calls cannot be counted"))

    def give_up(self) -> None:
        if self is _count:
            self.end(1, self.words, self.size)
        if self._made and self.path.exists() and self.path.stat().st_size == 0:
            self.path.unlink()
        self.is_over()

    def is_over(self) -> None:
        global _count
        if _count is self:
            _count = None


@_turn
def _claimed(path: Path, force: bool) -> _Count:
    global _count
    if _count is not None:
        raise CannotRecord(f"{path} was not begun: the calls of this process are counted already, into {_count.path}", "end that block first")
    session = Options().encode(str(path)).encode()
    _library()
    _count = _Count(path, session, _made(path, force))
    return _count


def _tell(words: str, error: BaseException | None) -> None:
    """`error` is on its way to the program: a warning that is made an exception (`-W error`) must not take its place."""
    if error is None:
        warnings.warn(f"genba: {words}", RuntimeWarning, stacklevel=3)
    else:
        error.add_note(f"genba: {words}")


def _made(path: Path, force: bool) -> bool:
    """An empty file that only its owner may read. False: it was there, and `force` replaces it."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        return True
    if not force:
        raise FileExistsError(f"{path} exists; force=True replaces it")
    if path.is_symlink() or not path.is_file() or not _is_replaceable(path):
        raise FileExistsError(f"{path} exists, and is no .prof file")
    os.truncate(path, 0)
    return False


def _is_replaceable(path: Path) -> bool:
    with path.open("rb") as file:
        # Empty, or a dictionary of marshal's.
        return file.read(1) in (b"", b"{", b"\xfb")


@functools.cache
def _library() -> ctypes.PyDLL:
    """With the GIL: what its two functions install is the interpreter's."""
    library = ctypes.PyDLL(_agent.library_name(), mode=os.RTLD_NOW | os.RTLD_NODELETE)
    for needed in ("genba_trace_start", "genba_trace_stop"):
        if not hasattr(library, needed):
            raise CannotRecord(f"the genba that runs this program is older than this package: it has no {needed}", _agent.HINT_OLDER)
    atexit.register(_at_exit)
    os.register_at_fork(after_in_child=_forked)
    return library


def _at_exit() -> None:
    """A block that `sys.exit` left under way in another thread."""
    if _count is not None:
        _count.end(1, _count.words, _count.size)


def _forked() -> None:
    """The block is the parent's: nothing is counted here, and nothing is in the way of another one."""
    global _count
    count, _count = _count, None
    if count is not None:
        count.end(1, count.words, count.size)
