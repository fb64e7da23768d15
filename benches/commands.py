"""Whole commands beside each other: wall time, CPU with all children, largest memory, from start to end.

Owns: their interleaved rounds. Never: goes on when one of them fails: an absolute goal without its yardstick is none.
"""

import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import medians
from medians import Median


@dataclass(frozen=True)
class Used:
    wall_ns: int
    cpu_ns: int
    rss_max_bytes: int


@dataclass
class Beside:
    """Name → one `Used` a round."""

    used: dict[str, list[Used]]

    def median(self, name: str, figure: str, unit: float = 1.0) -> Median:
        return medians.median([getattr(one, figure) / unit for one in self.used[name]])

    def ratio(self, name: str, yardstick: str, figure: str) -> Median:
        return medians.ratios(self._values(name, figure), self._values(yardstick, figure))

    def added(self, name: str, yardstick: str, figure: str, unit: float) -> Median:
        pairs = zip(self._values(name, figure), self._values(yardstick, figure), strict=True)
        return medians.median([(one - other) / unit for one, other in pairs])

    def _values(self, name: str, figure: str) -> list[float]:
        return [float(getattr(one, figure)) for one in self.used[name]]


def beside(commands: dict[str, list[str]], rounds: int, seed: int, folder: Path) -> Beside:
    chance = random.Random(f"{seed} {' '.join(commands)}")
    for command in commands.values():
        run(command, folder)
    used: dict[str, list[Used]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name in chance.sample(list(commands), len(commands)):
            used[name].append(run(commands[name], folder))
    return Beside(used)


def run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> Used:
    with open(folder / "stderr", "w+") as stderr:
        begin_ns = time.perf_counter_ns()
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=stderr, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        wall_ns = time.perf_counter_ns() - begin_ns
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            stderr.seek(0)
            sys.exit(f"error: {' '.join(command)} ended with {process.returncode}\n{stderr.read()}")
    return Used(wall_ns, int((used.ru_utime + used.ru_stime) * 1e9), used.ru_maxrss * 1024)
