"""CPython's own tests under genba: every one of them ends as it does without.

`make soak` runs them all on every version, `make test` a short choice on two. What may differ stands in `EXCEPTIONS` with its
reason, and in docs/limits.md.
"""

import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from recording import Place, Workshop
from soak import SOAK

ALL = (
    "test_threading test_signal test_subprocess test_generators test_re test_json test_asyncio test_gc test_fork1 test_faulthandler"
    " test_multiprocessing_fork test_multiprocessing_spawn"
).split()
# test_signal sleeps for most of a minute.
SHORT = {
    "3.13": "test_signal test_fork1 test_gc test_generators".split(),
    "3.15": "test_fork1 test_gc test_generators".split(),
}
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


def start_test(place: Place, prefix: list[str], name: str, which: str) -> subprocess.Popen:
    """`python -m test NAME` behind `prefix`, in a folder of its own."""
    folder = place.outside / which
    folder.mkdir()
    target = [place.interpreter.path, "-m", "test", f"--junit-xml={place.inside}/{which}/results.xml", name]
    command = place.command([*prefix, *target])
    environment = place.environment({"PYTHONHASHSEED": "1"})
    said = (folder / "said").open("w")
    return subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said)


def finish_test(place: Place, process: subprocess.Popen, name: str, which: str) -> dict[str, str]:
    try:
        process.wait(SECONDS_MAX)
    finally:
        process.kill()
    folder = place.outside / which
    results = folder / "results.xml"
    assert results.exists(), f"{name} {which}: {process.returncode}\n{(folder / 'said').read_text()[-6000:]}"
    return outcomes(results)


@pytest.mark.parametrize("name", ALL if SOAK else SHORT["3.13"])
def test_the_same_results(workshop: Workshop, name: str) -> None:
    place = workshop.place
    if not SOAK and name not in SHORT.get(place.interpreter.name, []):
        pytest.skip("make soak; the short form is a choice of tests on two versions")
    look = ["-c", f"import test.{name}"]
    if subprocess.run(place.command([place.interpreter.path, *look]), capture_output=True).returncode != 0:
        pytest.skip(f"CPython {place.interpreter.minor} has no test.{name} here (make prepare, as root)")
    genba = [place.genba_inside, "run", "-q", "--rate", "1000", "-o", f"{place.inside}/{name}.genba"]
    # Side by side, each in a folder of its own: most of their time these tests sleep.
    started = {which: start_test(place, prefix, name, which) for which, prefix in (("alone", []), ("with", genba))}
    alone, with_genba = (finish_test(place, process, name, which) for which, process in started.items())
    differ = {
        test: (alone.get(test), with_genba.get(test))
        for test in alone.keys() | with_genba.keys()
        if alone.get(test) != with_genba.get(test) and not any(test.endswith(known) for known in EXCEPTIONS)
    }
    # What fails without genba proves nothing.
    assert not {test: pair for test, pair in differ.items() if pair[0] not in ("failure", "error")}
    assert any(outcome == "passed" for outcome in with_genba.values()), with_genba
