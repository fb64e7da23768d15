"""A work alone, under `genba run`, and while genba or another profiler is attached, interleaved: each round runs all of them in an order drawn
from the seed.

Owns: those ways, and the CPU of a tool while the work runs, which counts as the program's. Never: counts what a tool does before and after the work.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import newest
import ways

PROGRAM = str(Path(__file__).resolve().parent.parent / "works/attached.py")
RATE = "1000"
SECONDS_MAX = 60
# An interpreter that imports its own profiler, which does not say when it has begun, is done with that by then.
SILENT_SECONDS = 1
ALONE, RUN, ATTACHED, SPY = "alone", "genba run", "genba attach", "py-spy record --pid"
SAMPLING, BLOCKING = "profiling.sampling attach", "profiling.sampling attach --blocking"
Costs = dict[str, list[dict[str, int]]]


def measure(work: str, options: Namespace, folder: Path, rounds: int, spy: str | None) -> Costs:
    """Way → the costs of each round. `spy`: the command, where it can be had."""
    program = [options.python, PROGRAM, work]
    recording = flags(folder)
    commands = {ALONE: program, RUN: [options.genba, "run", "--quiet", *recording, *program], ATTACHED: program}
    tools = {ATTACHED: [options.genba, "attach", *recording]}
    if spy:
        commands[SPY] = program
        tools[SPY] = [spy, "record", "-n", "-r", RATE, "-f", "raw", "-o", str(folder / "slowed.raw"), "--pid"]
    return in_rounds(f"{options.seed} {work} attached", commands, tools, rounds)


def measure_on_newest(work: str, options: Namespace, folder: Path, rounds: int, sid: Path) -> Costs:
    """The same on CPython 3.15 in a Debian sid folder, beside the interpreter's own profiler."""
    outside = sid / f"tmp/genba-bench-slowed-{os.getpid()}"
    python = [newest.CHROOT, str(sid), newest.PYTHON]
    program = [*python, f"/{outside.relative_to(sid)}/benches/works/attached.py", work]
    sampling = [*python, "-m", "profiling.sampling", "attach", "-a", "-r", "1khz", "--native", "--collapsed", "-o", "/dev/null"]
    tools = {ATTACHED: [options.genba, "attach", *flags(folder)], SAMPLING: sampling, BLOCKING: [*sampling, "--blocking"]}
    try:
        newest.copy_works(outside)
        return in_rounds(f"{options.seed} {work} attached on 3.15", dict.fromkeys([ALONE, *tools], program), tools, rounds)
    finally:
        shutil.rmtree(outside, ignore_errors=True)


def flags(folder: Path) -> list[str]:
    return ["--force", "--rate", RATE, "-o", str(folder / "slowed.genba")]


def in_rounds(seed: str, commands: dict[str, list[str]], tools: dict[str, list[str]], rounds: int) -> Costs:
    """`tools`: what is attached in some of the ways; the number of the process comes behind it."""
    chance = random.Random(seed)
    costs: Costs = {way: [] for way in commands}
    for number in range(rounds + 1):
        for way in chance.sample(list(commands), len(commands)):
            cost = one(way, commands[way], tools.get(way))
            # The first round warms the caches and counts nowhere.
            if number:
                costs[way].append(cost)
    return costs


def one(way: str, command: list[str], tool: list[str] | None) -> dict[str, int]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ways.environment(ways.Way(way, command)))
    try:
        assert process.stdout.readline() == "ready\n", f"{' '.join(command)} did not begin"
        with attached(tool and [*tool, str(process.pid)], is_silent=way in (SAMPLING, BLOCKING)) as tool_pid:
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
def attached(tool: list[str] | None, *, is_silent: bool) -> Iterator[int | None]:
    """From its first line, by which it says that it records, until it ends with the program. `is_silent`: it has no such line."""
    if tool is None:
        yield None
        return
    process = subprocess.Popen(tool, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        if is_silent:
            time.sleep(SILENT_SECONDS)
            is_there, line = process.poll() is None, ""
        else:
            line = process.stdout.readline()
            is_there = bool(line) and not line.startswith("error")
        if not is_there:
            sys.exit(f"error: {' '.join(tool)} did not begin\n{line}{process.communicate()[0]}")
        yield process.pid
        process.communicate(timeout=SECONDS_MAX)
    finally:
        process.kill()
        process.communicate()


def cpu_ns(pid: int | None) -> int:
    """CPU of a process so far; its clock's number is made of the pid (clock_getcpuclockid(3))."""
    return 0 if pid is None else time.clock_gettime_ns((~pid << 3) | 2)
