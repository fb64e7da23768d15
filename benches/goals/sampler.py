"""The share of a core that genba's thread takes: with a thousand threads, with two hundred in a server that nobody calls, and
with a hundred idle ones beside one that works, for which nothing was promised."""

from argparse import Namespace
from pathlib import Path

import medians
import recordings
import ways
from row import Row
from runs import Place, finished

SHARE_MAX = {"threads_1000": 0.20, "idle_200": 0.03, "sleeping_100": None}
ROUNDS = 5


def rows(options: Namespace, folder: Path) -> list[Row]:
    return [goal(options, folder, work, share_max) for work, share_max in SHARE_MAX.items()]


def goal(options: Namespace, folder: Path, work: str, share_max: float | None) -> Row:
    place = Place.here(folder)
    genba = ways.genba_way(options.genba, options.python, 1_000)
    yardstick = ways.Way("empty", [options.python], ways.preloaded(ways.empty_handler(folder), 1_000))
    recorded, kernel, empty = [], [], []
    for _ in range(ROUNDS):
        _, _, inside = finished(genba, work, place, "sampler.genba")
        for process in recordings.processes(options.genba, folder / "sampler.genba"):
            recorded.append(process["cpu_genba_ns"] / process["wall_ns"])
            kernel.append(inside["sampler_ns"] / process["wall_ns"])
        _, _, beside = finished(yardstick, work, place, "sampler.genba")
        empty.append(beside["sampler_ns"] / beside["wall_ns"])
    share, theirs = medians.median(recorded).middle, medians.median(empty).middle
    words = f"by the kernel's count {medians.median(kernel).middle:.1%}; empty handler's thread {theirs:.1%}"
    name = f"genba's thread at 1 kHz, {work}"
    return Row(name, share * 100, "% of a core", bound=share_max and share_max * 100, yardstick=words, ratio=share / theirs)
