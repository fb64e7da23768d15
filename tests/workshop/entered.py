"""Programs that run while `genba attach` enters them in hostile places.

Owns: starting them, on which CPythons a test runs, what a refusal has to look like. Never: judges a recording.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from interpreters import Interpreter, all_supported
from recording import Workshop
from running_program import Program

# SIGSETXID, of glibc's own.
SIGNAL_OF_LIBC = 33
# What programs here that count until a line comes say in the end.
COUNTED = {"total": sum(number * number for number in range(5000))}


def on(*names: str) -> pytest.MarkDecorator:
    """The test runs on these CPythons only: what it tries hardly depends on the interpreter."""
    chosen = [
        pytest.param(one, id=one.name) if isinstance(one, Interpreter) else pytest.param(None, id=one.name, marks=pytest.mark.skip(reason=one.why))
        for one in all_supported() if one.name in names
    ]
    return pytest.mark.parametrize("python", chosen, indirect=True)


few = on("3.11", "3.13", "3.15")
newest = on("3.15")


@contextmanager
def running(workshop: Workshop, command: list[str], *, ready: str = "ready", **options) -> Iterator[Program]:
    """A program that says that it is ready. `command` is as the program's own root has it."""
    process = subprocess.Popen(
        workshop.place.command(command), cwd=workshop.place.outside, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        **{"env": workshop.place.environment({}), **options},
    )
    try:
        line = process.stdout.readline()
        assert line.startswith(ready), process.communicate(timeout=5)[1]
        yield Program(process, workshop)
    finally:
        process.kill()
        process.communicate()


def refused(program: Program, *words: str) -> str:
    """It says why and what to do, and leaves no recording."""
    done = program.attach("refused.genba", "--duration", "100ms")
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("error: ") and "hint: " in done.stderr and "panic" not in done.stderr, done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert not (program.workshop.place.outside / "refused.genba").exists()
    return done.stderr


def state(program: Program) -> tuple[int, int, set[str], bool]:
    """Threads, handlers, descriptors, and whether genba is there. With its first thread a C library catches a signal of its own."""
    threads, caught, *rest = program.state()
    return threads, caught & ~(1 << (SIGNAL_OF_LIBC - 1)), *rest
