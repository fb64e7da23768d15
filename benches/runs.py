"""Runs of one work in all ways, interleaved: each round runs them in an order of its own, drawn from the seed.

Owns: the rounds, what each run cost, the recordings of genba's. Not by `genba bench`: a work measures itself from inside, each run keeps its words and its
recording, and the order is drawn for each round. Whole commands are measured by it (commands.py). Never: leaves out a run that failed: its way is not measured
any further and the table says why.
"""

import json
import os
import random
import select
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import ways
from ways import Way

RUN_SECONDS_MAX = 120
# Of other profilers: some need minutes where there are a thousand threads.
PEER_SECONDS_MAX = 20
RECORDINGS_KEPT = 5


@dataclass(frozen=True)
class Cost:
    """`whole_*`: from start to end, with every process that the way started. The others: while the work ran."""

    cpu_ns: int
    wall_ns: int
    whole_cpu_ns: int
    whole_wall_ns: int


@dataclass
class Measured:
    """All runs of one work: way → round → cost."""

    work: str
    costs: dict[str, dict[int, Cost]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    recordings: dict[str, list[Path]] = field(default_factory=dict)

    def both(self, way: str, against: str, figure: str) -> tuple[list[float], list[float]]:
        """`figure` of the rounds in which both ran."""
        one, other = self.costs.get(way, {}), self.costs.get(against, {})
        rounds = sorted(one.keys() & other.keys())
        return [getattr(one[at], figure) for at in rounds], [getattr(other[at], figure) for at in rounds]


class Failed(Exception):
    """A run that gave no figures: one line of words."""


@dataclass(frozen=True)
class Place:
    """A folder for a run's files, named twice: `outside` by the bench, `inside` by the program (the same without a chroot)."""

    outside: Path
    inside: str
    workload: str = ways.WORKLOAD
    prefix: tuple[str, ...] = ()

    @staticmethod
    def here(folder: Path) -> "Place":
        return Place(folder, str(folder))


def measure(work: str, chosen: list[Way], rounds: int, seed: int, place: Place) -> Measured:
    chance = random.Random(f"{seed} {work}")
    measured = Measured(work, costs={way.name: {} for way in chosen})
    runnable = []
    for way in chosen:
        if way.missing is not None:
            measured.failed[way.name] = way.missing
        # The first run warms the file cache and counts nowhere; it also tells whether the way works.
        elif attempt(measured, way, None, place):
            runnable.append(way)
    for number in range(rounds):
        # A way with fewer rounds has them spread over the others'.
        due = [way for way in runnable if is_due(number, way.rounds(rounds), rounds)]
        for way in chance.sample(due, len(due)):
            if way.name not in measured.failed:
                attempt(measured, way, number, place)
    return measured


def is_due(number: int, own_rounds: int, rounds: int) -> bool:
    return (number + 1) * own_rounds // rounds > number * own_rounds // rounds


def attempt(measured: Measured, way: Way, number: int | None, place: Place) -> bool:
    recording = f"{measured.work}-{way.name.replace(' ', '-')}-{number}.genba"
    try:
        cost = run(way, measured.work, place, recording)
    except Failed as why:
        measured.failed[way.name] = str(why)
        return False
    if number is not None:
        measured.costs[way.name][number] = cost
    kept = measured.recordings.setdefault(way.name, [])
    if (place.outside / recording).exists() and number is not None and len(kept) < RECORDINGS_KEPT:
        kept.append(place.outside / recording)
    else:
        (place.outside / recording).unlink(missing_ok=True)
    return True


def run(way: Way, work: str, place: Place, recording: str) -> Cost:
    begin_ns = time.perf_counter_ns()
    cpu_ns, _, inside = finished(way, work, place, recording)
    return Cost(inside["cpu_ns"], inside["wall_ns"], cpu_ns, time.perf_counter_ns() - begin_ns)


def finished(way: Way, work: str, place: Place, recording: str) -> tuple[int, int, dict]:
    """One run to its end: CPU of all its processes, its exit code, the work's own words."""
    result = place.outside / "result.json"
    result.unlink(missing_ok=True)
    stands_for = {"RECORDING": recording, "OUT": "out", "OUT.json": "out.json"}
    own = [f"{place.inside}/{stands_for[word]}" if word in stands_for else word for word in way.command]
    program = ways.program(way, place.workload, work, f"{place.inside}/result.json")
    cpu_ns, code, stderr = tree_cpu_ns(
        [*place.prefix, *own, *program], ways.environment(way), place.outside, PEER_SECONDS_MAX if way.is_peer else RUN_SECONDS_MAX
    )
    # The work's own word counts, not the exit code: a profiler may end otherwise than its program.
    if not result.exists():
        raise Failed(f"exit code {code}: {last_line(stderr)}")
    return cpu_ns, code, json.loads(result.read_text())


def tree_cpu_ns(command: list[str], environment: dict[str, str], folder: Path, seconds_max: float) -> tuple[int, int, str]:
    """CPU of a command and of all its children that were waited for, its exit code, its words."""
    with open(folder / "stderr", "w+") as stderr:
        try:
            process = subprocess.Popen(
                command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=stderr, start_new_session=True
            )
        except OSError as error:
            raise Failed(str(error)) from None
        try:
            code, used = wait(process, seconds_max)
        except BaseException as error:
            # The program that the profiler started, too.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, TimeoutError):
                raise Failed(f"one run was not done after {seconds_max} s") from None
            raise
        stderr.seek(0)
        return int((used.ru_utime + used.ru_stime) * 1e9), code, stderr.read()


def wait(process: subprocess.Popen, seconds_max: float):
    """As Popen.wait, with the resources used. A poll would cost CPU that is measured: a timer interrupts instead."""
    handle = os.pidfd_open(process.pid)
    try:
        if not select.select([handle], [], [], seconds_max)[0]:
            raise TimeoutError
    finally:
        os.close(handle)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no words on stderr"
