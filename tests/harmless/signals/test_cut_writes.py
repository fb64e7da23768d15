"""A large write to a slow reader arrives whole: a signal that comes while the pipe fills up would cut it short."""

from pathlib import Path

import pytest

from both_ways import built, same_both_ways
from recording import Workshop

# An unbuffered text stream asks for no count: what the write left over is lost. The reader is as slow as it takes for
# the writer to run into a full pipe again and again.
PROGRAM = """
import os, subprocess, sys, time
BYTES = 4 << 20
WRITER = '''
import os, signal, sys
handled = []
if sys.argv[1] == "interrupted":
    signal.signal(signal.SIGALRM, lambda *_: handled.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
text = "x" * (4 << 20)
if sys.argv[1] == "text":
    sys.stdout.write(text)
else:
    data, counts = text.encode(), []
    while data:
        counts.append(os.write(1, data))
        data = data[counts[-1]:]
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(len(counts), len(handled), file=sys.stderr)
'''
found = []
for _ in range(5):
    writer = subprocess.Popen([sys.executable, "-u", "-c", WRITER, sys.argv[1]], stdout=-1, stderr=-1)
    arrived = 0
    while part := os.read(writer.stdout.fileno(), 20_000):
        arrived += len(part)
        sum(range(500))
    counts = writer.stderr.read().split()
    found.append([arrived, writer.wait(), *map(int, counts)])
print(found)
"""
BYTES = 4 << 20


def test_unbuffered_text_arrives_whole(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("writes.py", PROGRAM), "text", flags=("--rate", "5000"))
    assert run.answer() == [[BYTES, 0]] * 5, run.stderr


def test_one_call_writes_all(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("writes.py", PROGRAM), "bytes", flags=("--rate", "5000"))
    assert run.answer() == [[BYTES, 0, 1, 0]] * 5, run.stderr


def test_the_programs_own_signals_still_cut_it(workshop: Workshop) -> None:
    """As without genba: each of its signals gets through while the write waits."""
    run = workshop.run(workshop.write("writes.py", PROGRAM), "interrupted", flags=("--rate", "5000"))
    for arrived, exit_code, calls, handled in run.answer():
        assert (arrived, exit_code) == (BYTES, 0), run.stderr
        assert calls > 1 and handled > 1, run.stderr


@pytest.fixture(scope="session")
def tight_writes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("tight_writes", tmp_path_factory)


# docs/limits.md: beside the kernel's frame, a handler takes less than this, also where it finishes a write.
HANDLER_BYTES = 1024
TIGHT = f"""
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.write_with.restype = ctypes.c_long
print([library.write_with(ctypes.c_long({HANDLER_BYTES})) for _ in range(5)])
"""


def test_where_little_of_the_stack_is_left(workshop: Workshop, tight_writes: Path) -> None:
    program = workshop.write("tight.py", TIGHT)
    run = same_both_ways(workshop, program, workshop.take(tight_writes), flags=("--rate", "10000"))
    assert run.answer() == [BYTES] * 5


@pytest.fixture(scope="session")
def large_handler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("large_handler", tmp_path_factory)


LARGE = """
import ctypes, sys
print(ctypes.CDLL(sys.argv[1]).run(int(sys.argv[2]), sys.argv[3] == "alternate"))
"""


@pytest.mark.parametrize("stack", ["own", "alternate"])
def test_handlers_run_where_they_would(workshop: Workshop, large_handler: Path, stack: str) -> None:
    """While genba's handler writes the rest, handlers of the program's find the thread's own stack, and an alternate one that is free."""
    program, library = workshop.write("large.py", LARGE), workshop.take(large_handler)
    run = same_both_ways(workshop, program, library, "20", stack, flags=("--rate", "10000"))
    assert run.answer() == 0
