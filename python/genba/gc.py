"""Garbage collections out of band: behind the response of a server, not within a request.

    import genba.gc
    application = genba.gc.after_response(application)

Owns: when a collection runs, and the interpreter's first threshold. Never: needs the command or its library, records anything, changes a
response, keeps a request waiting for another thread. It takes no lock: its counters and sets change by single calls of C functions.
"""

import gc
import inspect
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from itertools import count
from typing import Any, Literal, cast

__all__ = ["after_response", "after_uwsgi_request"]

THRESHOLD = 100_000
FULL = 100

_Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_Asgi = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


def after_response(
    app: Callable[..., Any],
    *,
    every: int = 1,
    generation: int = 1,
    full: int = FULL,
    threshold: int | None = THRESHOLD,
    interface: Literal["wsgi", "asgi"] | None = None,
) -> Callable[..., Any]:
    """`app`, a WSGI or an ASGI application, with `gc.collect(generation)` after every so many responses.

    WSGI: in the `close()` of the response, which the server calls when it has sent the body. ASGI: when `app` has returned. While other
    requests are under way (threads, asyncio) it waits for a moment without one, but at most for `every` more responses.
    `full`: so many of these collections later there is a full one; 0: never.
    `threshold`: the safety net. The interpreter begins a collection by itself when so many more containers were made than freed since the
    last one. A higher threshold of the program's stays. 0: it never does. None: thresholds stay as they are.
    `interface`: None: an `app` that is a coroutine function, or whose `__call__` is one, is ASGI.

    Raises ValueError for an option.
    """
    collector = _Collector(every, generation, full, threshold)
    if interface not in (None, "wsgi", "asgi"):
        raise ValueError(f"interface is {interface!r}, and may be 'wsgi', 'asgi' or None")
    if interface == "asgi" or interface is None and _is_asgi(app):
        return _AfterAsgi(cast(_Asgi, app), collector)
    return _AfterWsgi(cast(_Wsgi, app), collector)


def after_uwsgi_request(*, every: int = 1, generation: int = 1, full: int = FULL, threshold: int | None = THRESHOLD) -> None:
    """The same for uWSGI, by its own hook behind a request: the connection is closed by then. Call it where the application is loaded.

    A hook that is there already is called first. Raises RuntimeError outside of uWSGI, ValueError for an option.
    """
    collector = _Collector(every, generation, full, threshold)
    # The server puts it there itself.
    uwsgi: Any = sys.modules.get("uwsgi")
    if uwsgi is None:
        raise RuntimeError("this process is not uWSGI's: genba.gc.after_response(application) is for other servers")
    before = getattr(uwsgi, "after_req_hook", None)

    def behind_the_request() -> None:
        if before is not None:
            before()
        collector.answered()

    uwsgi.after_req_hook = behind_the_request


def _is_asgi(app: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(app) or inspect.iscoroutinefunction(getattr(app, "__call__", None))  # noqa: B004


class _Collector:
    """Counts responses, and collects when it is time."""

    def __init__(self, every: int, generation: int, full: int, threshold: int | None) -> None:
        if every < 1:
            raise ValueError(f"every is {every}, and must be at least 1: responses between two collections")
        if generation not in (0, 1, 2):
            raise ValueError(f"generation is {generation}, and may be 0, 1 or 2")
        if full < 0:
            raise ValueError(f"full is {full}, and must be at least 0: collections until a full one")
        if threshold is not None and threshold < 0:
            raise ValueError(f"threshold is {threshold}, and must be at least 0, or None")
        self._every = every
        self._generation = generation
        self._full = full
        self._responses = count(1)
        self._collections = count(1)
        self._collected_at = 0
        self._under_way: set[object] = set()
        # Requests of threads that a child has not.
        os.register_at_fork(after_in_child=self._under_way.clear)
        now, *older = gc.get_threshold()
        if threshold is not None and now != 0:
            gc.set_threshold(max(now, threshold) if threshold else 0, *older)

    def begins(self) -> object:
        request = object()
        self._under_way.add(request)
        return request

    def failed(self, request: object) -> None:
        """It is not answered by the application, and the server's own answer is still to come."""
        self._under_way.discard(request)

    def answered(self, request: object = None) -> None:
        self._under_way.discard(request)
        response = next(self._responses)
        waits_for = response - self._collected_at
        if waits_for < self._every or self._under_way and waits_for < 2 * self._every:
            return
        self._collected_at = response
        is_full = self._full and next(self._collections) % self._full == 0
        gc.collect(2 if is_full else self._generation)


class _AfterWsgi:
    def __init__(self, app: _Wsgi, collector: _Collector) -> None:
        self._app = app
        self._collector = collector

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        request = self._collector.begins()
        try:
            body = self._app(environ, start_response)
        except BaseException:
            self._collector.failed(request)
            raise
        # The server sends what its own wrapper holds in a way of its own, and knows it by its class.
        wrapper = environ.get("wsgi.file_wrapper")
        if isinstance(wrapper, type) and isinstance(body, wrapper):
            file = cast(Any, body)
            try:
                file.close = _Closing(getattr(body, "close", None), self._collector, request)
                return body
            except AttributeError:
                pass
        made = _SizedBody if hasattr(body, "__len__") else _Body
        return made(body, _Closing(getattr(body, "close", None), self._collector, request))


class _Closing:
    """The `close` of a response: its own, then the collection. Once, however often the server calls it."""

    def __init__(self, own: Callable[[], Any] | None, collector: _Collector, request: object) -> None:
        self._own = own
        self._collector = collector
        self._request: object | None = request

    def __call__(self) -> None:
        own, self._own = self._own, None
        try:
            if own is not None:
                own()
        finally:
            request, self._request = self._request, None
            if request is not None:
                self._collector.answered(request)

    def failed(self) -> None:
        """The response has raised: there are servers that close it before they send their own."""
        request, self._request = self._request, None
        if request is not None:
            self._collector.failed(request)


class _Body:
    def __init__(self, body: Iterable[bytes], close: _Closing) -> None:
        self._body: Any = body
        self._close = close

    def __iter__(self) -> Iterator[bytes]:
        if isinstance(self._body, (list, tuple)):
            return iter(self._body)
        return _Chunks(self._body, self._close)

    def close(self) -> None:
        # What the request made is garbage by then.
        self._body = ()
        self._close()


class _Chunks:
    """What a response yields. An application that is a generator raises here, and not when it is called."""

    def __init__(self, body: Iterable[bytes], close: _Closing) -> None:
        self._close = close
        try:
            self._next = iter(body).__next__
        except BaseException:
            close.failed()
            raise

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return self._next()
        except StopIteration:
            raise
        except BaseException:
            self._close.failed()
            raise


class _SizedBody(_Body):
    """Servers ask a list for its length, and send a header that depends on it."""

    def __len__(self) -> int:
        return len(self._body)


class _AfterAsgi:
    def __init__(self, app: _Asgi, collector: _Collector) -> None:
        self._app = app
        self._collector = collector

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        request = self._collector.begins()
        try:
            await self._app(scope, receive, send)
        except BaseException:
            self._collector.failed(request)
            raise
        self._collector.answered(request)
