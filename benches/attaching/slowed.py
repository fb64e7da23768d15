"""A work alone, under `genba run`, and while genba or py-spy is attached, interleaved: each round runs all of them in an order drawn from the seed.

Owns: those ways, and the CPU of a tool while the work runs, which counts as the program's. Never: counts what a tool does before and after the work.
"""

import json
import random
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ways

PROGRAM = str(Path(__file__).resolve().parent.parent / "works/attached.py")
RATE = "1000"
SECONDS_MAX = 60
ALONE, RUN, ATTACHED, SPY = "alone", "genba run", "genba attach", "py-spy record --pid"
Costs = dict[str, list[dict[str, int]]]


def measure(work: str, options: Namespace, folder: Path, rounds: int, spy: str | None) -> Costs:
    """Way → the costs of each round. `spy`: the command, where it can be had."""
    chance = random.Random(f"{options.seed} {work} attached")
    chosen = [ALONE, RUN, ATTACHED, *([SPY] if spy else [])]
    costs: Costs = {way: [] for way in chosen}
    for number in range(rounds + 1):
        for way in chance.sample(chosen, len(chosen)):
            cost = one(way, work, options, folder, spy)
            # The first round warms the caches and counts nowhere.
            if number:
                costs[way].append(cost)
    return costs


def one(way: str, work: str, options: Namespace, folder: Path, spy: str | None) -> dict[str, int]:
    recording = ["--quiet", "--force", "--rate", RATE, "-o", str(folder / "slowed.genba")]
    prefix = [options.genba, "run", *recording] if way == RUN else []
    command = [*prefix, options.python, PROGRAM, work]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ways.environment(ways.Way(way, command)))
    try:
        assert process.stdout.readline() == "ready\n", f"{' '.join(command)} did not begin"
        tool = {
            # Without --quiet: its first line says that it records.
            ATTACHED: [options.genba, "attach", *recording[1:], str(process.pid)],
            SPY: [str(spy), "record", "-n", "-r", RATE, "-f", "raw", "-o", str(folder / "slowed.raw"), "--pid", str(process.pid)],
        }.get(way)
        with attached(tool) as tool_pid:
            before_ns = cpu_ns(tool_pid)
            process.stdin.write("\n")
            process.stdin.flush()
            cost = json.loads(process.stdout.readline())
            cost["cpu_ns"] += cpu_ns(tool_pid) - before_ns
            process.communicate(timeout=SECONDS_MAX)
    finally:
        process.kill()
        process.communicate()
    return cost


@contextmanager
def attached(tool: list[str] | None) -> Iterator[int | None]:
    """From its first line, by which it says that it records, until it ends with the program."""
    if tool is None:
        yield None
        return
    process = subprocess.Popen(tool, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        line = process.stdout.readline()
        if not line or line.startswith("error"):
            sys.exit(f"error: {' '.join(tool)} did not begin\n{line}{process.communicate()[0]}")
        yield process.pid
        process.communicate(timeout=SECONDS_MAX)
    finally:
        process.kill()
        process.communicate()


def cpu_ns(pid: int | None) -> int:
    """CPU of a process so far; its clock's number is made of the pid (clock_getcpuclockid(3))."""
    return 0 if pid is None else time.clock_gettime_ns((~pid << 3) | 2)
