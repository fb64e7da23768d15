"""casebook/two-callers: the halves of sum12 by caller, against the CPU time that the program measures itself."""

import pytest

from bounds import assert_share
from profile_tables import RUNNING, Profile, Row
from recording import Workshop

pytestmark = pytest.mark.measures


def test_halves_by_caller(workshop: Workshop) -> None:
    run = workshop.run(workshop.program("casebook/two-callers/slow.py"), flags=("--rate", "2000"))
    measured_ns = run.answer()
    profile = run.profile()
    samples = profile.sum("samples", lambda row: half_of(row) is not None)
    whole_ns = {"true": sum(map(sum, measured_ns.values())), "seen": cpu_ns(profile, None)}
    assert samples >= 1000
    for caller, halves_ns in measured_ns.items():
        for half, true_ns in zip(("sum1", "sum2"), halves_ns, strict=True):
            seen = cpu_ns(profile, (caller, half)) / whole_ns["seen"]
            assert_share(f"{caller} → {half}", seen, true_ns / whole_ns["true"], samples)


def test_the_tree_keeps_callers_apart(workshop: Workshop) -> None:
    """sum12 stands once under foo and once under bar; the flat view would have shown it once."""
    run = workshop.run(workshop.program("casebook/two-callers/slow.py"), "300")
    run.answer()
    from recording import genba_said

    tree = genba_said("tree", run.recording, "--show", "python", "--min-share", "1%")
    assert sum("sum12" in line for line in tree.splitlines()) == 2, tree


def half_of(row: Row) -> tuple[str, str] | None:
    names = row.names()
    half = next((name for name in ("sum1", "sum2") if name in names), None)
    caller = next((name for name in ("foo", "bar") if name in names), None)
    return (caller, half) if row.state in RUNNING and caller and half else None


def cpu_ns(profile: Profile, wanted: tuple[str, str] | None) -> int:
    return profile.sum("cpu_ns", lambda row: half_of(row) is not None and wanted in (None, half_of(row)))
