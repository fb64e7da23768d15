"""The table of costs, as text and as Markdown, from what `runs.py` measured.

Owns: which figures are divided and how they are written. Never: measures, drops a way: one that did not run has its reason
in place of its figures.
"""

import dataclasses
from dataclasses import dataclass

import medians
from medians import Median
from runs import Measured
from ways import Way

SHOWN = {"cpu_ns": "CPU", "wall_ns": "wall", "whole_cpu_ns": "CPU from start to end", "whole_wall_ns": "wall from start to end"}


@dataclass(frozen=True)
class Cell:
    """Times as much as alone; for genba also beside the empty handler, and the genba of before, at the same rate."""

    work: str
    way: str
    figure: str
    against: str
    ratio: Median


def cells(measured: Measured, chosen: list[Way]) -> list[Cell]:
    found = []
    for way in chosen:
        pairs = [("alone", figure) for figure in SHOWN]
        if way.name.startswith("genba "):
            pairs += [(way.name.replace("genba", "empty"), figure) for figure in ("cpu_ns", "wall_ns")]
            pairs += [(way.name.replace("genba", "before"), figure) for figure in SHOWN]
        for against, figure in pairs:
            values = measured.both(way.name, against, figure)
            if way.name != against and values[0]:
                found.append(Cell(measured.work, way.name, figure, against, medians.ratios(*values)))
    return found


def alone_s(measured: Measured) -> str:
    values = [cost.cpu_ns / 1e9 for cost in measured.costs.get("alone", {}).values()]
    return f"{medians.median(values).middle:.2f} s" if values else "not run"


def lines(measured: Measured, chosen: list[Way]) -> list[str]:
    """One work: a line a way."""
    found = cells(measured, chosen)
    shown = [f"{measured.work}: {alone_s(measured)} of CPU alone"]
    for way in chosen:
        if way.name in measured.failed:
            shown.append(f"  {way.name:<14} not run: {measured.failed[way.name]}")
        elif way.name != "alone":
            shown.append(f"  {way.name:<14}" + "".join(f" {word:>23}" for word in row(found, way)))
    return shown + [f"  {line}" for line in beside_before(found)]


def beside_before(found: list[Cell]) -> list[str]:
    """Whether a change of genba costs anything: a line for each figure."""
    return [f"{cell.way} / {cell.against}: {SHOWN[cell.figure]} {cell.ratio}" for cell in found if cell.against.startswith("before ")]


def row(found: list[Cell], way: Way) -> list[str]:
    """CPU, wall; genba's beside the empty handler's; how many rounds."""
    shown = [cell for cell in found if cell.way == way.name and not cell.against.startswith("before ")]
    own = {(cell.figure, cell.against == "alone"): cell.ratio for cell in shown}
    words = [str(own[key]) if key in own else "" for key in COLUMNS]
    rounds = max((ratio.count for ratio in own.values()), default=0)
    return [*words, str(rounds)]


COLUMNS = {
    ("cpu_ns", True): "CPU",
    ("wall_ns", True): "wall",
    ("cpu_ns", False): "CPU / empty handler",
    ("wall_ns", False): "wall / empty handler",
    ("whole_cpu_ns", True): "CPU, start to end",
}


def head() -> str:
    return f"  {'':<14}" + "".join(f" {name:>23}" for name in [*COLUMNS.values(), "rounds"])


def markdown(all_measured: list[Measured], chosen: list[Way]) -> str:
    out = ["| work | way | " + " | ".join([*COLUMNS.values(), "rounds"]) + " |", "|---|---|" + "---|" * (len(COLUMNS) + 1)]
    for measured in all_measured:
        found = cells(measured, chosen)
        out.append(f"| **{measured.work}** | alone | {alone_s(measured)} |" + " |" * len(COLUMNS))
        for way in chosen:
            if way.name in measured.failed:
                out.append(f"| | {way.name} | not run: {measured.failed[way.name]} |" + " |" * len(COLUMNS))
            elif way.name != "alone":
                out.append(f"| | {way.name} | " + " | ".join(row(found, way)) + " |")
    notes = [way.note for way in chosen if way.note]
    notes += [f"{measured.work}: {line}" for measured in all_measured for line in beside_before(cells(measured, chosen))]
    return "\n".join([*out, "", *(f"- {note}" for note in notes)])


def as_data(measured: Measured, chosen: list[Way]) -> dict:
    costs = {
        way: {number: dataclasses.asdict(cost) for number, cost in rounds.items()} for way, rounds in measured.costs.items()
    }
    ratios = [dataclasses.asdict(cell) for cell in cells(measured, chosen)]
    return {"work": measured.work, "not_run": measured.failed, "ratios": ratios, "runs": costs}
