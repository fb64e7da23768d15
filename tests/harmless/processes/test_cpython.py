"""CPython's own tests under genba: every one of them ends as it does without.

What passes under genba is not harmed: only the others run without it, too, for what they do there. `make soak` runs all of LONG on one CPython of
each kind and the rest on every one, `make test` a short choice on two. What may differ is in `EXCEPTIONS` with its
reason, and in docs/limits.md.
"""

import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from recording import Place, Workshop
from runs_on import EVERYWHERE, KINDS
from soak import SOAK

ALL = (
    "test_threading test_signal test_subprocess test_generators test_re test_json test_asyncio test_gc test_fork1 test_faulthandler"
    " test_multiprocessing_fork test_multiprocessing_spawn"
).split()
# These take the most time, minutes each.
LONG = ("test_asyncio", "test_multiprocessing_fork", "test_multiprocessing_spawn")
SHORT = {name: "test_fork1 test_gc test_generators".split() for name in ("3.13", "3.15")}
if EVERYWHERE:
    # It sleeps for a third of a minute.
    SHORT["3.13"].append("test_signal")
SECONDS_MAX = 1800
# (end of the test's name) -> why its result may differ.
EXCEPTIONS: dict[str, str] = {}


def outcomes(results: Path) -> dict[str, str]:
    """Name of each test -> `passed`, `failure`, `error` or `skipped`."""
    found = {}
    for case in ElementTree.parse(results).iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found[case.attrib["name"]] = kinds[0] if kinds else "passed"
    return found


def run_test(place: Place, prefix: list[str], name: str, which: str, *flags: str) -> dict[str, str]:
    """`python -m test NAME` behind `prefix`, in a folder of its own."""
    folder = place.outside / which
    folder.mkdir()
    target = [place.interpreter.path, "-m", "test", f"--junit-xml={place.inside}/{which}/results.xml", *flags, name]
    done = run(place, [*prefix, *target], folder)
    results = folder / "results.xml"
    assert results.exists(), f"{name} {which}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return outcomes(results)


def run(place: Place, command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = place.environment({"PYTHONHASHSEED": "1"})
    return subprocess.run(
        place.command(command),
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS_MAX,
    )


def all_of(place: Place, name: str) -> set[str]:
    """The names of the test's cases, without genba."""
    done = run(place, [place.interpreter.path, "-m", "test", "--list-cases", name], place.outside)
    found = {line for line in done.stdout.splitlines() if line.startswith("test.")}
    assert done.returncode == 0 and found, done.stderr
    return found


def alone_of(place: Place, name: str, cases: set[str]) -> dict[str, str]:
    """What these cases come to without genba."""
    (place.outside / "cases").write_text("".join(f"{case}\n" for case in sorted(cases)))
    return run_test(place, [], name, "alone", f"--matchfile={place.inside}/cases")


@pytest.mark.parametrize("name", ALL if SOAK else SHORT["3.13"])
def test_the_same_results(workshop: Workshop, name: str) -> None:
    place = workshop.place
    if not SOAK and name not in SHORT.get(place.interpreter.name, []):
        pytest.skip("make soak; the short form is a choice of tests on two versions")
    if name in LONG and place.interpreter.name not in KINDS:
        pytest.skip(f"{name} runs on {', '.join(KINDS)}: one CPython of each kind")
    look = ["-c", f"import test.{name}"]
    if subprocess.run(place.command([place.interpreter.path, *look]), capture_output=True).returncode != 0:
        pytest.skip(f"CPython {place.interpreter.minor} has no test.{name} here (make prepare, as root)")
    genba = [place.genba_inside, "run", "-q", "--rate", "1000", "-o", f"{place.inside}/{name}.genba"]
    with_genba = run_test(place, genba, name, "with")
    others = (all_of(place, name) | with_genba.keys()) - {test for test, outcome in with_genba.items() if outcome == "passed"}
    alone = alone_of(place, name, others) if others else {}
    harmed = {
        test: (alone.get(test), with_genba.get(test))
        for test in others
        if alone.get(test) != with_genba.get(test) and not any(test.endswith(known) for known in EXCEPTIONS)
    }
    if harmed:
        # A case may depend on those before it.
        whole = run_test(place, [], name, "whole")
        harmed = {test: (whole.get(test), pair[1]) for test, pair in harmed.items() if whole.get(test) != pair[1]}
    # What fails without genba proves nothing.
    assert not {test: pair for test, pair in harmed.items() if pair[0] not in ("failure", "error")}
    assert any(outcome == "passed" for outcome in with_genba.values()), with_genba
