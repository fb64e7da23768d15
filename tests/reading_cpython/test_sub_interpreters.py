"""Several interpreters in one process: each sample shows all interpreters that its thread is in, one inside the other, and no frame where it
was not (I-11). A bound on their number that is reached is told (I-07)."""

import subprocess
from pathlib import Path

import pytest

from recording import REPOSITORY, Run, Workshop
from stacks import PossibleStacks, Stack, parse_collapsed

NAME = "interpreters_inside.py"
TEXT = (REPOSITORY / "tests/programs" / NAME).read_text()
RATE = ("--rate", "4000")
CPU_SECONDS = "0.4"


def names(stack: Stack) -> list[str]:
    return [frame.name for frame in stack.frames]


def judged(workshop: Workshop, run: Run) -> list[Stack]:
    """The stacks of the program's own code, running and waiting, each of which must be possible."""
    assert run.exit_code == 0, run.stderr
    possible = PossibleStacks(workshop.program(f"tests/programs/{NAME}"), TEXT)
    stacks = [stack for stack in parse_collapsed(run.collapsed_text("--weight", "wall")) if possible.judged(stack)]
    faults = [(possible.faults(stack), stack) for stack in stacks]
    faults = [(reasons, stack) for reasons, stack in faults if reasons]
    assert not faults, f"{len(faults)} of {len(stacks)} stacks cannot have happened:\n" + "\n".join(
        f"{'; '.join(reasons)}\n{stack}" for reasons, stack in faults[:3]
    )
    return stacks


@pytest.mark.measures
@pytest.mark.parametrize("kind", ["own", "legacy"])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_interpreters_inside_each_other(workshop: Workshop, threads: str, kind: str) -> None:
    program = workshop.program(f"tests/programs/{NAME}")
    stacks = judged(workshop, workshop.run(program, CPU_SECONDS, threads, kind, flags=RATE))
    for leaf in ("work_first", "work_second", "work_third"):
        assert any(leaf in names(stack) for stack in stacks), f"no sample in {leaf}"
    # The wait is in the innermost of four interpreters, without a GIL held by anyone.
    waiting = [stack for stack in stacks if any("sleep(2)" in frame.name for frame in stack.frames)]
    assert any("third" in names(stack) for stack in waiting)


@pytest.mark.measures
def test_without_native_frames(workshop: Workshop) -> None:
    """Their order is that of their places on the C stack, which need not be walked for that."""
    program = workshop.program(f"tests/programs/{NAME}")
    stacks = judged(workshop, workshop.run(program, CPU_SECONDS, "1", "own", flags=(*RATE, "--no-native")))
    assert any("work_third" in names(stack) for stack in stacks)


ELSEWHERE = """
import sys, threading, time
try:
    import _interpreters as module
except ImportError:
    import _xxsubinterpreters as module
BUSY = '''
import time
def inside():
    until = time.thread_time() + 0.3
    while time.thread_time() < until: sum(range(1000))
    time.sleep(0.2)
inside()
'''
interpreter = module.create()
def other():
    module.run_string(interpreter, BUSY)
def main():
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
main()
"""


def test_an_interpreter_that_another_thread_made(workshop: Workshop) -> None:
    """3.11 and 3.12 give the thread that runs it the thread state of the thread that made it."""
    run = workshop.run(workshop.write("elsewhere.py", ELSEWHERE), flags=RATE)
    assert run.exit_code == 0, run.stderr
    stacks = [names(stack) for stack in parse_collapsed(run.collapsed_text("--weight", "wall"))]
    inside = [chain for chain in stacks if "inside" in chain]
    assert inside, "no sample of the inner code"
    assert all(chain.count("other") == 1 and chain.index("other") < chain.index("inside") for chain in inside)
    assert not any("main" in chain and "inside" in chain for chain in stacks)


def test_more_interpreters_than_a_look_holds(workshop: Workshop) -> None:
    """Beyond sixteen inside each other nothing is shown wrong: the looks are refused, and the recording says why."""
    text = """
try:
    import _interpreters as module
except ImportError:
    import _xxsubinterpreters as module
import sys, time
def dive(level):
    if level:
        module.run_string(module.create(), f"import sys; sys.path.insert(0, {sys.path[0]!r}); import dive; dive.dive({level - 1})")
    else:
        until = time.thread_time() + 0.3
        while time.thread_time() < until: sum(range(1000))
"""
    workshop.write("dive.py", text)
    program = workshop.write("deep.py", "import sys, dive\ndive.dive(int(sys.argv[1]))\n")
    whole = workshop.run(program, "15")
    assert whole.exit_code == 0, whole.stderr
    assert any(names(stack).count("dive") == 16 for stack in whole.collapsed())
    beyond = workshop.run(program, "16")
    assert beyond.exit_code == 0, beyond.stderr
    assert not any(names(stack).count("dive") > 16 for stack in beyond.collapsed())
    said = [mark["text"] for mark in beyond.profile()["marks"]]
    assert said.count("a thread is in more than 16 interpreters: its looks are refused") == 1, said
    refused = beyond.check().stdout
    assert "ambiguous" in refused, refused


def test_more_interpreters_than_are_read(workshop: Workshop) -> None:
    text = """
try:
    import _interpreters as module
except ImportError:
    import _xxsubinterpreters as module
import time
kept = [module.create() for _ in range(64)]
def burn():
    until = time.thread_time() + 1
    while time.thread_time() < until: sum(range(1000))
burn()
"""
    run = workshop.run(workshop.write("many.py", text))
    assert run.exit_code == 0, run.stderr
    assert any("burn" in names(stack) for stack in run.collapsed())
    said = [mark["text"] for mark in run.profile()["marks"]]
    assert said.count("more than 64 interpreters: no Python frames are shown in the oldest ones but the first") == 1, said


HOST = r"""
#include <Python.h>
int main(void) {
    for (int turn = 0; turn < 4; turn++) {
        Py_Initialize();
        char text[400];
        snprintf(text, sizeof text, "import time\ndef life_%d():\n until = time.thread_time() + 0.4\n"
            " while time.thread_time() < until: sum(range(1000))\nlife_%d()", turn, turn);
        if (PyRun_SimpleString(text) != 0) return 1;
        Py_FinalizeEx();
    }
    return 0;
}
"""


def test_an_interpreter_that_begins_anew(workshop: Workshop, tmp_path: Path) -> None:
    """A host that ends its interpreter and begins another one, on one thread."""
    if workshop.interpreter.root is not None:
        pytest.skip("there is no compiler in the Debian sid")
    home, minor = Path(workshop.interpreter.path).parents[1], workshop.interpreter.minor
    if not (home / f"include/python{minor}/Python.h").exists():
        pytest.skip(f"{home} has no headers to embed with")
    source, program = tmp_path / "host.c", workshop.place.outside / "host"
    source.write_text(HOST)
    library = [f"-I{home}/include/python{minor}", f"-L{home}/lib", f"-Wl,-rpath,{home}/lib", f"-lpython{minor}"]
    subprocess.run(["cc", str(source), "-o", str(program), *library], check=True)
    run = workshop.run_target([str(program)])
    assert run.exit_code == 0, run.stderr
    seen = {name for stack in run.collapsed() for name in names(stack) if name.startswith("life_")}
    assert seen == {f"life_{turn}" for turn in range(4)}
