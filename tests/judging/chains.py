"""What `genba report` says below a row, held against `genba tree`: the same path has the same share.

Owns: the sum over the tree. The tree keeps callers apart and a row does not, so what the tree has for a row's function is added up over all
callers. Code of the program's own further down has rows of its own, and is taken away. What follows a mark (a cut stack) counts with the
whole stacks that go on alike.
"""

import functools
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from recording import REPOSITORY, Run

Node = dict[str, Any]
IN_C, OF_IMPORTS = (
    re.findall(r'^    "(.+)",$', names, re.MULTILINE)
    for names in (REPOSITORY / "crates/profile/src/views/plumbing.rs").read_text().split("const OF_IMPORTS")
)
# Of sums of floats, nothing else.
TOLERANCE = 1e-9


def is_passed_on(branch: Node) -> bool:
    if branch["kind"] == "python":
        return (branch["file"] or "").startswith("<frozen importlib._bootstrap") and branch["name"].rpartition(".")[2] in OF_IMPORTS
    return passes_on(branch["name"])


@functools.cache
def passes_on(name: str) -> bool:
    """A tree asks it of a few names, thousands of times."""
    return any(name.startswith(known[:-1]) if known.endswith("*") else name == known for known in IN_C)


class SameName(Exception):
    pass


class Branches:
    def __init__(self, branches: list[Node], own: set[tuple[str, str]], weight: str) -> None:
        self.branches, self.own, self.key = branches, own, f"total_{weight}_ns"
        self.below: dict[int, list[int]] = {}
        for number, branch in enumerate(branches):
            self.below.setdefault(-1 if branch["parent"] is None else branch["parent"], []).append(number)
        # Below a mark, and counted with whole stacks.
        self.moved: set[int] = set()

    def is_own(self, number: int) -> bool:
        return (self.branches[number]["name"], self.branches[number]["file"]) in self.own

    def is_run_by_site(self, number: int) -> bool:
        """A line of a `.pth` file is no program's: what runs below it counts for the deepest Python frame, whoever wrote that."""
        above = self.branches[number]["parent"]
        while above is not None and not (self.branches[above]["file"] or "").endswith(("<frozen site>", "/site.py")):
            above = self.branches[above]["parent"]
        return above is not None and self.branches[number]["file"] == "<string>"

    def of(self, function: tuple[str, str]) -> list[int]:
        return [number for number, branch in enumerate(self.branches) if (branch["name"], branch["file"]) == function]

    def along(self, numbers: Iterable[int], name: str) -> list[int]:
        """Raises SameName where the path leads to several functions of that name: a row has names only."""
        name = "<module>" if name.startswith("<module ") else name
        steps = [[low for low in self.links_below(at) if low not in self.moved] for at in numbers]
        whole = {self.branches[low]["name"] for lows in steps for low in lows}
        cut = [low for lows in steps for mark in lows if self.is_mark(mark) for low in self.links_below(mark)]
        self.moved.update(low for low in cut if self.branches[low]["name"] in whole)
        alike = [[low for low in lows if self.branches[low]["name"] == name] for lows in [*steps, self.moved.intersection(cut)]]
        found = [low for lows in alike for low in lows]
        places = {(self.branches[low]["file"], self.branches[low]["first_line"]) for low in found}
        # Texts that are in no file may begin at the same line of the same name: Jinja's templates do.
        beside = any(len(lows) > 1 and self.branches[lows[0]]["kind"] == "python" for lows in alike)
        if len(places) > 1 or beside:
            raise SameName(name)
        return found

    def is_mark(self, number: int) -> bool:
        return "stack cut: " in self.branches[number]["name"]

    def links_below(self, number: int) -> Iterator[int]:
        """A chain leaves out what was inlined, and calls of the interpreter that only pass a call on."""
        for low in self.below.get(number, []):
            if self.branches[low]["kind"] == "inlined" or is_passed_on(self.branches[low]):
                yield from self.links_below(low)
            elif not self.is_own(low):
                yield low

    def weight(self, numbers: Iterable[int]) -> int:
        """Without what other rows have."""
        return sum(self.branches[number][self.key] - self._elsewhere_below(number) for number in numbers)

    def _elsewhere_below(self, number: int) -> int:
        elsewhere, waiting = 0, list(self.below.get(number, []))
        while waiting:
            low = waiting.pop()
            if self.is_own(low) or low in self.moved:
                elsewhere += self.branches[low][self.key]
            else:
                waiting += self.below.get(low, [])
        return elsewhere


def assert_chains_are_the_trees(run: Run) -> None:
    report = run.report_json("--by", "function")
    weight = report["weight"]
    user = {(frame["name"], frame["file"]) for frame in run.profile()["frames"] if frame["owner"] == "user"}
    # Code that is its caller's (a template's) has no row.
    rows = [row for row in report["rows"] if (row["function"], row["file"]) in user]
    functions = [(row["function"], row["file"]) for row in rows]
    tree = json.loads(run.tree("--format", "json", "--whole", "--weight", weight))
    branches = Branches(tree["branches"], set(functions), weight)
    judged = 0
    for row, function in zip(rows, functions, strict=True):
        at = branches.of(function)
        # Two functions of one name are one path to this sum.
        if functions.count(function) == 1 and not any(map(branches.is_run_by_site, at)):
            judged += 1
            with suppress(SameName):
                assert_row_is_the_trees(row, branches, at, weight)
    assert judged, rows


# Also where it raises SameName, the row's own weight is judged: no path leads to that.
def assert_row_is_the_trees(row: Node, branches: Branches, at: list[int], weight: str) -> None:
    branches.moved.clear()
    whole = branches.weight(at)
    assert whole == row[f"{weight}_ns"], (whole, row)
    for name in row["chain"]:
        at = branches.along(at, name)
    if row["chain"]:
        assert_near(branches.weight(at), row["chain_share"], whole, row)
    names = [step["name"] for step in row["split"]]
    if len(set(names)) < len(names):
        raise SameName(names)
    for step in row["split"]:
        assert_near(branches.weight(branches.along(at, step["name"])), step["share"], whole, row)


def assert_near(weight: int, share: float, whole: int, row: Node) -> None:
    assert abs(weight - share * whole) <= TOLERANCE * whole, (weight / whole, share, row)
