"""A running `genba view`, and the crowd at its door: requests that nobody waits for, and connections that never finish their request.

Owns: that server, and what of it can be seen from outside: its address, its sockets, which files it opens. Run as a script it prints, for
benches/goals/crowd.py, what the owner's next page takes behind such a crowd.
"""

import contextlib
import ctypes
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

CROWD = 1_000
IN_OPEN = 0x20
LIBC = ctypes.CDLL(None, use_errno=True)


class View:
    """`genba view` of these files, until the block ends."""

    def __init__(self, genba: Path, *files: Path, cwd: Path | None = None) -> None:
        command = [genba, "view", "--no-open", *files]
        self.process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline() if self.process.stdout else ""
        host, _, path = line.strip().removeprefix("http://").partition("/")
        assert path, self.process.communicate()
        self.port = int(host.rpartition(":")[2])
        self.root = f"/{path}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self.process.kill()
        self.process.communicate()

    def connect(self, words: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=120)
        connection.sendall(words)
        return connection

    def asks(self, path: str) -> bytes:
        return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n\r\n".encode()

    def answer(self, path: str) -> tuple[int, bytes]:
        """The status and all that follows."""
        with self.connect(self.asks(path)) as connection:
            whole = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        return int(whole.split(b" ", 2)[1]), whole

    def sockets(self) -> int:
        return sockets(self.process.pid)

    def abandoned(self, paths: list[str]) -> None:
        """Each is asked for by somebody who leaves at once; returns when the server has seen all of them leave."""
        before = self.sockets()
        for path in paths:
            self.connect(self.asks(path)).close()
        # The server takes its connections in order: behind this answer it has taken all of those.
        assert self.answer("/wrong-secret/")[0] == 404
        until(lambda: self.sockets() <= before)

    @contextlib.contextmanager
    def half_open(self, count: int) -> Iterator[None]:
        """Connections that stop in the middle of their request, while the block runs."""
        with contextlib.ExitStack() as held:
            for _ in range(count):
                held.enter_context(self.connect(b"GET / HTTP/1.1\r\nHo"))
            yield


class Openings:
    """Which of these files are opened from now on, by anybody (inotify)."""

    def __init__(self, files: list[Path]) -> None:
        self.fd = LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self.fd >= 0, os.strerror(ctypes.get_errno())
        self.names = {}
        for file in files:
            watch = LIBC.inotify_add_watch(self.fd, os.fsencode(file), IN_OPEN)
            assert watch >= 0, os.strerror(ctypes.get_errno())
            self.names[watch] = file.name

    def so_far(self) -> list[str]:
        """Since the last look."""
        try:
            events = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return []
        # Of a watch on a file: four numbers of four bytes, and no name.
        return [self.names[int.from_bytes(events[at : at + 4], sys.byteorder)] for at in range(0, len(events), 16)]


def sockets(pid: int) -> int:
    """That are connected: the one that listens is not counted."""
    links = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            links.append(entry.readlink().name)
    return sum(link.startswith("socket:") for link in links) - 1


def until(holds: Callable[[], bool]) -> None:
    """A hang is the failure: pytest's limit ends it."""
    while not holds():
        os.sched_yield()


@contextlib.contextmanager
def many_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * CROWD)), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def measure(genba: Path, recording: Path) -> dict[str, float]:
    """Seconds of the owner's page: alone, and as the next one after the crowd."""
    with many_descriptors(), View(genba, recording) as view:

        def seconds() -> float:
            began = time.perf_counter()
            assert view.answer(view.root)[0] == 200
            return time.perf_counter() - began

        idle = statistics.median(seconds() for _ in range(5))
        behind = []
        for _ in range(5):
            with view.half_open(CROWD):
                for _ in range(CROWD):
                    view.connect(view.asks(view.root)).close()
                behind.append(seconds())
    return {"idle_seconds": idle, "behind_seconds": statistics.median(behind)}


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), Path(sys.argv[2]))))
