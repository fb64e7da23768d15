"""A handler that is held up in the middle of a stack, for as long as the test likes: the look is counted, and the sampler's wait for its answer
leaves the CPU to others."""

import ctypes
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from both_ways import built
from recording import Run, Workshop
from seccomp import TRAPS

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
WAIT_ALL = 0x40000000
SCHED_YIELD = 24
RECORDING = "held-up.genba"

# Says which thread's handler waits at the hole (only a handler unwinds a running thread), fills the hole and ends when it is told to.
PROGRAM = TRAPS + f"""
library, emulating = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
library.leave.restype = emulating.traps.restype = ctypes.c_long
emulating.emulate()
install([{SCHED_YIELD}], 0, 1)
before = emulating.traps()
if not library.begin():
    print(0, flush=True)
    os._exit(0)
print(library.met(), flush=True)
input()
print(library.fill(), flush=True)
if sys.argv[3] == "end":
    os._exit(0)
# A failure rather than a test that hangs: the sampler's wait takes 20 ms.
print("yielded" if emulating.more_than(ctypes.c_long(before), 60) else "never", flush=True)
input()
print(library.leave())
"""


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return [built(name, tmp_path_factory) for name in ("held_up", "emulating")]


def ptrace(request: int, thread: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(request, thread, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


@dataclass
class HeldUp:
    """A program one of whose threads is stopped in the handler: it alone, so that genba does not take the process for one that is stopped."""

    process: subprocess.Popen
    thread: int

    def says(self) -> str:
        return self.process.stdout.readline().strip()

    def go_on(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()


def hold_up(workshop: Workshop, libraries: list[Path], until: str) -> HeldUp:
    target = [workshop.interpreter.path, workshop.write("program.py", PROGRAM), *map(workshop.take, libraries), until]
    flags = ["-q", "-o", f"{workshop.place.inside}/{RECORDING}", "--rate", "1000"]
    process = workshop.start(target, flags, {}, stdin=subprocess.PIPE)
    thread = int(process.stdout.readline())
    if thread == 0:
        process.communicate()
        pytest.skip("no userfaultfd here")
    ptrace(PTRACE_SEIZE, thread)
    ptrace(PTRACE_INTERRUPT, thread)
    os.waitpid(thread, WAIT_ALL)
    held = HeldUp(process, thread)
    held.go_on()
    assert held.says() == "1"
    return held


def accounting(run: Run) -> dict:
    assert run.exit_code == 0, run.stderr
    [process] = run.profile()["processes"]
    assert process["ended"] == "exit", process
    return process["accounting"]


def test_a_look_that_is_held_up_to_the_end_is_refused(workshop: Workshop, libraries: list[Path]) -> None:
    """Nobody comes back for its answer: it is neither sampled nor left open, and the recording ends in order."""
    held = hold_up(workshop, libraries, "end")
    # It dies with its process, and is this one's to bury.
    os.waitpid(held.thread, WAIT_ALL)
    counted = accounting(workshop.finish(held.process, RECORDING))
    assert counted["refused"].get("exited", 0) >= 1, counted


def test_who_waits_for_a_handler_leaves_the_cpu_to_it(workshop: Workshop, libraries: list[Path]) -> None:
    """On a machine with one CPU the handler could not go on before. Its thread then goes on as if nobody had looked."""
    held = hold_up(workshop, libraries, "yielded")
    assert held.says() == "yielded"
    ptrace(PTRACE_DETACH, held.thread)
    held.go_on()
    run = workshop.finish(held.process, RECORDING)
    assert run.stdout == "3\n", run.stderr
    accounting(run)
