"""Start-up: what `genba run` adds to `python -c pass`, from start to end, beside what -X importtime adds."""

from argparse import Namespace
from pathlib import Path

import commands
import recordings
from row import Row

ADDED_MS_MAX = 15


def rows(options: Namespace, folder: Path) -> list[Row]:
    recording = folder / "pass.genba"
    compared = commands.beside(
        {
            "bare": [options.python, "-c", "pass"],
            "importtime": [options.python, "-X", "importtime", "-c", "pass"],
            "genba": [options.genba, "run", "--quiet", "--force", "-o", str(recording), options.python, "-c", "pass"],
        },
        options.rounds,
        options.seed,
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
    # What of it the program itself lasts longer; the rest is genba's, before and after: names of C functions above all.
    program_ms = meta_wall_ms(options.genba, recording)
    bare_ms = compared.median("bare", "wall_ns", 1e6).middle
    goal = "start-up: of which until the program ended (one run)"
    found.append(Row(goal, program_ms - bare_ms, "ms", yardstick=f"bare {bare_ms:.1f} ms", ratio=program_ms / bare_ms))
    return found


def meta_wall_ms(genba: str, recording: Path) -> float:
    return recordings.meta(genba, recording)["wall_ns"] / 1e6
