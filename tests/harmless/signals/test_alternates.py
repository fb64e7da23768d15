"""Builds that BOLT made get alternate signal stacks of genba's: the program's own handlers and alternate stacks are as without it."""

from pathlib import Path

import pytest

from both_ways import built, same_both_ways
from interpreters import Interpreter
from recording import Workshop
from runs_on import EVERYWHERE

RATES = ["1000", "10000"] if EVERYWHERE else ["10000"]
PROGRAM = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.run.argtypes = [ctypes.c_char_p, ctypes.c_long]
library.run(sys.argv[2].encode(), int(sys.argv[3]))
print("lives")
"""
CASES = ["none", "large", "small", "changes", "refused", "jumps", "once", "forks", "sums"]
# The second is too small for an alternate stack of genba's.
THREAD_BYTES = ["8388608", "300000"]


@pytest.fixture(scope="session")
def alternates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("alternates", tmp_path_factory)


def only_bolt(python: Interpreter) -> None:
    if python.name != "3.14-standalone":
        pytest.skip("BOLT did not make this one")


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("thread_bytes", THREAD_BYTES)
@pytest.mark.parametrize("case", CASES)
def test_a_handler_runs_where_it_does_alone(
    python: Interpreter, workshop: Workshop, alternates: Path, case: str, thread_bytes: str, rate: str
) -> None:
    only_bolt(python)
    program = workshop.write("alternates.py", PROGRAM)
    run = same_both_ways(workshop, program, workshop.take(alternates), case, thread_bytes, flags=("--rate", rate))
    assert (run.exit_code, run.stdout.splitlines()[-1]) == (0, "lives"), run.stdout


@pytest.mark.parametrize("case", ["none", "sums"])
def test_a_stack_that_the_program_brings_is_left_alone(python: Interpreter, workshop: Workshop, alternates: Path, case: str) -> None:
    """Its lowest part is the program's, a guard of its own included. The thread has signals and handlers as every other one."""
    only_bolt(python)
    program = workshop.write("brings.py", PROGRAM.replace("library.run", "library.run_on_own_memory"))
    run = same_both_ways(workshop, program, workshop.take(alternates), case, "2097152", flags=("--rate", "10000"))
    assert (run.exit_code, run.stdout.splitlines()[-2:]) == (0, ["0 bytes changed", "lives"]), run.stdout


OVERFLOWING = """
import ctypes, faulthandler, sys
faulthandler.enable()
def falls(): ctypes.CDLL(sys.argv[1]).overflow(0)
falls()
"""


@pytest.mark.parametrize("rate", RATES)
def test_faulthandler_tells_of_an_overflow(python: Interpreter, workshop: Workshop, alternates: Path, rate: str) -> None:
    only_bolt(python)
    program = workshop.write("overflowing.py", OVERFLOWING)
    run = workshop.run(program, workshop.take(alternates), flags=("--rate", rate))
    assert run.exit_code == 139
    assert "Fatal Python error: Segmentation fault" in run.stderr and "in falls" in run.stderr, run.stderr
