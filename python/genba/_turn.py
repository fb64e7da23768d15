"""One call of genba at a time, and none in the middle of a fork.

Owns: the lock, also over a fork. Never: makes a signal handler wait for the call that it interrupted.
"""

import functools
import os
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from genba.errors import CannotRecord

FORK_WAIT_S_MAX = 2.0

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Turn:
    """A signal handler, or an object that is collected in the middle of a call, does not wait for the very call that it interrupted: it
    is refused. A fork waits until no call is under way, but not for ever; in the child nobody has the turn who is not there."""

    def __init__(self) -> None:
        # Its owner is known in the same instant in which it is taken.
        self._lock = threading.RLock()
        self._is_taken = False
        self._forking: set[int] = set()
        os.register_at_fork(before=self._before_fork, after_in_parent=self._forked, after_in_child=self._forked_child)

    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        """`function`, one call at a time."""

        @functools.wraps(function)
        def in_turn(*arguments: _P.args, **named: _P.kwargs) -> _R:
            # The lock's own `with`: no line of Python, at which an exception could lose it, is between taking it and noting it.
            with self._lock:
                if self._is_taken:
                    raise CannotRecord(
                        "genba is in the middle of another call in this thread, which this one has interrupted",
                        "signal handlers and __del__ call genba later: set a flag there, and look at it in the program's own code",
                    )
                try:
                    self._is_taken = True
                    return function(*arguments, **named)
                finally:
                    self._is_taken = False

        return in_turn

    def _before_fork(self) -> None:
        if self._lock.acquire(timeout=FORK_WAIT_S_MAX):
            self._forking.add(threading.get_ident())

    def _forked(self) -> None:
        # Another thread may fork as well, and not have waited to the end.
        if threading.get_ident() in self._forking:
            self._forking.discard(threading.get_ident())
            self._lock.release()

    def _forked_child(self) -> None:
        if threading.get_ident() in self._forking:
            self._forked()
        else:
            self._lock = threading.RLock()
            self._is_taken = False
        self._forking.clear()
