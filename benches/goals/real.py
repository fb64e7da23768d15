"""What genba costs on what people run, at its default settings, beside other profilers.

Owns: which ways run there, that `one_cpu` has one CPU for the whole run, the bound. CPU and wall span the work, children included; for
the server CPU and time are those of a thousand requests.
"""

import shutil
from argparse import Namespace
from pathlib import Path

import medians
import runs
import table
import ways
import works
from row import Row
from runs import Measured, Place
from ways import Way

TIMES_MAX = 1.03
ROUNDS = 7
# These look at one process only, or change how children start: beside works of one process they are compared.
FOLLOWS_CHILDREN = {"py-spy"}
OF_ONE_PROCESS = {"one_cpu", "two_busy"}


def rows(options: Namespace, folder: Path) -> list[Row]:
    chosen = real_ways(options, folder)
    found = []
    print(table.head())
    for work in works.real.WORKS:
        if work == "gunicorn" and shutil.which("wrk") is None:
            print(f"{work}: not run: no wrk (make prepare, as root)")
            continue
        place = Place(folder, str(folder), prefix=("taskset", "-c", "0")) if work == "one_cpu" else Place.here(folder)
        due = [way for way in chosen if not way.is_peer or work in OF_ONE_PROCESS or way.name in FOLLOWS_CHILDREN]
        measured = runs.measure(work, due, min(options.rounds, ROUNDS), options.seed, place)
        print("\n".join(table.lines(measured, due)), flush=True)
        found += judged(measured, due)
    return found


def real_ways(options: Namespace, folder: Path) -> list[Way]:
    command = [options.genba, "run", "--quiet", "--force", "-o", "RECORDING", options.python]
    spy = str(ways.PEERS / "py-spy/bin/py-spy")
    follows = [spy, "record", "--subprocesses", "-n", "-r", "1000", "-f", "raw", "-o", "OUT", "--", ways.venv("py-spy")]
    others = [way for way in ways.peers(folder) if way.name in {"scalene", "pyinstrument"}]
    return [
        Way("alone", [options.python]),
        Way("genba", command, sees_c=True),
        ways.peer("py-spy", follows, sees_c=True, note="py-spy -n --subprocesses, asked for 1 kHz"),
        *others,
    ]


def judged(measured: Measured, due: list[Way]) -> list[Row]:
    found = []
    for figure, name in (("cpu_ns", "CPU"), ("wall_ns", "wall")):
        values = measured.both("genba", "alone", figure)
        if not values[0]:
            continue
        ratio = medians.ratios(*values)
        beside = []
        for way in (way for way in due if way.is_peer):
            theirs = measured.both(way.name, "alone", figure)
            beside.append(f"{way.name} {medians.ratios(*theirs).middle:.2f}" if theirs[0] else f"{way.name} not run")
        yardstick = f"{ratio}; {', '.join(beside)}"
        found.append(Row(f"{name} of {measured.work}, beside alone", ratio.middle, "×", bound=TIMES_MAX, yardstick=yardstick))
    return found
