"""A recording as Python objects.

Owns: their shape. Never: reads the file or computes with samples; every number is the command's (`genba report --format json`,
`genba tree --format json`).
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from genba import _agent
from genba.errors import CannotRead, CannotRecord


@dataclass(frozen=True)
class Accounting:
    """Law 1: `ticks` = `sampled` + all of `dropped` + all of `refused`, the latter two by reason."""

    ticks: int
    sampled: int
    dropped: Mapping[str, int]
    refused: Mapping[str, int]


@dataclass(frozen=True)
class Verdict:
    """Why the program takes its time: the third line of the report (`name: words`) and the lines below it (`details`). The same as data:
    `figures`, the sums that the line tells, in nanoseconds where the name ends in `_ns`; `places`, the heaviest first, each with `kind`,
    `share` (0 to 1 of `whole_ns`, which is CPU or wall time: `weight`), `part_ns`, `file`, `line`, `function`; `advice`, each with `kind`;
    `blocks`, the callbacks that kept the event loop from others, and `short_blocks`, the short ones that did so together, or None;
    `waited_for_work`, waits that are set apart, or None; `may_be`, names that another run may get. Keys as in `genba report --format json`."""

    name: str
    words: str
    details: tuple[str, ...]
    weight: str
    whole_ns: int
    figures: Mapping[str, int]
    places: tuple[Mapping[str, Any], ...]
    advice: tuple[Mapping[str, Any], ...]
    blocks: Mapping[str, Any] | None
    short_blocks: Mapping[str, Any] | None = None
    waited_for_work: Mapping[str, Any] | None = None
    may_be: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """One expression of the program's own code. Lines count from 1, columns from 0, in characters, or in bytes (`byte_column`) where the
    text is not known; times are nanoseconds; `share` and
    `total_share` are 0 to 1 of the weight. `samples`, `cpu_ns`, `wall_ns` and `share` count what ends here, `total_…` all that passes
    through. `chain`: the names below the expression that at least half of `share` has in common, `chain_share` of it; `split`: where it
    goes on from there, names with their parts of `share`; `callers`: where several lines of own code call this one, file,
    line, function and part of `share` of up to three of them. `phase`: `interpreter start-up` or `interpreter shutdown` where the
    interpreter worked for itself, `event loop (asyncio)` where the event loop did."""

    file: str | None
    line: int | None
    end_line: int | None
    function: str | None
    expression: str | None
    column: int | None
    end_column: int | None
    byte_column: int | None
    byte_end_column: int | None
    phase: str | None
    samples: int
    cpu_ns: int
    wall_ns: int
    share: float
    total_samples: int
    total_cpu_ns: int
    total_wall_ns: int
    total_share: float
    chain: tuple[str, ...]
    chain_share: float | None
    split: tuple[tuple[str, float], ...]
    callers: tuple[tuple[str | None, int | None, str, float], ...]


@dataclass(frozen=True, eq=False)
class Node:
    """A function under its callers. `kind`: python, c, inferred, inlined, loop (asyncio's event loop, above what it
    runs), state (what was waited for), mark (what is missing), root.
    Numbers as in Row: without a prefix what ends here, `total_…` with everything below. Children: the heaviest first."""

    name: str
    kind: str
    file: str | None
    first_line: int | None
    samples: int
    cpu_ns: int
    wall_ns: int
    share: float
    total_samples: int
    total_cpu_ns: int
    total_wall_ns: int
    total_share: float
    parent: "Node | None"
    children: list["Node"]

    def __getitem__(self, name: str) -> "Node":
        """The child of this name, else the heaviest one whose name contains it. Raises KeyError, which tells the names there are."""
        exact = (child for child in self.children if child.name == name)
        near = (child for child in self.children if name in child.name)
        found = next(exact, None) or next(near, None)
        if found is None:
            raise KeyError(f"no child of {self.name!r} is called {name!r}; there are: {', '.join(child.name for child in self.children)}")
        return found

    def walk(self) -> Iterator["Node"]:
        """This node and all below, parents first, the heaviest first."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))

    def find(self, pattern: str) -> list["Node"]:
        """All below whose name the regular expression is found in, the heaviest first."""
        wanted = re.compile(pattern)
        return sorted((node for node in self.walk() if wanted.search(node.name)), key=lambda node: -node.total_share)

    def flatten(self) -> list[tuple[str, ...]]:
        """Every path from here to where samples ended, as names."""
        paths = []
        for node in self.walk():
            if node.samples or node.wall_ns:
                path: list[str] = []
                step: Node | None = node
                while step is not None and step is not self:
                    path.append(step.name)
                    step = step.parent
                paths.append(tuple(reversed(path)))
        return paths

    def __repr__(self) -> str:
        return f"<Node {self.name!r}, {self.total_share:.1%}, {len(self.children)} below>"


class Profile:
    """What a recording holds. The command reads it when it is first asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _report(self) -> dict[str, Any]:
        return _read("report", self.path)

    @property
    def argv(self) -> list[str]:
        """Of the first process; secrets are masked."""
        return list(self._first_process["argv"])

    @property
    def meta(self) -> dict[str, Any]:
        """Of the first process: `python`, `executable`, `pid`, `tags`, `interval_ns`."""
        process = self._first_process
        tags = dict(tag.split("=", 1) for tag in process["tags"])
        named = {name: process[name] for name in ("python", "executable", "pid")}
        return {**named, "tags": tags, "interval_ns": self._report["interval_ns"]}

    @property
    def duration_ns(self) -> int:
        """Wall time of the recording."""
        return int(self._report["wall_ns"])

    @property
    def cpu_ns(self) -> int:
        """CPU of all processes while they were recorded."""
        return int(self._report["cpu_ns"])

    @property
    def accounting(self) -> Accounting:
        return Accounting(**_known(Accounting, self._report["accounting"]))

    @property
    def verdict(self) -> Verdict:
        verdict = self._report["verdict"]
        said = _known(Verdict, verdict)
        said.update({key: tuple(said[key]) for key in ("details", "places", "advice", "may_be") if key in said})
        return Verdict(**said)

    @property
    def warnings(self) -> list[str]:
        """What the report warns of."""
        return list(self._report["warnings"])

    @property
    def _first_process(self) -> dict[str, Any]:
        processes = self._report["processes"]
        if not processes:
            raise CannotRead(f"{self.path} holds no process")
        first: dict[str, Any] = processes[0]
        return first

    def rows(self) -> list[Row]:
        """The expressions that the time goes to, the heaviest first, as `genba report` shows them."""
        names = [field.name for field in fields(Row)]
        return [
            Row(
                **{name: row[name] for name in names if name not in ("chain", "split", "callers")},
                chain=tuple(row["chain"]),
                split=tuple((step["name"], step["share"]) for step in row["split"]),
                callers=tuple((at["file"], at["line"], at["function"], at["share"]) for at in row["callers"]),
            )
            for row in self._report["rows"]
        ]

    def find(self, pattern: str) -> list[Row]:
        """Rows whose file, function or expression the regular expression is found in."""
        wanted = re.compile(pattern)
        return [row for row in self.rows() if any(wanted.search(text or "") for text in (row.file, row.function, row.expression))]

    @cached_property
    def _root(self) -> Node:
        page = _read("tree", self.path)
        whole = {"samples": page["samples"], "cpu_ns": page["cpu_ns"], "wall_ns": page["wall_ns"]}
        root = Node(
            name="",
            kind="root",
            file=None,
            first_line=None,
            samples=0,
            cpu_ns=0,
            wall_ns=0,
            share=0.0,
            total_share=1.0,
            parent=None,
            children=[],
            **{f"total_{name}": number for name, number in whole.items()},
        )
        nodes: list[Node] = []
        for branch in page["branches"]:
            parent = root if branch["parent"] is None else nodes[branch["parent"]]
            node = Node(**{**_known(Node, branch), "parent": parent, "children": []})
            parent.children.append(node)
            nodes.append(node)
        return root

    def tree(self) -> Node:
        """Whole call paths below a root without a name: every function under each of its callers."""
        return self._root

    def __repr__(self) -> str:
        return f"<Profile {str(self.path)!r}>"


def open_recording(path: str | os.PathLike[str]) -> Profile:
    """A recording to read. Raises FileNotFoundError; CannotRead, here or later, when it is none."""
    found = Path(os.path.abspath(path))
    if not found.is_file():
        raise FileNotFoundError(f"no recording {str(found)!r}")
    return Profile(found)


def _read(verb: str, path: Path) -> dict[str, Any]:
    try:
        page: dict[str, Any] = json.loads(_agent.command(verb, "--format", "json", str(path)))
    except CannotRecord as failure:
        raise CannotRead(failure.message, failure.hint) from None
    return page


def _known(kind: type, page: Mapping[str, Any]) -> dict[str, Any]:
    """What `kind` has a field for: a later genba's command may tell more."""
    return {field.name: page[field.name] for field in fields(kind) if field.name in page}
