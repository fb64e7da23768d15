"""Threads that live for a millisecond or less, one after another: how much of their CPU no sample tells, whether their functions have their true shares, and the cost.

Owns: the bounds and the counting. The truth is what the threads say of their own clocks (tests/programs/short_threads.py). py-spy, which sees threads from outside, is
asked the same where it is installed.
"""

import json
import resource
import statistics
import subprocess
import time
from argparse import Namespace
from pathlib import Path

import ways
from row import Row

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PROGRAM = str(REPOSITORY / "tests/programs/short_threads.py")
# Threads of each kind, and the microseconds that the two kinds work.
KINDS = {"a millisecond each": ("600", "1000", "1000"), "a third of a millisecond": ("1500", "400", "250")}
ROUNDS = 7
NOT_SAMPLED_MAX = 5
TIMES_MAX = 1.05


def rows(options: Namespace, folder: Path) -> list[Row]:
    recording, raw = folder / "short.genba", folder / "short.txt"
    spy = ways.PEERS / "py-spy/bin/py-spy"
    commands = {
        "alone": [options.python],
        "genba": [options.genba, "run", "--quiet", "--force", "-o", str(recording), options.python],
    }
    if spy.exists():
        commands["py-spy"] = [str(spy), "record", "-n", "-r", "1000", "-f", "raw", "-o", str(raw), "--", ways.venv("py-spy")]
    found = []
    for kind, arguments in KINDS.items():
        figures: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        missing, errors = [], {name: [] for name in commands if name != "alone"}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                cpu_s, wall_s, true_short = measured([*command, PROGRAM, *arguments])
                figures[name].append((cpu_s, wall_s))
                if name == "genba":
                    missing.append(not_sampled(options.genba, recording))
                    raw.write_text(said([options.genba, "export", "--to", "collapsed", "--weight", "cpu", "-o", "-", str(recording)]))
                if name != "alone":
                    errors[name].append(abs(told_short(raw) - true_short) * 100)
        found.append(Row(f"CPU in no sample, threads of {kind}", statistics.median(missing), "%", bound=NOT_SAMPLED_MAX))
        yardstick = f"py-spy {statistics.median(errors['py-spy']):.1f} points" if "py-spy" in errors else "py-spy not installed"
        found.append(Row(f"a function's share is off by, threads of {kind}", statistics.median(errors["genba"]), "points", yardstick=yardstick))
        for at, figure in enumerate(("CPU", "wall")):
            alone = statistics.median(one[at] for one in figures["alone"])
            times = {name: statistics.median(one[at] for one in values) / alone for name, values in figures.items() if name != "alone"}
            yardstick = f"py-spy {times['py-spy']:.2f}" if "py-spy" in times else "py-spy not installed"
            found.append(Row(f"{figure} of threads of {kind}, beside alone", times["genba"], "×", bound=TIMES_MAX, yardstick=yardstick))
    return found


def said(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def measured(command: list[str]) -> tuple[float, float, float]:
    """CPU and wall time in seconds, of the command and all that it waited for; the true share of the second function."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    out = said(command)
    after, wall_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    answer = json.loads(next(line for line in out.splitlines() if line.startswith("{")))
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu_s, wall_s, answer["short_work"] / (answer["short_work"] + answer["long_work"])


def not_sampled(genba: str, recording: Path) -> float:
    """In per cent of the program's CPU."""
    [process] = json.loads(said([genba, "export", "--to", "json", "-o", "-", str(recording)]))["processes"]
    own_ns = process["cpu_ns"] - process["cpu_genba_ns"]
    return process["cpu_not_sampled_ns"] / own_ns * 100


def told_short(raw: Path) -> float:
    told = {"long_work": 0, "short_work": 0}
    for line in raw.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        for name in told:
            if name in stack:
                told[name] += int(count)
    return told["short_work"] / (sum(told.values()) or 1)
