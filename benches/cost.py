"""`make bench`: what genba costs, as ratios of CPU time, beside a sampler that does nothing.

Three ways of running the same fixed work, interleaved in a seeded random order within each round: alone, with an empty
signal handler at 1 kHz (empty_handler.c), with genba at 1 kHz. Every ratio is taken within its round, against the run alone of
that round; printed are the median and the interval that holds it with at least 95 % (order statistics, no distribution assumed).
Owns: the runs and the arithmetic. Never: leaves a run out.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from math import comb
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORK = ("bytes_slice", "pure_python", "small_c_calls")
WAYS = ("alone", "empty handler", "genba")
LIMIT = 1.10


def main() -> int:
    options = arguments()
    print(f"{processor()}, {os.cpu_count()} CPUs, Linux {platform.release()}, {version(options.python)}, seed {options.seed}")
    print(f"{options.rounds} rounds, interleaved; CPU time of the whole process against the run alone of the same round\n")
    print(f"{'work':<16}{'alone':>9}{'empty handler':>24}{'genba 1 kHz':>24}{'genba / empty':>24}{'handler':>12}")
    slow = []
    with tempfile.TemporaryDirectory(prefix="genba-bench-") as folder:
        library = build_yardstick(Path(folder))
        for work in WORK:
            bench = Bench(options, Path(folder), library, work)
            rounds = bench.rounds()
            ratio = line(work, rounds, bench.handler_ns())
            if ratio > LIMIT:
                slow.append(f"{work}: {ratio:.3f}")
    print("\nhandler: time of one run of genba's signal handler, measured inside it (mean)")
    if slow:
        print(f"over {LIMIT} × the empty handler: {', '.join(slow)}")
    return 0


class Bench:
    def __init__(self, options: argparse.Namespace, folder: Path, library: Path, work: str) -> None:
        self.options = options
        self.folder = folder
        self.library = library
        self.work = work
        self.recordings: list[Path] = []

    def rounds(self) -> list[dict[str, int]]:
        chance = random.Random(f"{self.options.seed} {self.work}")
        self.cpu_ns("alone")  # the first run warms the file cache and counts nowhere
        rounds = []
        for _ in range(self.options.rounds):
            order = chance.sample(WAYS, len(WAYS))
            rounds.append({way: self.cpu_ns(way) for way in order})
        return rounds

    def cpu_ns(self, way: str) -> int:
        command = [self.options.python, str(HERE / "workload.py"), self.work]
        environment = dict(os.environ)
        if way == "empty handler":
            environment["LD_PRELOAD"] = str(self.library)
        if way == "genba":
            recording = self.folder / f"{self.work}-{len(self.recordings)}.genba"
            self.recordings.append(recording)
            command = [self.options.genba, "run", "--quiet", "--rate", "1000", "-o", str(recording), *command]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"error: {way} of {self.work} ended with {done.returncode}\n{done.stderr}")
        return int(done.stdout.split()[-1])

    def handler_ns(self) -> float:
        total_ns = runs = 0
        for recording in self.recordings:
            command = [self.options.genba, "export", str(recording), "--to", "json", "-o", "-"]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            for process in json.loads(text)["processes"]:
                total_ns += process["handler_ns"]
                runs += process["handler_runs"]
        return total_ns / runs


def line(work: str, rounds: list[dict[str, int]], handler_ns: float) -> float:
    alone_s = statistics.median(one["alone"] for one in rounds) / 1e9
    empty = [one["empty handler"] / one["alone"] for one in rounds]
    genba = [one["genba"] / one["alone"] for one in rounds]
    ratio = [one["genba"] / one["empty handler"] for one in rounds]
    cells = "".join(f"{median_interval(values):>24}" for values in (empty, genba, ratio))
    print(f"{work:<16}{alone_s:>7.2f} s{cells}{handler_ns / 1000:>9.2f} µs", flush=True)
    return statistics.median(ratio)


def median_interval(values: list[float]) -> str:
    low, high = interval(sorted(values))
    return f"{statistics.median(values):.3f} [{low:.3f}, {high:.3f}]"


def interval(values: list[float]) -> tuple[float, float]:
    """The narrowest pair of order statistics that holds the median with at least 95 %; the extremes when there are too few."""
    count = len(values)
    for cut in range(count // 2, 0, -1):
        outside = 2 * sum(comb(count, below) for below in range(cut)) / 2**count
        if outside <= 0.05:
            return values[cut - 1], values[count - cut]
    return values[0], values[-1]


def build_yardstick(folder: Path) -> Path:
    library = folder / "empty_handler.so"
    source = HERE / "empty_handler.c"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-pthread", str(source), "-o", str(library), "-ldl"], check=True)
    return library


def arguments() -> argparse.Namespace:
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    newest = next((path for minor in ("3.13", "3.12", "3.11") for path in sorted(pyenv.glob(f"{minor}.*/bin/python3"))), None)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=str(newest or "python3"), help="interpreter that does the work")
    parser.add_argument("--genba", default=str(HERE.parent / "target/release/genba"), help="the command")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seed", type=int, default=20261120)
    return parser.parse_args()


def processor() -> str:
    names = [row.partition(": ")[2] for row in Path("/proc/cpuinfo").read_text().splitlines() if row.startswith("model name")]
    return names[0] if names else platform.machine()


def version(python: str) -> str:
    code = "import platform; print(platform.python_implementation(), platform.python_version())"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
