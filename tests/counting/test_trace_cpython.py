"""CPython's own tests under `genba trace`: those of its profilers and tracers end as they do without, and the calls of others are cProfile's. Its tests of
cProfile and profile pass with genba in their place.

Owns: which ones, and on how many versions. What the short form leaves out, `make test-all` and `make soak` run: see tests/workshop/runs_on.py.
"""

import json
import re
import subprocess

import pytest

from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from recording import Workshop
from runs_on import EVERYWHERE
from test_trace import counts, of_files, plainly, traced

# The last three are about sys.setprofile, sys.settrace and what debuggers make of it.
OF_PROFILERS = "test_profile test_cprofile test_pstats test_sys_setprofile test_sys_settrace test_bdb".split()
COUNTED = "test_contextlib test_genexps test_exception_group".split()
SHORT = "test_profile test_contextlib".split()
# Tests that 3.14 and later run in a thread of its own, and what they call: cProfile takes all threads for one stack.
IN_THREADS = {"test_deep_split", "test_deep_subgroup", "make_deep_eg"}
# Where later versions have them (PEP 799).
MOVED = {("3.15", "test_cprofile"): "test_profiling.test_tracing_profiler"}


def needed(workshop: Workshop, name: str) -> str:
    if not EVERYWHERE and name not in SHORT:
        pytest.skip("make test-all or make soak; the short form is a choice of tests")
    return module_of(workshop, name)


def module_of(workshop: Workshop, name: str) -> str:
    """That module's name on this version; the test is skipped where it is not there."""
    interpreter = workshop.interpreter
    name = MOVED.get((interpreter.minor, name), name)
    look = workshop.place.command([interpreter.path, "-c", f"import test.{name}"])
    if subprocess.run(look, capture_output=True).returncode != 0:
        if interpreter.is_standalone:
            pytest.skip("python-build-standalone leaves CPython's own tests out")
        hint = f"libpython{interpreter.minor}-testsuite is not in the Debian sid folder (make prepare, as root)"
        pytest.skip(hint if interpreter.root else f"this CPython {interpreter.version} was installed without test.{name}")
    return name


@pytest.mark.parametrize("name", OF_PROFILERS)
def test_profilers_and_debuggers_pass_their_own_tests(workshop: Workshop, name: str) -> None:
    name = needed(workshop, name)
    plain = plainly(workshop, "-m", "test", "-v", name)
    done = traced(workshop, "-q", "-o", f"{workshop.place.inside}/t.prof", "--python", workshop.interpreter.path, "-m", "test", "-v", name)

    def results(said: str) -> list[str]:
        return sorted(line for line in said.splitlines() if re.search(r" \.\.\. (ok|FAIL|ERROR|skipped.*)$", line))

    assert (done.returncode, results(done.stdout)) == (plain.returncode, results(plain.stdout)), done.stdout[-3000:] + done.stderr[-3000:]
    assert done.returncode == 0 and results(done.stdout), plain.stdout[-3000:]


@pytest.mark.parametrize("name", COUNTED)
def test_calls_are_those_of_cprofile(workshop: Workshop, name: str) -> None:
    """The functions of the test's file, with each of them that called another."""
    name = needed(workshop, name)
    inside, outside = workshop.place.inside, workshop.place.outside
    module = ("-m", "unittest", f"test.{name}")
    theirs = plainly(workshop, "-m", "cProfile", "-o", f"{inside}/theirs.prof", *module)
    assert theirs.returncode == 0, theirs.stderr
    ours = traced(workshop, "-q", "-o", f"{inside}/ours.prof", "--python", workshop.interpreter.path, *module)
    assert ours.returncode == 0, ours.stderr
    own = [of_files(counts(outside / file), (f"{name}.py", "<doctest")) for file in ("ours.prof", "theirs.prof")]
    without_addresses = [
        sorted((re.sub(" at 0x[0-9a-f]+", "", str(of)), calls) for of, calls in found.items() if IN_THREADS.isdisjoint(name for _, _, name in of))
        for found in own
    ]
    assert len(own[0]) > 10 and without_addresses[0] == without_addresses[1]


def test_genba_in_the_place_of_cprofile(inside: Inside) -> None:
    """What is compared and what is left out is written down in the program."""
    workshop = inside.workshop
    for name in ("test_cprofile", "test_profile", "test_pstats"):
        module_of(workshop, name)
    done = inside.run([workshop.interpreter.path, workshop.program("tests/programs/in_place_of_cprofile.py")])
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["failed"] == {} and said["skipped"] == []
    # Functions, calls and callers of one program, as both modules listed them.
    assert {"OfCProfile.test_cprofile", "OfProfile.test_cprofile", "OfCProfile.test_calling_conventions", "OfPstats.test_get_stats_profile"} <= set(said["ran"])
    assert said["blocks"] > 20, "genba has counted"
