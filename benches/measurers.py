"""Tools that measure commands, genba and others: how one is run, and how often it may claim a difference where none is.

Owns: that arithmetic, and that nothing goes on without an answer of the tool. Never: reads what a tool wrote (the goals do), counts claims.
"""

import math
import os
import shlex
import subprocess
import sys

# Of equal ones that part may seem to differ.
BY_CHANCE = 0.05


def claims_by_chance(comparisons: int) -> int:
    """Five standard deviations of such a count above what is expected."""
    expected = BY_CHANCE * comparisons
    return int(expected + 5 * math.sqrt(expected * (1 - BY_CHANCE)))


def must_run(command: list[str]) -> None:
    # What a developer has set for himself is not measured.
    done = subprocess.run(command, env={**os.environ, "GENBA_SETTINGS": "none"}, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {shlex.join(command)} ended with {done.returncode}\n{done.stderr}")
