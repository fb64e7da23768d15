"""casebook/two-callers: the halves of sum12 by caller, against the CPU time that the program measures itself."""

from collections.abc import Iterator

import pytest

from bounds import assert_share, effective_samples
from profile_tables import RUNNING, Profile, Row
from recording import Run, Workshop

pytestmark = pytest.mark.measures


@pytest.fixture(scope="module")
def run(module_workshop: Workshop) -> Iterator[Run]:
    """As long as the case itself, with four times as many looks in a second: several times what is asked for below, where many come late."""
    yield module_workshop.run(module_workshop.program("casebook/two-callers/slow.py"), "1000", flags=("--rate", "4000"))


def test_halves_by_caller(run: Run) -> None:
    measured_ns = run.answer()
    profile = run.profile()
    whole_ns = {"true": sum(map(sum, measured_ns.values())), "seen": cpu_ns(profile, None)}
    # A late sample stands for more CPU than others, and makes the whole as uncertain as fewer equal ones.
    squares = profile.sum("cpu_us2", lambda row: half_of(row) is not None)
    samples = int(effective_samples(whole_ns["seen"] / 1000, squares))
    assert profile.sum("samples", lambda row: half_of(row) is not None) >= 1000
    for caller, halves_ns in measured_ns.items():
        for half, true_ns in zip(("sum1", "sum2"), halves_ns, strict=True):
            seen = cpu_ns(profile, (caller, half)) / whole_ns["seen"]
            assert_share(f"{caller} → {half}", seen, true_ns / whole_ns["true"], samples)


def test_the_tree_keeps_callers_apart(run: Run) -> None:
    """sum12 stands once under foo and once under bar; the flat view would have shown it once."""
    run.answer()
    tree = run.tree("--show", "python", "--min-share", "1%")
    assert sum("sum12" in line for line in outside_of_marks(tree.splitlines())) == 2, tree


def outside_of_marks(lines: list[str]) -> list[str]:
    """Lines of a tree that do not stand under a mark: a stack that was cut has no root of its own and stands apart."""
    kept: list[str] = []
    mark_column: int | None = None
    for line in lines:
        column = len(line) - len(line[line.rfind("  ") + 2 :])
        if mark_column is not None and column > mark_column:
            continue
        mark_column = column if line[column:].startswith("([") else None
        kept.append(line)
    return kept


def test_lines_under_a_mark_are_left_out() -> None:
    lines = ["2 %  main (a.py:1)", "1 %    f (a.py:2)", "1 %  ([C stack cut: no unwind row])", "1 %    f (a.py:2)", "1 %  g (a.py:3)"]
    assert outside_of_marks(lines) == [*lines[:3], lines[4]]


def half_of(row: Row) -> tuple[str, str] | None:
    names = row.names()
    half = next((name for name in ("sum1", "sum2") if name in names), None)
    caller = next((name for name in ("foo", "bar") if name in names), None)
    return (caller, half) if row.state in RUNNING and caller and half else None


def cpu_ns(profile: Profile, wanted: tuple[str, str] | None) -> int:
    return profile.sum("cpu_ns", lambda row: half_of(row) is not None and wanted in (None, half_of(row)))
