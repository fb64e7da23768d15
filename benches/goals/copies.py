"""What `--copies` adds to a run: the same works with and without it, interleaved, as the ratio of CPU while the work ran.

Owns: the works, beside which bytes-slice with slices of 100 kB, where every call is a large copy.
"""

from argparse import Namespace
from pathlib import Path

import medians
import runs
import table
import ways
from row import Row
from runs import Place

RATIO_MAX = 1.02


def rows(options: Namespace, folder: Path) -> list[Row]:
    without = ways.genba_way(options.genba, options.python, 1_000)
    command = [*without.command]
    command.insert(command.index("run") + 1, "--copies")
    chosen = [without, ways.Way("genba 1 kHz --copies", command)]
    found = []
    for work in options.works:
        measured = runs.measure(work, chosen, options.rounds, options.seed, Place.here(folder))
        for figure in ("cpu_ns", "wall_ns"):
            ratio = medians.ratios(*measured.both(chosen[1].name, without.name, figure))
            name = f"--copies: {table.SHOWN[figure]}, {work} (upper end)"
            found.append(Row(name, ratio.high, "×", bound=RATIO_MAX, yardstick=f"median {ratio}, beside the same without --copies"))
    return found
