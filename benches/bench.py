"""`make bench`: what genba costs, beside a sampler that does nothing and beside other profilers, and its absolute goals.

Owns: the options, the order of the parts, the two files with the results. Never: judges in silence: a goal that is missed is
named at the end, and by how much. Settings: ROUNDS, WORKS, WAYS, PARTS, BEFORE, PYTHON, or the flags below.
"""

import argparse
import dataclasses
import json
import os
import sys
import tempfile
from pathlib import Path

import goals
import machine
import newest
import runs
import table
import ways
import works
from row import Row

REPOSITORY = Path(__file__).resolve().parent.parent
ROUNDS = 30
SEED = 20261120
WORKS = [name for name in works.WORKS if name not in works.FOR_GOALS]
PARTS = ("table", "newest", *goals.ABSOLUTE)


def main() -> int:
    options = arguments()
    said = machine.words(options.python, options.genba, options.seed)
    print(said)
    results: dict = {"machine": said, "rounds": options.rounds, "seed": options.seed}
    pages = [f"Measured on: {said}."]
    met: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="genba-bench-") as name:
        folder = Path(name)
        if "table" in options.parts:
            chosen = choose(ways.all_ways(options.python, options.genba, folder, options.before), options.ways)
            all_measured = run_table(options, chosen, folder)
            results["costs"] = [table.as_data(measured, chosen) for measured in all_measured]
            pages.append(table.markdown(all_measured, chosen))
            met += goals.of_table(all_measured, chosen, options.genba)
        if "newest" in options.parts:
            page, results["newest"] = newest.section(options, folder)
            pages.append(page)
        for part in (name for name in options.parts if name in goals.ABSOLUTE):
            met += goals.absolute(part, options, folder)
    if met:
        print("\n" + goals.text(met))
        pages.append(goals.markdown(met))
        results["goals"] = goals.as_data(met)
    write(options.json, json.dumps(results, indent=1) + "\n")
    write(options.markdown, "\n\n".join(pages) + "\n")
    missed = [row.goal for row in met if row.met is False]
    if missed:
        print(f"\nmissed: {'; '.join(missed)}")
    return 0


def run_table(options: argparse.Namespace, chosen: list[ways.Way], folder: Path) -> list[runs.Measured]:
    print(f"{options.rounds} rounds, interleaved, peers {ways.ROUNDS_OF_PEERS_MAX}; each figure is the median of ratios within")
    print("a round, with the interval that holds it with 95 %; CPU and wall while the work runs, against the run alone\n")
    print(table.head())
    all_measured = []
    for work in options.works:
        measured = runs.measure(work, chosen, options.rounds, options.seed, runs.Place.here(folder))
        all_measured.append(measured)
        print("\n".join(table.lines(measured, chosen)), flush=True)
    for way in chosen:
        if way.note:
            print(f"note: {way.note}")
    return all_measured


def choose(all_ways: list[ways.Way], names: list[str]) -> list[ways.Way]:
    known = {way.name for way in all_ways}
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"error: no way {', '.join(unknown)}\nhint: one of {', '.join(sorted(known))}")
    return [way for way in all_ways if way.name == "alone" or not names or way.name in names]


def write(path: str, text: str) -> None:
    if path:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)


def arguments() -> argparse.Namespace:
    comma = lambda text: [word.strip() for word in text.split(",") if word.strip()]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=int(os.environ.get("ROUNDS") or ROUNDS))
    parser.add_argument("--works", type=comma, default=comma(os.environ.get("WORKS", "")) or WORKS, help=", ".join(WORKS))
    parser.add_argument("--ways", type=comma, default=comma(os.environ.get("WAYS", "")), help="all, unless some are named")
    parser.add_argument("--parts", type=comma, default=comma(os.environ.get("PARTS", "")) or list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--python", default=os.environ.get("PYTHON") or machine.newest_python(), help="interpreter that does the work")
    parser.add_argument("--genba", default=ways.GENBA, help="the command")
    before = "a genba of before a change, measured in the same rounds: the ways \"before 1 kHz\", \"before 10 kHz\""
    parser.add_argument("--before", default=os.environ.get("BEFORE", ""), help=before)
    parser.add_argument("--json", default=str(REPOSITORY / "build/bench.json"))
    parser.add_argument("--markdown", default=str(REPOSITORY / "build/bench.md"))
    options = parser.parse_args()
    if unknown := [name for name in options.works if name not in works.WORKS]:
        parser.error(f"no work {', '.join(unknown)}; one of {', '.join(works.WORKS)}")
    if unknown := [name for name in options.parts if name not in PARTS]:
        parser.error(f"no part {', '.join(unknown)}; one of {', '.join(PARTS)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
