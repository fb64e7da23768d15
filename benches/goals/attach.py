"""What it costs a program that somebody attaches to it: how long its threads are stopped, how much slower it is meanwhile, and what `genba dump` takes.

Owns: the bounds, and what is compared. Never: believes a tool about its own stops: a thread of the program measures them, for all tools alike (works/stops.c).
What the thread waited for a CPU is told, and not judged: on a busy machine it is most of a stop, and it is the machine's. Nor is a worst value judged: it is one run.
Settings: ATTACHES (200), DUMPS (20), and ROUNDS for the slow-down.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import medians
import newest
import ways
from attaching import slowed, stopped
from attaching.stopped import Program, Stops
from row import Row

ATTACHES = 200
DUMPS = 20
# Of a recording of py-spy's, which takes one second at least, there is one for so many attaches.
ATTACHES_A_RECORDING = 20
# 3.15 is a second opinion: a part of the attaches.
ATTACHES_ON_NEWEST = 1 / 4
# And so is a program with many threads, which are asked for their filters.
ATTACHES_TO_CROWD = 1 / 10
CROWD = 1_000
# Shorter ones may be over before the agent has answered, where the CPUs are busy.
DURATION = "200ms"
WORKS = ("pure_python", "threads_8")
ROUNDS_MAX = 10
ROUNDS_ON_NEWEST_MAX = 5
# Both are genba at the same rate; the rest is the noise of a median of ten.
BESIDE_RUN_MAX = 1.02
HELD = re.compile(r"held for ([\d.,]+) (ns|µs|ms|s)\b")
UNIT_MS = {"ns": 1e-6, "µs": 1e-3, "ms": 1, "s": 1_000}
SPY = str(ways.PEERS / "py-spy/bin/py-spy")


def rows(options: Namespace, folder: Path) -> list[Row]:
    attaches, dumps = int(os.environ.get("ATTACHES") or ATTACHES), int(os.environ.get("DUMPS") or DUMPS)
    spy = SPY if Path(SPY).exists() else None
    if spy is None:
        print("\nbeside py-spy: not run: make/prepare.sh peers has not been run")
    with stopped.here(options.python, folder) as program:
        found = of_attaching(options, folder, program, attaches, spy)
        found += of_dumping(options, program, dumps, "py-spy dump", [spy, "dump", "--json", "--pid", program.pid] if spy else None)
    found += of_crowd(options, folder, max(1, round(attaches * ATTACHES_TO_CROWD)))
    for work in WORKS:
        found += of_slowing(work, options, folder, spy)
    return found + on_newest(options, folder, max(1, round(attaches * ATTACHES_ON_NEWEST)), dumps)


def of_attaching(options: Namespace, folder: Path, program: Program, attaches: int, spy: str | None) -> list[Row]:
    genba, said_ms, recorded = Stops([]), [], Stops([])
    record = [str(spy), "record", "-d", "1", "-f", "raw", "-o", str(folder / "attach.raw"), "--pid", program.pid]
    for number in range(attaches):
        said_ms.append(held_ms(attach(options, folder, program)))
        genba.runs.append(program.stops())
        if spy and number % ATTACHES_A_RECORDING == 0:
            subprocess.run(record, check=True, capture_output=True)
            recorded.runs.append(program.stops())
    return [
        stop_row("attach: a thread is stopped, in all", genba, "py-spy record, of one second", recorded),
        worst_row("attach: a thread is stopped", genba, "py-spy record", recorded),
        Row(f"attach: all threads are held, as genba says, median of {attaches:,}", statistics.median(said_ms), "ms", yardstick=f"worst {max(said_ms):.1f} ms"),
    ]


def of_crowd(options: Namespace, folder: Path, attaches: int) -> list[Row]:
    with stopped.here(options.python, folder, CROWD) as program:
        said_ms = [held_ms(attach(options, folder, program)) for _ in range(attaches)]
    goal = f"attach: all threads are held, as genba says, where {CROWD:,} more wait, median of {attaches:,}"
    return [Row(goal, statistics.median(said_ms), "ms", yardstick=f"worst {max(said_ms):.1f} ms")]


def attach(options: Namespace, folder: Path, program: Program) -> str:
    recording = str(folder / "attach.genba")
    command = [options.genba, "attach", program.pid, "--duration", DURATION, "-o", recording, "--force", "--source", "none"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)} ended with {done.returncode}\n{done.stderr}")
    return done.stderr


def held_ms(words: str) -> float:
    number, unit = HELD.search(words).groups()
    return float(number.replace(",", "")) * UNIT_MS[unit]


def stop_row(goal: str, own: Stops, other_name: str, other: Stops) -> Row:
    """Medians of what a run stopped the thread, beside another tool's."""
    own_ms = statistics.median(own.in_all_ms())
    words = f"{own}; {other_name}: {other if other.runs else 'not run'}"
    other_ms = statistics.median(other.in_all_ms()) if other.runs else 0
    judged = {"bound": other_ms, "ratio": own_ms / other_ms} if other_ms else {}
    return Row(f"{goal}, median of {len(own.runs):,}", own_ms, "ms", yardstick=words, **judged)


def worst_row(goal: str, own: Stops, other_name: str, other: Stops) -> Row:
    """The longest that a run stopped the thread in all, beside another tool's longest stop."""
    each_ms = other.each_ms()
    words = f"{other_name} {max(each_ms):.1f} ms, worst of {len(each_ms):,} stops" if each_ms else f"{other_name}: {other if other.runs else 'not run'}"
    return Row(f"{goal}, worst of {len(own.runs):,}", max(own.in_all_ms()), "ms", yardstick=words)


def of_dumping(options: Namespace, program: Program, dumps: int, other_name: str, other: list[str] | None, head: str = "dump") -> list[Row]:
    """In turn. `other`: a command that does the same."""
    own, own_ms, said_ms = Stops([]), [], []
    others, others_ms = Stops([]), []
    for _ in range(dumps):
        out, wall_ms = timed([options.genba, "dump", program.pid, "--format", "json"])
        own.runs.append(program.stops())
        own_ms.append(wall_ms)
        said_ms += [thread["stopped_ns"] / 1e6 for process in json.loads(out)["processes"] for thread in process["threads"] if thread["stopped_ns"] is not None]
        if other:
            others_ms.append(timed(other)[1])
            others.runs.append(program.stops())
    judged, beside = {}, f"{other_name} not run"
    if other:
        beside = f"{other_name} {statistics.median(others_ms):.1f} ms, worst {max(others_ms):.1f} ms; genba's worst {max(own_ms):.1f} ms"
        judged = {"bound": statistics.median(others_ms), "ratio": medians.ratios(own_ms, others_ms).middle}
    said = f"worst {max(said_ms):.2f} ms of {len(said_ms):,} stops, with the wait for a CPU" if said_ms else "none was stopped"
    return [
        Row(f"{head}: time, median of {dumps}", statistics.median(own_ms), "ms", yardstick=beside, **judged),
        stop_row(f"{head}: a running thread is stopped", own, other_name, others),
        Row(f"{head}: each thread, as genba says, median", statistics.median(said_ms or [0]), "ms", yardstick=said),
    ]


def timed(command: list[str]) -> tuple[str, float]:
    """Not by `genba bench`: what each run prints and how long it stopped the program belong together."""
    begin_ns = time.perf_counter_ns()
    done = subprocess.run(command, capture_output=True, text=True)
    wall_ms = (time.perf_counter_ns() - begin_ns) / 1e6
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)} ended with {done.returncode}\n{done.stderr}")
    return done.stdout, wall_ms


def of_slowing(work: str, options: Namespace, folder: Path, spy: str | None) -> list[Row]:
    costs = slowed.measure(work, options, folder, min(options.rounds, ROUNDS_MAX), spy)
    found = []
    for figure, name in (("cpu_ns", "CPU"), ("wall_ns", "wall")):
        values = {way: [cost[figure] for cost in rounds] for way, rounds in costs.items()}
        beside = [f"{way} {medians.ratios(values[way], values[slowed.ALONE])}" for way in values if way != slowed.ALONE]
        ratio = medians.ratios(values[slowed.ATTACHED], values[slowed.RUN])
        goal = f"{name} of {work} while attached, beside genba run"
        found.append(Row(goal, ratio.middle, "×", bound=BESIDE_RUN_MAX, yardstick=f"{ratio}; beside alone: {', '.join(beside)}"))
    return found


def on_newest(options: Namespace, folder: Path, attaches: int, dumps: int) -> list[Row]:
    """Beside the interpreter's own profiler, which stops nothing unless told to, and then reads what may be torn."""
    sid = Path(os.environ.get("GENBA_SID") or Path.home() / ".cache/genba/sid")
    if missing := newest.why_not(sid):
        print(f"\nattach on CPython 3.15: not run: {missing}")
        return []
    sampling = [newest.CHROOT, str(sid), newest.PYTHON, "-m", "profiling.sampling"]
    genba, free, blocking = Stops([]), Stops([]), Stops([])
    with stopped.on_newest(sid, folder) as program:
        for number in range(attaches):
            attach(options, folder, program)
            genba.runs.append(program.stops())
            if number % ATTACHES_A_RECORDING == 0:
                for flags, stops in (([], free), (["--blocking"], blocking)):
                    timed([*sampling, "attach", "-a", "-d", "1", *flags, "--collapsed", "-o", "/dev/null", program.pid])
                    stops.runs.append(program.stops())
        found = [
            stop_row("3.15: attach: a thread is stopped, in all", genba, "profiling.sampling attach --blocking, of one second", blocking),
            worst_row("3.15: attach: a thread is stopped", genba, "profiling.sampling attach --blocking", blocking),
            Row(
                "3.15: profiling.sampling attach: a thread is stopped, in all", statistics.median(free.in_all_ms()), "ms",
                yardstick=f"{free}, so what it reads of a thread that runs may be torn",
            ),
        ]
        found += of_dumping(options, program, dumps, "profiling.sampling dump", [*sampling, "dump", "-a", program.pid], "3.15: dump")
    for work in WORKS:
        found += of_slowing_on_newest(work, options, folder, sid)
    return found


def of_slowing_on_newest(work: str, options: Namespace, folder: Path, sid: Path) -> list[Row]:
    """Not judged: a profiler that reads from outside and may read what is torn slows the program only where it takes a CPU from it."""
    costs = slowed.measure_on_newest(work, options, folder, min(options.rounds, ROUNDS_ON_NEWEST_MAX), sid)
    found = []
    for figure, name in (("cpu_ns", "CPU"), ("wall_ns", "wall")):
        values = {way: [cost[figure] for cost in rounds] for way, rounds in costs.items()}
        ratios = {way: medians.ratios(values[way], values[slowed.ALONE]) for way in values}
        own = ratios[slowed.ATTACHED]
        beside = [f"{way} {ratios[way]}" for way in (slowed.SAMPLING, slowed.BLOCKING)]
        found.append(Row(f"3.15: {name} of {work} while attached, beside alone", own.middle, "×", yardstick=f"{own}; {', '.join(beside)}"))
    return found
