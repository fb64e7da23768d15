"""`genba bench`: how often a command seems to differ from itself, how often a difference of 3 % is shown, and its times beside hyperfine's.

Owns: the commands, and the counting. Never: judges by a bound: the counts vary by chance (docs/bench.md says what is expected). hyperfine is measured where it is
installed. Setting: COMPARISONS. For the rows of docs/measured.md: GENBA_FIGURES=build/turns.jsonl COMPARISONS=200 PARTS=turns make bench, then
python make/measured.py build/turns.jsonl.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

from row import Row

COMPARISONS = int(os.environ.get("COMPARISONS") or 100)
RUNS = 30
# Some 8 ms, most of it in the kernel and the linker.
START = "-S -c pass"
# The planted difference is one of sleeping: it is as large as its numbers say, whatever the processor does.
SHORTER, LONGER = "sleep 0.03", "sleep 0.0309"
BESIDE_ROUNDS = 6


def rows(options: Namespace, folder: Path) -> list[Row]:
    start = f"{options.python} {START}"
    found = [differing("bench: equal commands that seem to differ", options, folder, (start, start))]
    found.append(differing("bench: a difference of 3 % that is shown", options, folder, (SHORTER, LONGER)))
    if shutil.which("hyperfine"):
        found += beside_hyperfine(options, folder, (start, "seq 100000"))
    return found


def differing(goal: str, options: Namespace, folder: Path, commands: tuple[str, str]) -> Row:
    relatives = [relative(options, folder, commands) for _ in range(COMPARISONS)]
    widths = [(one["high"] - one["low"]) / 2 * 100 for one in relatives]
    yardstick = f"{RUNS} rounds each; the median interval is ± {statistics.median(widths):.1f} %"
    # A count says nothing without the number that it is of, which docs/measured.md shows, too.
    return Row(goal, sum(one["shown"] for one in relatives), f"of {COMPARISONS}", yardstick=yardstick)


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


def measured(tool: list[str], file: Path, *commands: str) -> list[dict]:
    command = [*tool, "--export-json", str(file), *commands]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)} ended with {done.returncode}\n{done.stderr}")
    return json.loads(file.read_text())["results"]
