"""Short or long: `make test` runs the short amounts, `make soak` (GENBA_SOAK=1) the long ones, of the same tests.

Where an amount looks for what the agent does by itself (which allocation fails, which call is refused), every CPython of one kind shows the
same: the longest amounts run on one of each kind, the others have a choice of them. All of it together is meant to take four hours on two CPUs.
Owns: that switch. Never: changes what is asserted, only how much is done.
"""

import os
from pathlib import Path

import pytest

from interpreters import SUPPORTED, Interpreter

SOAK = os.environ.get("GENBA_SOAK") == "1"
# An own build with symbols on an older glibc; Debian's, stripped, on the newest glibc; and BOLT's, with tail calls.
ONE_OF_EACH_KIND = ("3.13", "3.15", "3.14-standalone")


def skip_where_one_of_each_kind_will_do(interpreter: Interpreter) -> None:
    """Of what the agent does by itself, whatever the interpreter is."""
    if not SOAK and interpreter.name not in ONE_OF_EACH_KIND:
        pytest.skip(f"make soak; the agent does that by itself, so the short form runs on {', '.join(ONE_OF_EACH_KIND)}: one CPython of each kind")


# Three of seven, moved on by one from case to case: each interpreter has its share, and any two of them have as many cases in common as any other two.
SHARE = (0, 1, 3)


def why_others_will_do(interpreter: str, number: int) -> str | None:
    """Of many cases that each run on every interpreter, the short form runs each on three: why this one is not run. `number` is the case's."""
    if SOAK or (SUPPORTED.index(interpreter) - number) % len(SUPPORTED) in SHARE:
        return None
    names = [SUPPORTED[(number + step) % len(SUPPORTED)] for step in SHARE]
    return f"make soak; the short form runs this on {', '.join(names)}, and others on {interpreter}"


def skip_where_others_will_do(interpreter: Interpreter, number: int) -> None:
    if why := why_others_will_do(interpreter.name, number):
        pytest.skip(why)


def share_out(items: list[pytest.Item]) -> None:
    """The same for the tests and files marked `in_turns`: each of a file's cases on three interpreters."""
    cases: dict[Path, dict[str, int]] = {}
    for item in items:
        python = item.callspec.params.get("python") if item.get_closest_marker("in_turns") and hasattr(item, "callspec") else None
        if python is None:
            continue
        numbers = cases.setdefault(item.path, {})
        # The same case has the same name but for the interpreter.
        case = item.name.replace(f"[{python.name}", "[", 1).replace(f"-{python.name}", "-", 1)
        if why := why_others_will_do(python.name, numbers.setdefault(case, len(numbers))):
            item.add_marker(pytest.mark.skip(reason=why))
