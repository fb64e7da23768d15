"""Files that whoever opens them has to wait for, as long as a test likes: a lease (fcntl(2)) in place of a slow disk.

Owns: taking and giving back the leases, and SIGIO, by which the kernel asks for them. Files stay regular files, which a named pipe is not.
"""

import contextlib
import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

from visitors import until


@contextlib.contextmanager
def held(*files: Path) -> Iterator[Callable[[], None]]:
    """Until the block ends. What is yielded waits until somebody is opening each of the files."""
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    leased = [os.open(file, os.O_RDWR) for file in files]
    for fd in leased:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    try:
        # The kernel tells another kind than the one that was taken as soon as somebody wants the file.
        yield lambda: until(lambda: all(fcntl.fcntl(fd, fcntl.F_GETLEASE) != fcntl.F_WRLCK for fd in leased))
    finally:
        for fd in leased:
            os.close(fd)
        signal.signal(signal.SIGIO, before)
