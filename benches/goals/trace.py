"""`genba trace` beside `python -m cProfile`: the same programs under both and under neither, in turns, as wall time.

Owns: three programs: many short Python calls, many calls of C, and both with generators. Settings: none.
"""

import os
import statistics
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

from row import Row

ROUNDS = 5
RATIO_MAX = 0.6
PROGRAMS = {
    "Python calls": "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nf(25)\n",
    "C calls": "found = []\nfor number in range(400_000):\n    found.append(len(str(number)))\n",
    "generators": (
        "def numbers(n):\n    for number in range(n): yield number\n"
        "def double(number): return number * 2\n"
        "sum(abs(double(number)) for _ in range(10) for number in numbers(20_000))\n"
    ),
}


def rows(options: Namespace, folder: Path) -> list[Row]:
    found = []
    for name, text in PROGRAMS.items():
        program = folder / "traced.py"
        program.write_text(text)
        out = str(folder / "traced.prof")
        ways = {
            "bare": [options.python, str(program)],
            "cProfile": [options.python, "-m", "cProfile", "-o", out, str(program)],
            "genba": [options.genba, "trace", "--quiet", "--force", "-o", out, "--python", options.python, str(program)],
        }
        taken: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(ROUNDS):
            for way, command in ways.items():
                taken[way].append(seconds(command))
        bare, theirs, ours = (statistics.median(taken[way]) for way in ways)
        # What each adds to the program, its own start included.
        yardstick = f"added {ours - bare:.3f} s, cProfile {theirs - bare:.3f} s, the program alone {bare:.3f} s"
        found.append(Row(f"trace: {name}, added time beside cProfile's", (ours - bare) / (theirs - bare), "×", RATIO_MAX, yardstick))
    return found


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "GENBA_SETTINGS": "none"})
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)} ended with {done.returncode}\n{done.stderr}")
    return time.perf_counter() - began
