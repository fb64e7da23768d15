"""The absolute goals: each figure beside its bound and its yardstick of the same run.

Owns: the shape of a row, how rows are written, the goals that the table of costs answers. Never: measures (the modules of this package do).
Over twelve files: one goal each, and nothing else.
With GENBA_FIGURES set, each row is also one JSON line there, as the tests write theirs, with its yardstick: make/measured.py makes
docs/measured.md of them.
"""

import dataclasses
import json
import os
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

import machine
import recordings
import table
from goals import (
    allocations, attach, copies, crowd, faulthandler, gc, handler, heap, memory, out_of_band, page, reading, real, sampler, served_heap, server,
    shared, short_threads, size, snippets, startup, trace, turns, viewer,
)
from row import Row
from runs import Measured
from ways import Way

EMPTY_HANDLER_MAX = 1.02
HANDLER_SHARE_MAX = 0.003
ABSOLUTE = {
    "real": real,
    "handler": handler,
    "faulthandler": faulthandler,
    "startup": startup,
    "memory": memory,
    "sampler": sampler,
    "size": size,
    "reading": reading,
    "page": page,
    "viewer": viewer,
    "server": server,
    "crowd": crowd,
    "shared": shared,
    "attach": attach,
    "copies": copies,
    "allocations": allocations,
    "gc": gc,
    "out_of_band": out_of_band,
    "trace": trace,
    "heap": heap,
    "served_heap": served_heap,
    "turns": turns,
    "snippets": snippets,
    "threads": short_threads,
}


def of_table(all_measured: list[Measured], chosen: list[Way], genba: str) -> list[Row]:
    rows = []
    for measured in all_measured:
        found = {(cell.way, cell.figure, cell.against): cell.ratio for cell in table.cells(measured, chosen)}
        rows += handler_time(measured, genba)
        for rate in ("1 kHz", "10 kHz"):
            for figure in ("cpu_ns", "wall_ns"):
                ratio = found.get((f"genba {rate}", figure, f"empty {rate}"))
                if ratio is None:
                    continue
                name = f"{table.SHOWN[figure]} beside the empty handler, {rate}, {measured.work} (upper end)"
                # The goal is about 1 kHz; what 10 kHz costs is told beside it.
                bound = EMPTY_HANDLER_MAX if rate == "1 kHz" else None
                rows.append(Row(name, ratio.high, "×", bound=bound, yardstick=f"median {ratio}"))
        rows += peers_that_see_c(measured, found, chosen)
    return emitted(rows)


def handler_time(measured: Measured, genba: str) -> list[Row]:
    kept = measured.recordings.get("genba 1 kHz", [])
    found = recordings.handler_ns([process for path in kept for process in recordings.exported(genba, path)])
    if found is None:
        return []
    share = found * 1_000 / 1e9
    name = f"handler time × rate at 1 kHz, {measured.work}"
    yardstick = f"{found:,.0f} ns a run, measured inside it"
    return [Row(name, share * 100, "%", bound=HANDLER_SHARE_MAX * 100, yardstick=yardstick)]


def peers_that_see_c(measured: Measured, found: dict, chosen: list[Way]) -> list[Row]:
    rows = []
    for way in (way for way in chosen if way.sees_c and way.is_peer):
        for figure in ("cpu_ns", "wall_ns"):
            own, other = found.get(("genba 1 kHz", figure, "alone")), found.get((way.name, figure, "alone"))
            if own and other:
                name = f"slow-down ({table.SHOWN[figure]}) beside {way.name}, {measured.work}"
                rows.append(Row(name, own.middle, "×", bound=other.middle, yardstick=f"{way.name} {other}"))
    return rows


def absolute(part: str, options: Namespace, folder: Path) -> list[Row]:
    return emitted(ABSOLUTE[part].rows(options, folder))


def emitted(rows: list[Row]) -> list[Row]:
    if path := os.environ.get("GENBA_FIGURES"):
        with open(path, "a") as file:
            for row in rows:
                line = {"test": "make bench", "python": None, "figure": row.goal, "value": row.value, "unit": row.unit, "yardstick": row.yardstick}
                file.write(json.dumps({**line, "bound": row.bound, "soak": False, "commit": machine.commit()}, ensure_ascii=False) + "\n")
    return rows


HEAD = ("goal", "bound", "measured", "yardstick", "ratio", "")


def words(row: Row) -> list[str]:
    bound = "" if row.bound is None else f"≤ {row.bound:.4g} {row.unit}"
    ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
    verdict = {None: "", True: "met", False: "missed"}[row.met]
    return [row.goal, bound, f"{row.value:.4g} {row.unit}", row.yardstick, ratio, verdict]


def text(rows: list[Row]) -> str:
    grid = [list(HEAD), *(words(row) for row in rows)]
    widths = [max(len(line[column]) for line in grid) for column in range(len(HEAD))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in grid)


def markdown(rows: list[Row]) -> str:
    grid = [list(HEAD), ["---"] * len(HEAD), *(words(row) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in grid)


def as_data(rows: list[Row]) -> list[dict]:
    return [{**dataclasses.asdict(row), "met": row.met} for row in rows]
