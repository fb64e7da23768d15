"""Programs that run while `genba dump` looks at them.

Owns: starting them with any interpreter, inside a chroot too, and ending them. Never: sleeps; a program says when it is ready.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recording import REPOSITORY, Place, genba, genba_said

# A thread that has said so is about to stand still; each look gives it more time.
LOOKS_MAX = 200


@dataclass
class Program:
    """`said`: its first line. `pid` is as the test sees it, also of a program inside a chroot."""

    process: subprocess.Popen
    said: str

    @property
    def pid(self) -> int:
        return self.process.pid

    def dump(self, *flags: str) -> dict[str, Any]:
        return json.loads(genba_said("dump", str(self.pid), "--format", "json", *flags))

    def threads(self, *flags: str) -> dict[str, dict[str, Any]]:
        """By name; of one process."""
        (process,) = self.dump(*flags)["processes"]
        return {thread["name"] or thread["comm"]: thread for thread in process["threads"]}


@contextmanager
def running(place: Place, program: str, *arguments: str, python_flags: tuple[str, ...] = (), **options: Any) -> Iterator[Program]:
    """A program of tests/programs."""
    command = place.command([place.interpreter.path, *python_flags, f"{place.repository_inside}/tests/programs/{program}", *arguments])
    with started(command, cwd=place.outside, env=place.environment({"PYTHONUTF8": "1"}), **options) as one:
        yield one


@contextmanager
def started(command: list[str], **options: Any) -> Iterator[Program]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
    try:
        yield Program(process, process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def line_of(program: str, mark: str) -> int:
    """The line of a program with this comment."""
    lines = (REPOSITORY / "tests/programs" / program).read_text().splitlines()
    (line,) = [number for number, text in enumerate(lines, 1) if text.endswith(f"# {mark}")]
    return line


def refusal(pid: int, *, command: Path | None = None, **options: Any) -> str:
    """What `genba dump` says on stderr, with exit code 1 and nothing on stdout."""
    if command is None:
        done = genba("dump", str(pid))
    else:
        done = subprocess.run([command, "dump", str(pid)], capture_output=True, text=True, timeout=60, **options)
    assert (done.returncode, done.stdout) == (1, ""), done
    first, *_, last = done.stderr.splitlines()
    assert first.startswith("error: ") and last.startswith("hint: "), done.stderr
    return done.stderr
