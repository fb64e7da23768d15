"""`genba heap` where a heap cannot be walked: the reason is the one that is true, a hint says what helps, and the program goes on.

Owns: programs that make each reason true. What goes wrong inside a walk is in test_heap_harm.py.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recording import Workshop, genba
from running_program import Program, until
from runs_on import EVERYWHERE
from seccomp import FILTER

# The system call pause(2).
PAUSE = "34"
PROGRAM = """
import os, sys
{before}
print("ready", flush=True)
{after}
sys.stdin.readline()
print("went on", flush=True)
os._exit(0)
"""


@contextmanager
def waiting(workshop: Workshop, before: str, after: str = "") -> Iterator[Program]:
    """A program that waits for a line, and then says that it went on. One that does something `after` it said that it is ready may not be able to."""
    command = workshop.place.command([workshop.interpreter.path, workshop.write("waits.py", PROGRAM.format(before=before, after=after))])
    environment = workshop.place.environment({})
    process = subprocess.Popen(
        command, cwd=workshop.place.outside, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n", process.communicate(timeout=5)[1]
        yield Program(process, workshop)
        if not after:
            said, stderr = process.communicate("\n", timeout=60)
            assert said == "went on\n", stderr
    finally:
        process.kill()
        process.communicate()


def refusal(program: Program, *flags: str) -> str:
    done = genba("heap", str(program.pid), *flags)
    assert done.returncode == 1 and not done.stdout, done
    return done.stderr


def test_no_copy_can_be_made(workshop: Workshop) -> None:
    forbids_forks = FILTER + "\ninstall([56, 57, 58], errno.EAGAIN)\n"
    with waiting(workshop, forbids_forks) as program:
        said = refusal(program, "--fork")
        assert "no copy of it can be made: " in said and "hint: --in-place walks without a copy" in said, said
        done = genba("heap", str(program.pid), "--in-place")
        assert done.returncode == 0, "the hint helps"


def test_a_list_without_an_end(workshop: Workshop) -> None:
    # An object whose place in the collector's list leads back to itself. The collector is off, so nothing of the program's follows it.
    damage = """
import ctypes, gc
gc.disable()
class Lost: pass
lost = Lost()
head = ctypes.c_size_t.from_address(id(lost) - 16)
head.value = id(lost) - 16
"""
    with waiting(workshop, damage) as program:
        said = refusal(program, "--fork")
        assert "a list of its collector has no end" in said and "has damaged its own memory" in said, said


@pytest.mark.skipif(not EVERYWHERE, reason="make test-all or make soak: genba waits 20 s for the GIL")
@pytest.mark.measures
def test_nobody_gives_the_gil_away(workshop: Workshop) -> None:
    # Nobody says anything any more once the thread has the GIL.
    with waiting(workshop, "import ctypes, threading", "threading.Thread(target=ctypes.PyDLL(None).pause, daemon=True).start()") as program:
        calls = lambda: [Path(task, "syscall").read_text().split()[0] for task in Path(f"/proc/{program.pid}/task").iterdir()]
        assert until(lambda: PAUSE in calls()), calls()
        said = refusal(program, "--in-place")
        assert f"process {program.pid} gave genba no turn within 20 s" in said and f"hint: genba dump {program.pid} shows which" in said, said


@pytest.mark.skipif(not EVERYWHERE, reason="make test-all or make soak: genba waits 20 s for the collector")
@pytest.mark.measures
def test_a_collection_that_does_not_end(workshop: Workshop) -> None:
    collects = """
import gc, threading
collecting = threading.Event()
class Slow:
    def __del__(self):
        collecting.set()
        threading.Event().wait()
def collect():
    slow = Slow()
    slow.itself = slow
    del slow
    gc.collect()
threading.Thread(target=collect, daemon=True).start()
collecting.wait()
"""
    with waiting(workshop, collects) as program:
        said = refusal(program, "--in-place")
        assert "its collector was at work each time that genba had the GIL" in said and "genba dump shows which" in said, said
