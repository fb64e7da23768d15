"""No impossible stacks where Python is not alone or not plain: other programs want the CPU, the JIT, sub-interpreters,
greenlets, deep C, C++ exceptions, signals handled in Python, trace functions, Cython, numpy (I-01, I-11).

As in test_possible_stacks.py the programs say in their comments what can happen. Owns: the circumstances.
"""

import shutil
import subprocess
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from busy import busy
from compiled import package_folder
from figures import Figure
from recording import REPOSITORY, Run, Workshop
from runs_on import EVERYWHERE
from stacks import PossibleStacks, Stack
from test_possible_stacks import CPU_SECONDS, RATE, SAMPLES_MIN, assert_possible

pytestmark = pytest.mark.measures


def text_of(name: str) -> str:
    return (REPOSITORY / "tests/programs" / name).read_text()


def assert_possible_here(
    workshop: Workshop,
    figure: Figure,
    name: str,
    *arguments: str,
    environment: dict[str, str] | None = None,
    beside: AbstractContextManager[None] = nullcontext(),
) -> Run:
    program = workshop.program(f"tests/programs/{name}")
    with beside:
        run = workshop.run(program, CPU_SECONDS, *arguments, flags=RATE, environment=environment)
    say_marks(run, program, text_of(name), figure)
    assert_possible(run, program, text_of(name))
    return run


def say_marks(run: Run, program: str, text: str, figure: Figure) -> None:
    """How many of the judged samples are not whole: a stack of marks alone claims nothing."""
    possible = PossibleStacks(program, text)
    judged = [stack for stack in run.collapsed() if possible.judged(stack)]
    whole = sum(stack.weight for stack in judged)
    marked = sum(stack.weight for stack in judged if any(frame.kind == "mark" for frame in stack.frames))
    figure("samples judged", whole, "samples")
    figure("of these with a mark in their stack", marked / max(whole, 1), "share")


# `make test` takes from all others what such a minute takes of the CPUs: two of the four.
@pytest.mark.parametrize("name", ["nested.py", "generators.py", *(["operators.py", "coroutines.py"] if EVERYWHERE else [])])
def test_when_others_want_the_cpu(workshop: Workshop, figure: Figure, name: str) -> None:
    assert_possible_here(workshop, figure, name, beside=busy())


@pytest.mark.parametrize("name", ["flat.py", "nested.py", "generators.py", "operators.py", "sort_in_sub.py"])
def test_jit(workshop: Workshop, figure: Figure, name: str) -> None:
    if workshop.interpreter.minor_number < 15:
        pytest.skip("the JIT is of 3.15 on")
    probe = workshop.write("probe.py", "import sys\nprint(sys._jit.is_enabled())\n")
    command = workshop.place.command([workshop.interpreter.path, probe])
    environment = {"PYTHON_JIT": "1"}
    said = subprocess.run(command, env=workshop.place.environment(environment), capture_output=True, text=True)
    if said.stdout.strip() != "True":
        pytest.skip("this CPython was built without the JIT")
    assert_possible_here(workshop, figure, name, environment=environment)


def test_sub_interpreters(workshop: Workshop, figure: Figure) -> None:
    assert_possible_here(workshop, figure, "sub_interpreters.py")


@pytest.mark.parametrize(("name", "package"), [("greenlets.py", "greenlet"), ("gevents.py", "gevent"), ("with_numpy.py", "numpy")])
def test_packages(workshop: Workshop, figure: Figure, name: str, package: str) -> None:
    environment = {"PYTHONPATH": package_folder(workshop, package), "OPENBLAS_NUM_THREADS": "1"}
    assert_possible_here(workshop, figure, name, environment=environment)


def test_deep_c(workshop: Workshop, figure: Figure) -> None:
    run = assert_possible_here(workshop, figure, "deep_c.py")
    cut = [stack for stack in run.collapsed() if any(frame.kind == "mark" and "more than 512" in frame.name for frame in stack.frames)]
    assert cut, "no stack says that its C frames were cut"


def test_exceptions_of_cpp(workshop: Workshop, figure: Figure, throws: Path) -> None:
    assert_possible_here(workshop, figure, "throws.py", workshop.take(throws))


def test_signals_in_python(workshop: Workshop, figure: Figure) -> None:
    assert_possible_here(workshop, figure, "signals_in_python.py")


@pytest.mark.parametrize("how", ["settrace", "setprofile", "monitoring"])
def test_trace_functions(workshop: Workshop, figure: Figure, how: str) -> None:
    if how == "monitoring" and workshop.interpreter.minor_number < 12:
        pytest.skip("sys.monitoring came with 3.12")
    if how == "setprofile" and workshop.interpreter.minor == "3.12":
        assert_only_the_profile_functions_frame_is_missing(workshop, figure)
    else:
        assert_possible_here(workshop, figure, "watched.py", how)


# Five standard deviations more than the one in a thousand that docs/limits.md speaks of, of as many samples as a short run has.
MISSING_MAX = 0.01


def assert_only_the_profile_functions_frame_is_missing(workshop: Workshop, figure: Figure) -> None:
    """Between two stores of 3.12's eval loop a frame just pushed has the caller that its memory had before (docs/limits.md)."""
    program, text = workshop.program("tests/programs/watched.py"), text_of("watched.py")
    run = workshop.run(program, CPU_SECONDS, "setprofile", flags=RATE)
    assert run.exit_code == 0, run.stderr
    possible = PossibleStacks(program, text)
    judged = [stack for stack in run.collapsed() if possible.judged(stack)]
    faults = [(stack, possible.faults(stack)) for stack in judged]
    others = [(reasons, str(stack)) for stack, reasons in faults if reasons and not lacks_the_profile_function(stack, program)]
    assert others == []
    samples = sum(stack.weight for stack in judged)
    missing = sum(stack.weight for stack, reasons in faults if reasons)
    figure("samples without the profile function's frame", missing / samples, "share", bound=MISSING_MAX)
    assert samples >= SAMPLES_MIN and missing <= MISSING_MAX * samples, (missing, samples)


def lacks_the_profile_function(stack: Stack, program: str) -> bool:
    """`spend` is innermost, and not `trace`, which alone calls it, is its caller."""
    names = [frame.name for frame in stack.own(program)]
    return names[-1:] == ["spend"] and names[-2:-1] != ["trace"]


def test_cython(workshop: Workshop, figure: Figure, cythonized: Path) -> None:
    shutil.copy2(cythonized, workshop.place.outside / cythonized.name)
    assert_possible_here(workshop, figure, "with_cython.py", workshop.place.inside)
