"""A busy program, from outside: what the stops of one of its threads were while somebody attached, recorded or dumped.

Owns: the program (works/stopped.py) and its end, on the bench's CPython and on the 3.15 of a Debian sid folder. Never: asks the tool that is measured.
"""

import json
import os
import shutil
import statistics
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import newest

WORKS = Path(__file__).resolve().parent.parent / "works"
BUSY_THREADS = "3"
END_SECONDS_MAX = 10


@dataclass(frozen=True)
class Stop:
    """Of one thread. `queued_ms`: how much of it the thread waited for a CPU, before it stopped or after it was let go."""

    whole_ms: float
    queued_ms: float

    @property
    def held_ms(self) -> float:
        # The two are read one after the other: a wait may be a little longer than the stop that it is a part of.
        return max(0.0, self.whole_ms - self.queued_ms)


@dataclass
class Stops:
    """The stops in each run of one tool."""

    runs: list[list[Stop]]

    def in_all_ms(self) -> list[float]:
        """Of each run."""
        return [sum(stop.held_ms for stop in run) for run in self.runs]

    def each_ms(self) -> list[float]:
        return [stop.held_ms for run in self.runs for stop in run]

    def __str__(self) -> str:
        if not self.each_ms():
            return "stops nothing"
        whole = statistics.median(stop.whole_ms for run in self.runs for stop in run)
        each = self.each_ms()
        count = statistics.median(map(len, self.runs))
        return f"{count:g} in a run, median {statistics.median(each):.2f} ms, worst {max(each):.1f} ms, median with its wait for a CPU {whole:.2f} ms"


@dataclass
class Program:
    process: subprocess.Popen[str]
    pid: str

    def stops(self) -> list[Stop]:
        """Since the last call."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return [Stop(whole_ns / 1e6, queued_ns / 1e6) for whole_ns, queued_ns in json.loads(line)]


def library(folder: Path) -> Path:
    made = folder / "stops.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", str(WORKS / "stops.c"), "-o", str(made)], check=True)
    return made


@contextmanager
def here(python: str, folder: Path, waiting_threads: int = 0) -> Iterator[Program]:
    with _started([python, str(WORKS / "stopped.py"), str(library(folder)), BUSY_THREADS, str(waiting_threads)]) as program:
        yield program


@contextmanager
def on_newest(sid: Path, folder: Path) -> Iterator[Program]:
    place = sid / f"tmp/genba-bench-attach-{os.getpid()}"
    place.mkdir(parents=True)
    try:
        for file in (library(folder), WORKS / "stopped.py"):
            shutil.copy2(file, place)
        inside = "/" + str(place.relative_to(sid))
        with _started([newest.CHROOT, str(sid), newest.PYTHON, f"{inside}/stopped.py", f"{inside}/stops.so", BUSY_THREADS, "0"]) as program:
            yield program
    finally:
        shutil.rmtree(place)


@contextmanager
def _started(command: list[str]) -> Iterator[Program]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        program = Program(process, process.stdout.readline().strip())
        program.stops()
        yield program
        process.communicate(timeout=END_SECONDS_MAX)
    finally:
        process.kill()
        process.communicate()
