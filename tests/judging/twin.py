"""The slow twin (twin/): a sampler that stops the program with ptrace, reads everything from outside, and lets it go on.

Owns: how it is called on a program that genba records at the same time, and the test of two distributions against each other.
Never: runs inside a chroot; the twin looks in by the process number.
"""

import json
import random
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from recording import REPOSITORY, Run, Workshop

TWIN = REPOSITORY / "target/debug/genba-twin"
SIGMAS = 5
PERMUTATIONS = 200
Distribution = dict[str, int]


@dataclass
class Watched:
    """What genba and the twin saw of the same process in the same time: stacks above the frame `under`."""

    run: Run
    by_genba: Distribution
    by_twin: Distribution
    summary: dict[str, Any]


def twin(*arguments: str | Path) -> str:
    assert TWIN.exists(), f"no {TWIN}: make twin"
    done = subprocess.run([str(TWIN), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, f"genba-twin {' '.join(map(str, arguments))}: {done.returncode}\n{done.stderr}"
    return done.stdout


def watch(
    workshop: Workshop, program: str, *, under: str, stops: int, seed: int,
    flags: tuple[str, ...] = (), environment: dict[str, str] | None = None,
) -> Watched:
    """Records `program` while the twin watches it. It prints `ready PID` and runs until SIGTERM."""
    place, interpreter = workshop.place, workshop.interpreter
    name = f"recording-{len(workshop.runs)}.genba"
    process = workshop.start([interpreter.path, program], ["-o", f"{place.inside}/{name}", *flags], {"PYTHONHASHSEED": "0", **(environment or {})})
    assert process.stdout is not None
    word, _, pid = process.stdout.readline().partition(" ")
    assert word == "ready", f"the program did not start\n{process.communicate()}"
    summary = place.outside / "summary.json"
    command = ["watch", pid.strip(), "--python", interpreter.minor, "--stops", str(stops), "--seed", str(seed)]
    if interpreter.has_tail_calls:
        command += ["--instructions", "apart"]
    try:
        text = twin(*command, "--under", under, "--summary", summary)
    finally:
        subprocess.run(["kill", f"-{signal.SIGTERM.value}", pid.strip()], check=True)
    run = workshop.finish(process, name)
    assert run.exit_code == 0, run.stderr
    seen = json.loads(summary.read_text())
    recorded = twin(
        "recording", run.recording, "--under", under, "--root", interpreter.root or "/",
        "--from-ns", str(seen["from_ns"]), "--to-ns", str(seen["to_ns"]),
    )
    return Watched(run, parse(recorded), parse(text), seen)


def parse(text: str) -> Distribution:
    rows = (line.rpartition(" ") for line in text.splitlines())
    return {stack: int(count) for stack, _, count in rows}


def without_frame(distribution: Distribution, name: str) -> Distribution:
    left: Counter[str] = Counter()
    for stack, count in distribution.items():
        left[";".join(frame for frame in stack.split(";") if frame != name)] += count
    return dict(left)


def variation(one: Distribution, other: Distribution) -> float:
    """Total variation distance of two samples: half the sum of the differences of the shares."""
    size, other_size = sum(one.values()), sum(other.values())
    shares = (abs(one.get(key, 0) / size - other.get(key, 0) / other_size) for key in one.keys() | other.keys())
    return sum(shares) / 2


def noise(one: Distribution, other: Distribution, seed: int) -> tuple[float, float]:
    """Mean and standard deviation of the distance between samples of these sizes that do come from one distribution: the two are
    pooled, shuffled and divided again."""
    chance = random.Random(seed)
    keys = sorted(one.keys() | other.keys())
    pool = [number for number, key in enumerate(keys) for _ in range(one.get(key, 0) + other.get(key, 0))]
    size, other_size = sum(one.values()), sum(other.values())
    distances = []
    for _ in range(PERMUTATIONS):
        drawn = [0] * len(keys)
        for number in chance.sample(pool, size):
            drawn[number] += 1
        whole = (one.get(key, 0) + other.get(key, 0) for key in keys)
        parts = (abs(here / size - (both - here) / other_size) for here, both in zip(drawn, whole, strict=True))
        distances.append(sum(parts) / 2)
    return fmean(distances), stdev(distances)


def largest_differences(one: Distribution, other: Distribution, count: int = 8) -> str:
    """The stacks that differ most, in standard deviations of their own difference."""
    size, other_size = sum(one.values()), sum(other.values())

    def sigmas(key: str) -> float:
        pooled = (one.get(key, 0) + other.get(key, 0)) / (size + other_size)
        difference = one.get(key, 0) / size - other.get(key, 0) / other_size
        return difference / sqrt(pooled * (1 - pooled) * (1 / size + 1 / other_size))

    worst = sorted(one.keys() | other.keys(), key=lambda key: -abs(sigmas(key)))[:count]
    rows = (f"{sigmas(key):+.1f} σ  genba {one.get(key, 0)}, twin {other.get(key, 0)}  {key}" for key in worst)
    return f"of {size} and {other_size} samples\n" + "\n".join(rows)
