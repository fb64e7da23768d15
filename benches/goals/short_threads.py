"""Threads that live for a millisecond or less, one after another: how much of their CPU no sample tells, whether their functions have their true shares, and the cost.

Owns: the bounds and the counting. The truth is what the threads say of their own clocks (tests/programs/short_threads.py). py-spy, which sees threads from outside, is
asked the same where it is installed. What the same work costs in two threads, one for each function, is printed beside.
"""

import json
import statistics
import subprocess
from argparse import Namespace
from pathlib import Path

import commands
import ways
from row import Row

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PROGRAM = str(REPOSITORY / "tests/programs/short_threads.py")
# Threads of each kind, and the microseconds that the two kinds work.
KINDS = {"a millisecond each": ("600", "1000", "1000"), "a third of a millisecond": ("1500", "400", "250"), "0.9 ms beside 0.1 ms": ("800", "900", "100")}
ROUNDS = 7
# One run has a thousand samples: by chance alone its share is off by a point or two.
ROUNDS_OF_SHARES = 21
NOT_SAMPLED_MAX = 5
TIMES_MAX = 1.05


def rows(options: Namespace, folder: Path) -> list[Row]:
    recording, raw = folder / "short.genba", folder / "short.txt"
    spy = ways.PEERS / "py-spy/bin/py-spy"
    started_by = {
        "alone": [options.python],
        "genba": [options.genba, "run", "--quiet", "--force", "-o", str(recording), options.python],
    }
    if spy.exists():
        started_by["py-spy"] = [str(spy), "record", "-n", "-r", "1000", "-f", "raw", "-o", str(raw), "--", ways.venv("py-spy")]
    found = []
    for kind, arguments in KINDS.items():
        missing, errors = [], {name: [] for name in started_by if name != "alone"}
        # These runs are not timed: the truth of each is what it prints, and `genba bench` keeps no output of a run.
        for _ in range(ROUNDS_OF_SHARES):
            for name in errors:
                true_short = true_share([*started_by[name], PROGRAM, *arguments])
                if name == "genba":
                    missing.append(not_sampled(options.genba, recording))
                    raw.write_text(said([options.genba, "export", "--to", "collapsed", "--weight", "cpu", "-o", "-", str(recording)]))
                errors[name].append((told_short(raw) - true_short) * 100)
        found.append(Row(f"CPU in no sample, threads of {kind}", statistics.median(missing), "%", bound=NOT_SAMPLED_MAX))
        off = {name: abs(statistics.mean(points)) for name, points in errors.items()}
        yardstick = f"py-spy {off['py-spy']:.1f} points" if "py-spy" in off else "py-spy not installed"
        found.append(Row(f"a function's mean share is off by, threads of {kind}", off["genba"], "points", yardstick=yardstick))
        count, *works_us = map(int, arguments)
        in_two_arguments = ["1", *(str(count * work_us) for work_us in works_us)]
        measured = {name: [*command, PROGRAM, *arguments] for name, command in started_by.items()}
        measured |= {f"{name}, in two": [*started_by[name], PROGRAM, *in_two_arguments] for name in ("alone", "genba")}
        compared = commands.beside(options, measured, ROUNDS, folder)
        for figure, words in (("cpu_ns", "CPU"), ("wall_ns", "wall")):
            times = {name: compared.ratio(name, "alone", figure) for name in errors}
            in_two = compared.ratio("genba, in two", "alone, in two", figure)
            spy_words = f"py-spy {times['py-spy'].middle:.2f}" if "py-spy" in times else "py-spy not installed"
            yardstick = f"{times['genba']}; the same work in two threads {in_two.middle:.3f}; {spy_words}"
            found.append(Row(f"{words} of threads of {kind}, beside alone", times["genba"].middle, "×", bound=TIMES_MAX, yardstick=yardstick))
    return found


def said(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def true_share(command: list[str]) -> float:
    """Of the second function, by the program's own clocks."""
    answer = json.loads(next(line for line in said(command).splitlines() if line.startswith("{")))
    return answer["short_work"] / (answer["short_work"] + answer["long_work"])


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
