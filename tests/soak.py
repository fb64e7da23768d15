"""Short or long: `make test` runs the short amounts, `make soak` (GENBA_SOAK=1) the long ones, of the same tests.

Where an amount looks for what the agent does by itself (which allocation fails, which call is refused), every CPython of one kind shows the
same: the longest amounts run on one of each kind, the others have a choice of them. All of it together is meant to take four hours on two CPUs.
Owns: that switch. Never: changes what is asserted, only how much is done.
"""

import os

import pytest

from interpreters import Interpreter

SOAK = os.environ.get("GENBA_SOAK") == "1"
# An own build with symbols on an older glibc; Debian's, stripped, on the newest glibc; and BOLT's, with tail calls.
ONE_OF_EACH_KIND = ("3.13", "3.15", "3.14-standalone")


def skip_where_one_of_each_kind_will_do(interpreter: Interpreter) -> None:
    """Of what the agent does by itself, whatever the interpreter is."""
    if not SOAK and interpreter.name not in ONE_OF_EACH_KIND:
        pytest.skip(f"make soak; the agent does that by itself, so the short form runs on {', '.join(ONE_OF_EACH_KIND)}: one CPython of each kind")
