"""The kernel's clock source, made another one for a moment.

Owns: that it is what it was afterwards. The whole machine reads its time from it meanwhile, so only the long form of the tests does this.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FOLDER = Path("/sys/devices/system/clocksource/clocksource0")


@contextmanager
def another_clock_source() -> Iterator[str]:
    """Its name."""
    current = FOLDER / "current_clocksource"
    if not current.exists():
        pytest.skip(f"the kernel does not tell its clock source: no {FOLDER}")
    before = current.read_text().strip()
    others = [name for name in (FOLDER / "available_clocksource").read_text().split() if name != before]
    if not others:
        pytest.skip(f"the kernel offers no other clock source than {before}")
    try:
        current.write_text(others[0])
    except OSError as error:
        pytest.skip(f"the clock source cannot be changed here: {error}")
    try:
        yield others[0]
    finally:
        current.write_text(before)
