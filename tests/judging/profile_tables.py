"""The profile as tables (`genba export --to json`, docs/json.md), with the few questions that tests ask of it.

Owns: stacks as lists of frames, sums over samples, and the two laws written out. Never: rounds or forgives.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

RUNNING = ("running", "in gc")


@dataclass(frozen=True)
class Row:
    """Samples of one stack in one thread and state. `frames` run from root to leaf, each a row of the frame table."""

    frames: tuple[dict[str, Any], ...]
    process: int
    thread: int
    state: str
    samples: int
    ticks: int
    cpu_ns: int
    wall_ns: int
    cpu_us2: int = 0

    def names(self) -> list[str]:
        return [frame["name"] for frame in self.frames]

    def own_lines(self) -> list[tuple[str, int]]:
        return [(frame["name"], frame["line"]) for frame in self.frames if frame["owner"] == "user"]


class Profile:
    def __init__(self, tables: dict[str, Any]) -> None:
        assert tables["format"] == "genba-profile"
        self.tables = tables
        self._stacks: dict[int, tuple[dict[str, Any], ...]] = {}

    def __getitem__(self, table: str) -> Any:
        return self.tables[table]

    def stack(self, node: int | None) -> tuple[dict[str, Any], ...]:
        if node is None:
            return ()
        if node not in self._stacks:
            nodes, frames, found, at = self.tables["nodes"], self.tables["frames"], [], node
            while at is not None:
                found.append(frames[nodes["frame"][at]])
                at = nodes["parent"][at]
            # Only what was asked for is kept: a deep stack has a node for each frame.
            self._stacks[node] = tuple(reversed(found))
        return self._stacks[node]

    def rows(self) -> Iterator[Row]:
        columns = self.tables["samples"]
        names = ("node", "thread", "state", "samples", "ticks", "cpu_ns", "wall_ns", "cpu_us2")
        for node, thread, state, *sums in zip(*(columns[name] for name in names), strict=True):
            process = self.tables["threads"][thread]["process"]
            yield Row(self.stack(node), process, thread, self.tables["states"][state], *sums)

    def sum(self, column: str, wanted: Callable[[Row], bool] = lambda row: True) -> int:
        return sum(getattr(row, column) for row in self.rows() if wanted(row))

    def process_of(self, pid: int) -> int:
        """Index of the process with this pid; a pid stands once in a test's recording."""
        (index,) = [i for i, process in enumerate(self.tables["processes"]) if process["pid"] == pid]
        return index

    def check_laws(self) -> None:
        """I-01 and I-02 for the whole and for each process, as equalities of integers."""
        for accounting in [self.tables["accounting"], *(one["accounting"] for one in self.tables["processes"])]:
            looked = accounting["sampled"] + sum(accounting["dropped"].values()) + sum(accounting["refused"].values())
            assert accounting["ticks"] == looked, f"ticks {accounting['ticks']} are not {looked}: {accounting}"
        lost = sum(process["blocks_lost"] for process in self.tables["processes"])
        sampled: dict[int, tuple[int, int]] = {}
        columns = self.tables["samples"]
        of_bytes = [columns[name] for name in ("copied_bytes", "allocated_bytes") if name in columns]
        # Without their stacks, of which a recording may hold very many.
        process_of = [thread["process"] for thread in self.tables["threads"]]
        rows = zip(*(columns[name] for name in ("thread", "state", "ticks", "samples", "cpu_ns")), strict=True)
        for number, (thread, state_index, ticks, samples, row_cpu_ns) in enumerate(rows):
            process, state = process_of[thread], self.tables["states"][state_index]
            all_ticks, cpu_ns = sampled.get(process, (0, 0))
            sampled[process] = all_ticks + ticks, cpu_ns + row_cpu_ns
            # A stack that was seen at copies or allocations alone has no samples.
            has_samples = ticks >= 1 and samples >= 1
            assert has_samples or any(column[number] > 0 for column in of_bytes), (number, ticks, samples)
            assert state in RUNNING or row_cpu_ns == 0, (number, state, row_cpu_ns)
        for index, process in enumerate(self.tables["processes"]):
            parts = process["cpu_sampled_ns"] + process["cpu_not_sampled_ns"] + process["cpu_genba_ns"]
            assert process["cpu_ns"] == parts, f"process CPU {process['cpu_ns']} ns is not {parts}: {process}"
            assert process["cpu_not_sampled_ns"] >= 0, process
            if lost == 0:
                own = process["accounting"]["sampled"], process["cpu_sampled_ns"]
                assert sampled.get(index, (0, 0)) == own, (sampled.get(index), own, process)

    def facts(self) -> dict[str, Any]:
        """What a failed assertion says of the recording."""
        table = ("accounting", "processes", "marks")
        return {name: self.tables[name] for name in table}

    def coverage_faults(self) -> list[str]:
        """Processes of which more than 1 % of the CPU was not sampled, what passed before the agent started aside."""
        faults = []
        for process in self.tables["processes"]:
            missing_ns = process["cpu_not_sampled_ns"] - process["cpu_before_ns"]
            if process["refused"] is None and missing_ns * 100 > process["cpu_ns"]:
                faults.append(f"pid {process['pid']}: {missing_ns} of {process['cpu_ns']} ns")
        return faults
