"""`genba trace` beside `python -m cProfile`: the same programs under both, under other tracers and under neither, in turns, as wall time.

Owns: three programs: many short Python calls, many calls of C, and both with generators; and a fourth whose shares every way but the sampler moves.
The works of the bench's table are measured beside cProfile and alone, too. Most of them call little, so that what a tracer adds is less than what runs
differ by: of each it is told how long the whole run takes. On 3.11, where cProfile and genba are profile functions, one that does nothing is
measured, too.
Settings: PYTHON, as for all parts: each figure names its version. A peer that is not there, or has another version, is said, and not measured.
"""

import json
import marshal
import os
import random
import statistics
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

import commands as timed
import machine
import ways
import works
from row import Row

ROUNDS = 9
ROUNDS_OF_WORKS = 5
ROUNDS_OF_SHARES = 5
RATIO_MAX = 0.6
# Of whole runs: no work takes longer than under cProfile.
WHOLE_RATIO_MAX = 1.0
RESAMPLES = 2_000
PROGRAMS = {
    "Python calls": "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nf(28)\n",
    "C calls": "found = []\nfor number in range(1_600_000):\n    found.append(len(str(number)))\n",
    "generators": (
        "def numbers(n):\n    for number in range(n): yield number\n"
        "def double(number): return number * 2\n"
        "sum(abs(double(number)) for _ in range(40) for number in numbers(20_000))\n"
    ),
}
# Functions of every kind: many short calls, no calls, calls of C.
MIXED = """
def leaf(number): return number + 1
def calls():
    total = 0
    for _ in range(1_500_000): total = leaf(total)
def loop():
    total = 0
    for number in range(6_000_000): total += number & 7
def in_c():
    return len(sorted([str(number) for number in range(800_000)]))
calls(), loop(), in_c()
"""
OWN = ("<module>", "leaf", "calls", "loop", "in_c")
SAMPLED = "genba run"
# A profile function as cProfile and genba have it on 3.11. The interpreter makes a frame object for each call before it calls one.
EMPTY = "int empty(void *own, void *frame, int what, void *argument) { return 0; }\n"
EMPTY_ONE = "an empty profile function"
UNDER_EMPTY = """
import ctypes, sys
empty = ctypes.CDLL(sys.argv[1]).empty
sys.argv[:] = sys.argv[2:]
with open(sys.argv[0]) as file: code = compile(file.read(), sys.argv[0], "exec")
ctypes.pythonapi.PyEval_SetProfile(empty, None)
exec(code, {"__name__": "__main__"})
"""


def rows(options: Namespace, folder: Path) -> list[Row]:
    version = machine.minor(options.python)
    found = [row for name, text in PROGRAMS.items() for row in costs(options, folder, f"trace on {version}: {name}", text)]
    found += [whole(options, folder, f"trace on {version}: {name}", name) for name in works_here()]
    return found + distortions(options, folder, version)


def costs(options: Namespace, folder: Path, name: str, text: str) -> list[Row]:
    program = folder / "traced.py"
    program.write_text(text)
    others = {**at_least(options, folder, program), **peers(options, folder, program)}
    taken = in_turns(options, folder, {"bare": [options.python, str(program)], **both(options, folder, program), **others}, ROUNDS)
    bare, theirs, ours = (statistics.median(taken[way]) for way in ("bare", "cProfile", "genba"))
    low, high = interval(taken, "genba")
    # What each adds to the program, its own start included.
    yardstick = f"{low:.2f} to {high:.2f}; added {ours - bare:.3f} s, cProfile {theirs - bare:.3f} s, the program alone {bare:.3f} s"
    found = [Row(f"{name}, added time beside cProfile's", ratio(taken, "genba"), "×", RATIO_MAX, yardstick)]
    for way in others:
        low, high = interval(taken, way)
        found.append(Row(f"{name}, added time of {way} beside cProfile's", ratio(taken, way), "×", yardstick=f"{low:.2f} to {high:.2f}"))
    return found


def whole(options: Namespace, folder: Path, name: str, work: str) -> Row:
    words = (work, str(folder / "work.json"))
    commands = {"alone": [options.python, ways.WORKLOAD, *words], **both(options, folder, Path(ways.WORKLOAD), *words)}
    # A work imports one of these.
    taken = in_turns(options, folder, commands, ROUNDS_OF_WORKS, {"PYTHONPATH": os.pathsep.join(ways.packages())})
    alone, ours, theirs = (statistics.median(taken[way]) for way in ("alone", "genba", "cProfile"))
    beside = lambda rounds: statistics.median([taken["genba"][at] / taken["cProfile"][at] for at in rounds])
    low, high = drawn(beside, ROUNDS_OF_WORKS)
    yardstick = f"{low:.2f} to {high:.2f}; {ours:.3f} s, cProfile {theirs:.3f} s, alone {alone:.3f} s"
    return Row(f"{name}, run time beside cProfile's", beside(range(ROUNDS_OF_WORKS)), "×", WHOLE_RATIO_MAX, yardstick)


def works_here() -> list[str]:
    found = [name for name in works.WORKS if name not in works.FOR_GOALS]
    if "imports" in found and not (ways.PEERS / "packages/sympy").exists():
        print("imports is not measured: no sympy in build/peers/packages: make/prepare.sh peers")
        found.remove("imports")
    return found


def both(options: Namespace, folder: Path, program: Path, *words: str) -> dict[str, list[str]]:
    """genba, and what it is beside."""
    out = str(folder / "traced.prof")
    return {"cProfile": [options.python, "-m", "cProfile", "-o", out, str(program), *words], "genba": [*traced(options, folder, program), *words]}


def in_turns(options: Namespace, folder: Path, commands: dict[str, list[str]], rounds: int, environment: dict[str, str] | None = None) -> dict[str, list[float]]:
    """Wall time of each run, in seconds."""
    used = timed.beside(options, commands, rounds, folder, environment=environment).used
    return {way: [one.wall_ns / 1e9 for one in runs] for way, runs in used.items()}


def traced(options: Namespace, folder: Path, program: Path) -> list[str]:
    out = str(folder / "traced.prof")
    return [options.genba, "trace", "--quiet", "--force", "-o", out, "--python", options.python, str(program)]


def at_least(options: Namespace, folder: Path, program: Path) -> dict[str, list[str]]:
    """What CPython 3.11 itself takes for calling a profile function, whatever that does: no tracer of calls there costs less."""
    if machine.minor(options.python) != "CPython 3.11":
        return {}
    source, library, begin = (folder / name for name in ("empty_profile.c", "empty_profile.so", "under_empty.py"))
    source.write_text(EMPTY)
    begin.write_text(UNDER_EMPTY)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return {EMPTY_ONE: [options.python, str(begin), str(library), str(program)]}


def peers(options: Namespace, folder: Path, program: Path) -> dict[str, list[str]]:
    """By their own interpreters, all of one version: beside cProfile of another one their figures would say nothing."""
    version = machine.minor(options.python)
    found = {
        "yappi": ["-m", "yappi", "-c", "wall", "-f", "pstat", "-o", str(folder / "yappi.prof"), str(program)],
        "viztracer": ["-m", "viztracer", "--quiet", "-o", str(folder / "viztracer.json"), "--", str(program)],
        # It samples, every millisecond.
        "pyinstrument": ["-m", "pyinstrument", "-i", "0.001", "-o", str(folder / "pyinstrument.txt"), str(program)],
    }
    for way in list(found):
        found[way].insert(0, ways.venv(way))
        if missing := ways.peer(way, found[way]).missing:
            print(f"{way} is not measured: {missing}")
            del found[way]
        elif (own := machine.minor(found[way][0])) != version:
            print(f"{way} is not measured: it has {own}, and cProfile runs on {version}")
            del found[way]
    return found


def ratio(taken: dict[str, list[float]], way: str, rounds: Sequence[int] | None = None) -> float:
    bare, theirs, ours = (
        statistics.median(times if rounds is None else [times[at] for at in rounds]) for times in (taken["bare"], taken["cProfile"], taken[way])
    )
    return (ours - bare) / (theirs - bare)


def interval(taken: dict[str, list[float]], way: str) -> tuple[float, float]:
    """Of the ratio."""
    return drawn(lambda rounds: ratio(taken, way, rounds), ROUNDS)


def drawn(figure: Callable[[Sequence[int]], float], rounds: int) -> tuple[float, float]:
    """The interval of a figure with 95 %: by drawing rounds again and again, each with all its ways."""
    chance = random.Random(0)
    found = sorted(figure(chance.choices(range(rounds), k=rounds)) for _ in range(RESAMPLES))
    return found[RESAMPLES * 25 // 1000], found[RESAMPLES * 975 // 1000]


def distortions(options: Namespace, folder: Path, version: str) -> list[Row]:
    program = folder / "mixed.py"
    program.write_text(MIXED)
    rounds = [shares_by_way(options, folder, program) for _ in range(ROUNDS_OF_SHARES)]
    return [distortion(rounds, way, version) for way in ("genba trace", "cProfile")]


def distortion(rounds: Sequence[dict[str, dict[str, float]]], way: str, version: str) -> Row:
    """How far the share of the function that is moved most is from what `genba run` sampled in the same round: why one should sample."""

    def moved(name: str, chosen: Sequence[int]) -> float:
        return statistics.median([rounds[at][way][name] - rounds[at][SAMPLED][name] for at in chosen])

    def share(of: str, name: str) -> float:
        return statistics.median([one[of][name] for one in rounds]) * 100

    everyone = range(len(rounds))
    most = max(OWN, key=lambda name: abs(moved(name, everyone)))
    points = lambda chosen: abs(moved(most, chosen)) * 100
    low, high = drawn(points, len(rounds))
    each = ", ".join(f"{name} {share(SAMPLED, name):.0f} → {share(way, name):.0f} %" for name in OWN)
    # Another run may move another function most: the figure keeps its name.
    goal = f"trace on {version}: how far {way} moves a function's share of the time"
    return Row(goal, points(everyone), "points", yardstick=f"{low:.1f} to {high:.1f}; {most} is moved most; {each}")


def shares_by_way(options: Namespace, folder: Path, program: Path) -> dict[str, dict[str, float]]:
    recording = folder / "mixed.genba"
    run([options.genba, "run", "--quiet", "--force", "-o", str(recording), options.python, str(program)])
    report = [options.genba, "report", str(recording), "--by", "function", "--weight", "wall", "--format", "json", "--limit", "0"]
    said = json.loads(subprocess.run(report, capture_output=True, text=True, check=True).stdout)
    found = {SAMPLED: shares({row["function"]: row["wall_ns"] for row in said["rows"] if row.get("file") == str(program)})}
    commands = both(options, folder, program)
    for way, command in {"genba trace": commands["genba"], "cProfile": commands["cProfile"]}.items():
        run(command)
        found[way] = shares(own_times(folder / "traced.prof", program))
    return found


def own_times(prof: Path, program: Path) -> dict[str, float]:
    """As a sampler without C functions has them: what is written in C counts for its caller."""
    found = dict.fromkeys(OWN, 0.0)
    for (file, _, name), (_, _, own_s, _, callers) in marshal.loads(prof.read_bytes()).items():
        if file == str(program):
            # Until 3.11 a comprehension is a function.
            found["in_c" if name == "<listcomp>" else name] += own_s
        elif file == "~":
            for (file_of, _, name_of), numbers in callers.items():
                if file_of == str(program):
                    found[name_of] += numbers[2]
    return found


def shares(times: dict[str, float]) -> dict[str, float]:
    total = sum(times.values())
    return {name: times.get(name, 0) / total for name in OWN}


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "GENBA_SETTINGS": "none"})
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)} ended with {done.returncode}\n{done.stderr}")
