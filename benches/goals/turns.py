"""`genba bench`: how often a command seems to differ from itself, and how often a difference of 3 % is shown, of sleeping and of computing, each
beside hyperfine's; and its times, beside hyperfine's and pyperf's.

Owns: the commands, and the counting of claims. Never: judges what is shown of the planted difference, which depends on the machine (docs/bench.md
says what is expected). hyperfine is measured where it is installed, in turns with genba: it runs one
command after the other, and its times are judged as its own `scripts/welch_ttest.py` judges them.
Setting: COMPARISONS.
"""

import json
import math
import os
import shlex
import shutil
import statistics
from argparse import Namespace
from pathlib import Path

import ways
from commands import claims_by_chance, must_run
from row import Row

COMPARISONS = int(os.environ.get("COMPARISONS") or 200)
RUNS = 30
# The interpreter that has pyperf.
PYPERF = ways.PEERS / "pyperformance/bin/python"
# Some 8 ms, most of it in the kernel and the linker.
START = "-S -c pass"
# A planted difference of sleeping is as large as its numbers say, whatever the processor does.
SHORTER, LONGER = "sleep 0.03", "sleep 0.0309"
# One of computing depends on the processor's speed from run to run, as those do that a user looks for. The count is large, so that the start of the
# program is a small part of the whole.
FEWER, MORE = "seq 3000000", "seq 3090000"
BESIDE_ROUNDS = 6
# Student's t, 95 %, of the fewest degrees of freedom that Welch's test has with RUNS runs each (RUNS - 1): hyperfine's way then claims rather too
# seldom.
WELCH_T = 2.045


def rows(options: Namespace, folder: Path) -> list[Row]:
    start = f"{options.python} {START}"
    has_hyperfine = shutil.which("hyperfine") is not None
    if not has_hyperfine:
        print("genba bench beside hyperfine is not measured: hyperfine is not installed (make/prepare.sh packages, as root)")
    most = claims_by_chance(COMPARISONS)
    found = differing("bench: equal commands that seem to differ", options, folder, (start, start), has_hyperfine, most)
    found += differing("bench: a difference of 3 % that is shown", options, folder, (SHORTER, LONGER), has_hyperfine)
    found += differing("bench: a difference of 3 % in computing that is shown", options, folder, (FEWER, MORE), has_hyperfine)
    if has_hyperfine:
        found += beside_hyperfine(options, folder, (start, "seq 100000"))
    if PYPERF.exists():
        found += beside_pyperf(options, folder, (start, "seq 100000"))
    else:
        print("genba bench beside pyperf command is not measured: make/prepare.sh peers has not installed it")
    return found


def differing(goal: str, options: Namespace, folder: Path, commands: tuple[str, str], has_hyperfine: bool, most: int | None = None) -> list[Row]:
    relatives, by_hyperfine = [], 0
    for _ in range(COMPARISONS):
        relatives.append(relative(options, folder, commands))
        if has_hyperfine:
            one, other = measured(["hyperfine", "--style", "none", "-N", "-r", str(RUNS)], folder / "turns.json", *commands)
            by_hyperfine += differs(one["times"], other["times"])
    # An interval may have no end.
    widths = [math.inf if one["high"] is None else (one["high"] - one["low"]) / 2 * 100 for one in relatives]
    yardstick = f"{RUNS} rounds each; the median interval is ± {statistics.median(widths):.1f} %"
    # A count says nothing without the number that it is of, which docs/measured.md shows, too.
    found = [Row(goal, sum(one["shown"] for one in relatives), f"of {COMPARISONS}", bound=most, yardstick=yardstick)]
    if has_hyperfine:
        found.append(Row(f"{goal}, by hyperfine and Welch's t", by_hyperfine, f"of {COMPARISONS}", yardstick=f"{RUNS} runs each, one command after the other"))
    return found


def differs(one: list[float], other: list[float]) -> bool:
    error = math.sqrt(statistics.variance(one) / len(one) + statistics.variance(other) / len(other))
    return abs(statistics.fmean(one) - statistics.fmean(other)) > WELCH_T * error


def relative(options: Namespace, folder: Path, commands: tuple[str, str]) -> dict:
    results = measured([options.genba, "bench", "--style", "none", "-N", "-r", str(RUNS)], folder / "turns.json", *commands)
    return next(one["genba"]["relative"] for one in results if one["genba"]["relative"])


def beside_hyperfine(options: Namespace, folder: Path, commands: tuple[str, ...]) -> list[Row]:
    found = []
    for command in commands:
        means: dict[str, list[float]] = {"genba": [], "hyperfine": []}
        for _ in range(BESIDE_ROUNDS):
            for name, tool in (("genba", [options.genba, "bench"]), ("hyperfine", ["hyperfine"])):
                results = measured([*tool, "--style", "none", "-N", "-w", "3", "-r", str(RUNS)], folder / "turns.json", command)
                means[name].append(results[0]["mean"] * 1000)
        own, other = (statistics.mean(means[name]) for name in ("genba", "hyperfine"))
        name = Path(command.split()[0]).name
        found.append(Row(f"bench: mean time of `{name} …`", own, "ms", yardstick=f"hyperfine {other:.3f} ms", ratio=own / other))
    return found


def beside_pyperf(options: Namespace, folder: Path, commands: tuple[str, ...]) -> list[Row]:
    """Its clock runs in a program of Python, so that program's part in each start is in its means."""
    found = []
    for command in commands:
        own, other = [], []
        for _ in range(BESIDE_ROUNDS):
            [result] = measured([options.genba, "bench", "--style", "none", "-N", "-w", "3", "-r", str(RUNS)], folder / "turns.json", command)
            own.append(result["mean"] * 1000)
            other.append(by_pyperf(command, folder / "pyperf.json") * 1000)
        means = statistics.mean(own), statistics.mean(other)
        name = Path(command.split()[0]).name
        found.append(Row(f"bench: `{name} …` beside pyperf command", means[0], "ms", yardstick=f"pyperf {means[1]:.3f} ms", ratio=means[0] / means[1]))
    return found


def by_pyperf(command: str, out: Path) -> float:
    """The mean of all its values, in seconds."""
    out.unlink(missing_ok=True)
    must_run([str(PYPERF), "-m", "pyperf", "command", "--quiet", "--processes", "3", "-o", str(out), *shlex.split(command)])
    [benchmark] = json.loads(out.read_text())["benchmarks"]
    return statistics.fmean(value for run in benchmark["runs"] for value in run.get("values", []))


def measured(tool: list[str], file: Path, *commands: str) -> list[dict]:
    must_run([*tool, "--export-json", str(file), *commands])
    return json.loads(file.read_text())["results"]
