"""casebook/repeat: what multiplying a list and a bytes object costs, and where. The shares are printed for every version."""

from collections import Counter

import pytest

from interpreters import Interpreter
from profile_tables import RUNNING, Profile
from recording import Workshop

pytestmark = pytest.mark.measures

LIST_FUNCTIONS = ("list_repeat", "list_dealloc", "list.__mul__", "list.__rmul__", "list.sq_repeat", "list.tp_dealloc")
COPIES = ("memmove", "memset", "memcpy")


def running(profile: Profile, function: str) -> list[tuple[list[str], int]]:
    """Names and samples of the stacks in which `function` ran."""
    return [
        (row.names(), row.samples) for row in profile.rows() if row.state in RUNNING and function in row.names()
    ]


def test_list(workshop: Workshop, python: Interpreter, record_property) -> None:
    run = workshop.run(workshop.program("casebook/repeat/slow.py"), "list", "4")
    assert run.exit_code == 0, run.stderr
    stacks = running(run.profile(), "repeat_list")
    whole = sum(samples for _, samples in stacks)
    found = Counter()
    for names, samples in stacks:
        inner = next((name for name in reversed(names) if any(part in name for part in LIST_FUNCTIONS)), None)
        found[inner] += samples
    shares = {name: round(samples / whole, 3) for name, samples in found.most_common()}
    print(f"CPython {python.version}, list: {shares} of {whole} samples")
    record_property("list shares", shares)
    assert whole >= 500
    shown = Counter({tuple(names[-4:]): n for names, n in stacks}).most_common(5)
    # From 3.12 on small numbers are immortal and the repeated items are copied in blocks, by whatever copies best.
    wanted = LIST_FUNCTIONS if python.minor == "3.11" else (*LIST_FUNCTIONS, *COPIES)
    seen = sum(samples for names, samples in stacks if any(part in name for name in names for part in wanted))
    assert seen >= 0.9 * whole, shown
    if python.minor == "3.11":
        dealloc = sum(samples for name, samples in found.items() if name and "dealloc" in name)
        assert dealloc >= 0.1 * whole, "3.11 takes a reference away from every item"


def test_bytes(workshop: Workshop, python: Interpreter, record_property) -> None:
    run = workshop.run(workshop.program("casebook/repeat/slow.py"), "bytes", "4")
    assert run.exit_code == 0, run.stderr
    stacks = running(run.profile(), "repeat_bytes")
    whole = sum(samples for _, samples in stacks)
    found = Counter()
    for names, samples in stacks:
        found[next((copy for copy in COPIES if copy in names[-1]), None)] += samples
    shares = {name: round(samples / whole, 3) for name, samples in found.most_common()}
    print(f"CPython {python.version}, bytes: {shares} of {whole} samples")
    record_property("bytes shares", shares)
    assert whole >= 500
    assert whole - found[None] >= 0.9 * whole, Counter({tuple(names[-4:]): n for names, n in stacks}).most_common(5)
