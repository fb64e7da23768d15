"""Start-up: what `genba run` adds to short programs, from start to the end of its report, beside what -X importtime adds.

Owns: four programs. `python -c pass`, with everything cached; a shell that starts it ten times, for what a process costs; imports of pandas and of
sympy with an empty cache folder, again, and with a cache folder that earlier rounds have filled, beside what signals at genba's first rate add that do nothing.
"""

import shlex
from argparse import Namespace
from pathlib import Path

import commands
import medians
import recordings
import ways
from commands import Beside
from row import Row

ADDED_MS_MAX = 15
# Of pandas, which is a hundred libraries in C. Of sympy, which is Python alone, as much as of a whole program.
PANDAS_ADDED_MS_MAX = 30
PROGRAM_ADDED_MS_MAX, PROGRAM_TIMES_MAX = 15, 1.03
PROCESS_CPU_MS_MAX = 10
PROCESSES = 10
# Each with an empty cache folder, which takes seconds.
ROUNDS_OF_IMPORT_MAX = 10
# A second, as genba begins.
RATE = 1_000
IMPORTED = {"pandas": ways.PEERS / "pandas", "sympy": ways.PEERS / "packages"}


def rows(options: Namespace, folder: Path) -> list[Row]:
    imports = [row for package in IMPORTED for row in of_import(options, folder, package)]
    return [*of_pass(options, folder), of_a_process(options, folder), *imports]


def of_pass(options: Namespace, folder: Path) -> list[Row]:
    recording = folder / "pass.genba"
    program = [options.python, "-c", "pass"]
    compared = commands.beside(
        options,
        {
            "bare": program,
            "importtime": [options.python, "-X", "importtime", "-c", "pass"],
            "genba": recorded(options, recording, program),
        },
        options.rounds,
        folder,
    )
    found = []
    for figure, name in (("wall_ns", "wall"), ("cpu_ns", "CPU")):
        bare = compared.median("bare", figure, 1e6)
        traced = compared.added("importtime", "bare", figure, 1e6)
        added = compared.added("genba", "bare", figure, 1e6)
        yardstick = f"bare {bare.middle:.1f} ms, -X importtime + {traced.middle:.1f} ms"
        ratio = compared.ratio("genba", "bare", figure).middle
        goal = f"start-up: {name} added to python -c pass"
        found.append(Row(goal, added.middle, "ms", bound=ADDED_MS_MAX, yardstick=yardstick, ratio=ratio))
    found.append(until_the_end(options, recording, compared, "start-up: of which until the program ended (one run)"))
    return found


def of_a_process(options: Namespace, folder: Path) -> Row:
    """What a recording of ten processes costs beyond one of one process, a process: the agent in each, and its part of the reading."""
    started = {count: ["sh", "-c", f"for _ in {'x ' * count}; do {options.python} -c pass; done"] for count in (1, PROCESSES)}
    compared = commands.beside(
        options,
        {
            **{f"bare {count}": command for count, command in started.items()},
            **{f"genba {count}": recorded(options, folder / f"{count}.genba", command) for count, command in started.items()},
        },
        options.rounds,
        folder,
    )
    bare, genba = (a_process_ms(compared, way) for way in ("bare", "genba"))
    added = medians.median([one - other for one, other in zip(genba, bare, strict=True)])
    bare_ms = medians.median(bare).middle
    goal = "start-up: CPU added by each further process"
    ratio = (bare_ms + added.middle) / bare_ms
    return Row(goal, added.middle, "ms", bound=PROCESS_CPU_MS_MAX, yardstick=f"bare {bare_ms:.1f} ms", ratio=ratio)


def a_process_ms(compared: Beside, way: str) -> list[float]:
    pairs = zip(compared.used[f"{way} {PROCESSES}"], compared.used[f"{way} 1"], strict=True)
    return [(many.cpu_ns - one.cpu_ns) / (PROCESSES - 1) / 1e6 for many, one in pairs]


def of_import(options: Namespace, folder: Path, package: str) -> list[Row]:
    if not (IMPORTED[package] / package).exists():
        print(f"import {package} is not measured: make/prepare.sh peers has not installed it")
        return []
    program = [options.python, "-c", f"import {package}"]
    # An installed package lies in a folder of this name; what lies elsewhere is the user's own.
    own = folder / package
    packages = own / "site-packages"
    own.mkdir()
    packages.symlink_to(IMPORTED[package])

    def within(cache: Path, command: list[str], **more: str) -> list[str]:
        return ["env", f"PYTHONPATH={packages}", f"XDG_CACHE_HOME={cache}", *(f"{name}={value}" for name, value in more.items()), *command]

    cache, again = own / "cache", own / "again.genba"
    bare, first = within(cache, program), within(cache, recorded(options, own / "first.genba", program))
    # The first recording of each round finds the cache folder empty, the second what the first left there. A later one finds what all earlier
    # rounds have left: hardly a sample is in a library that is new to genba.
    emptied, kept = shlex.join(["rm", "-rf", str(cache)]), shlex.join(["sh", "-c", f"rm -rf {shlex.quote(str(cache))} && {shlex.join(first)} >/dev/null 2>&1"])
    compared = commands.beside(
        options,
        {
            "bare": bare,
            "empty": within(cache, program, **ways.preloaded(ways.empty_handler(own), RATE)),
            "first": first,
            "second": within(cache, recorded(options, again, program)),
            "later": within(own / "filled", recorded(options, own / "later.genba", program)),
        },
        min(options.rounds, ROUNDS_OF_IMPORT_MAX),
        folder,
        prepared={"bare": "true", "empty": "true", "first": emptied, "second": kept, "later": "true"},
    )
    bare_ms = compared.median("bare", "wall_ns", 1e6).middle
    bound = PANDAS_ADDED_MS_MAX if package == "pandas" else max(PROGRAM_ADDED_MS_MAX, bare_ms * (PROGRAM_TIMES_MAX - 1))
    found = [
        Row(
            f"start-up: {kind} added to import {package}, {name} run",
            compared.added(name, "bare", figure, 1e6).middle,
            "ms",
            bound=bound if (figure, name) == ("wall_ns", "second") else None,
            yardstick=beside_empty_handler(compared, figure),
            ratio=compared.ratio(name, "bare", figure).middle,
        )
        for figure, kind in (("wall_ns", "wall"), ("cpu_ns", "CPU"))
        for name in ("first", "second", "later")
    ]
    return [*found, until_the_end(options, again, compared, f"start-up: of which until import {package} ended (one second run)")]


def beside_empty_handler(compared: Beside, figure: str) -> str:
    """What interrupting the program at that rate adds by itself."""
    bare, empty = compared.median("bare", figure, 1e6), compared.added("empty", "bare", figure, 1e6)
    return f"bare {bare.middle:.0f} ms, an empty handler + {empty.middle:.1f} ms"


def until_the_end(options: Namespace, recording: Path, compared: Beside, goal: str) -> Row:
    """What of the added time the program itself lasts longer; the rest is genba's, before and after."""
    program_ms = recordings.meta(options.genba, recording)["wall_ns"] / 1e6
    bare_ms = compared.median("bare", "wall_ns", 1e6).middle
    return Row(goal, program_ms - bare_ms, "ms", yardstick=f"bare {bare_ms:.1f} ms", ratio=program_ms / bare_ms)


def recorded(options: Namespace, recording: Path, program: list[str]) -> list[str]:
    """As it is typed, with the report at the end."""
    return [options.genba, "run", "--force", "-o", str(recording), *program]
