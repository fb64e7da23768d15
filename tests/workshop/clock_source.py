"""The kernel's clock source, made another one for a moment.

Owns: that it is what it was afterwards, and that no other test looks at it or changes it meanwhile. The whole machine reads its time from it, so only the
long form of the tests does this.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FOLDER = Path("/sys/devices/system/clocksource/clocksource0")
CURRENT = FOLDER / "current_clocksource"


@contextmanager
def unchanged_clock_source() -> Iterator[str | None]:
    """Its name. None: the kernel does not tell it."""
    if not CURRENT.exists():
        yield None
        return
    with CURRENT.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield CURRENT.read_text().strip()


@contextmanager
def another_clock_source() -> Iterator[str]:
    """Its name."""
    if not CURRENT.exists():
        pytest.skip(f"the kernel does not tell its clock source: no {CURRENT}")
    with CURRENT.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = CURRENT.read_text().strip()
        others = [name for name in (FOLDER / "available_clocksource").read_text().split() if name != before]
        if not others:
            pytest.skip(f"the kernel offers no other clock source than {before}")
        try:
            CURRENT.write_text(others[0])
        except OSError as error:
            pytest.skip(f"the clock source cannot be changed here: {error}")
        try:
            yield others[0]
        finally:
            CURRENT.write_text(before)
        assert CURRENT.read_text().strip() == before
