"""Whole commands beside each other: wall time, CPU with all children, largest memory, from start to end, by `genba bench` itself;
and other tools that measure commands.

Owns: what is asked of them, and how often one may claim a difference between equal commands. Never: goes on when a command fails: an absolute goal
without its yardstick is none.
"""

import json
import math
import os
import shlex
import subprocess
import sys
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

import medians
from medians import Median

# Of equal commands that part may seem to differ.
BY_CHANCE = 0.05


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


def beside(options: Namespace, commands: dict[str, list[str]], rounds: int, folder: Path, *, prepared: dict[str, str] | None = None, environment: dict[str, str] | None = None) -> Beside:
    """In turns, after a run of each that does not count. `prepared`: of each command, what a shell runs before each run of it."""
    out = folder / "beside.json"
    words = [options.genba, "bench", "--style", "none", "-N", "--warmup", "1", "--runs", str(rounds), "--export-json", str(out)]
    for name, command in commands.items():
        words += ["--command-name", name, *(["--prepare", prepared[name]] if prepared else []), shlex.join(command)]
    # What a developer has set for himself is not measured.
    environment = {**os.environ, **(environment or {}), "GENBA_SETTINGS": "none"}
    done = subprocess.run(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return Beside({one["command"]: used(one) for one in json.loads(out.read_text())["results"]})


def used(result: dict) -> list[Used]:
    more = result["genba"]
    times = zip(result["times"], more["user_times"], more["system_times"], result["memory_usage_byte"], strict=True)
    return [Used(int(wall * 1e9), int((user + system) * 1e9), memory) for wall, user, system, memory in times]


def claims_by_chance(comparisons: int) -> int:
    """Five standard deviations of such a count above what is expected."""
    expected = BY_CHANCE * comparisons
    return int(expected + 5 * math.sqrt(expected * (1 - BY_CHANCE)))


def must_run(command: list[str]) -> None:
    # What a developer has set for himself is not measured.
    done = subprocess.run(command, env={**os.environ, "GENBA_SETTINGS": "none"}, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {shlex.join(command)} ended with {done.returncode}\n{done.stderr}")
