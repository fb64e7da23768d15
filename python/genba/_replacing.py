"""The file that `force` replaces: checked, set aside until the recording has begun, and put back where it does not.

Owns: what may be replaced (an empty file or a recording), and the name under which it waits. Never: replaces anything else, or what a link
leads to.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

# The first bytes of each recording, `MAGIC` in crates/format/src/framing.rs.
_MAGIC = b"\x89genba\r\n"
HINT_FOREIGN = "hint: remove it, or record to another path: it is neither empty nor a recording"


def is_replaceable(path: Path) -> bool:
    """Whether `force` may replace what is at `path`: an empty file or a recording, and not what a link leads to."""
    try:
        return _identity(path) is not None
    except OSError:
        return False


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of the replaceable file at `path`; None if it is something else."""
    # O_NONBLOCK: a FIFO must not make the program wait.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or os.read(descriptor, len(_MAGIC)) not in (b"", _MAGIC):
            return None
        return found.st_dev, found.st_ino
    finally:
        os.close(descriptor)


def _aside(path: Path) -> Path:
    """Where the file lies that `force` replaces, until the recording has begun."""
    return path.with_name(f"{path.name}.replaced-{os.getpid()}")


def set_aside(path: Path) -> None:
    """Raises FileExistsError where somebody else's file is."""
    try:
        checked = _identity(path)
        if checked is not None:
            aside = _aside(path)
            path.rename(aside)
            moved = aside.lstat()
            if checked == (moved.st_dev, moved.st_ino):
                return
            # Another file took its place in between.
            put_back(path)
    except FileNotFoundError:
        return
    except OSError as failure:
        # ELOOP: a symbolic link.
        if failure.errno != errno.ELOOP:
            raise
    raise FileExistsError(errno.EEXIST, "force=True replaces only an empty file or a recording", str(path))


def put_back(path: Path) -> None:
    if not os.path.lexists(path):
        with suppress(FileNotFoundError):
            _aside(path).rename(path)


def forget_aside(path: Path) -> None:
    """The recording has begun: what it replaces is gone."""
    _aside(path).unlink(missing_ok=True)
