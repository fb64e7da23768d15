"""The long run in sittings: a test that passed at this state of the sources is not run again; one that failed is.

Each finished test is a line in the ledger (GENBA_FIGURES), and each sitting begins with the plan: how many tests each file has on
each CPython. make/measured.py says from these lines what passed and what is missing. Settings: PART (files, folders or tests)
and VERSIONS (names of interpreters.SUPPORTED), separated by spaces, choose what is run now; the plan stays the whole.
Owns: that choice. Never: judges a test, or takes a skipped one for done (what it lacked may be there next time).
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from ledger import append, commit, lines, mend, state

# The long run is of what measures and of what harms nobody.
HARMLESS = ("tests/harmless/",)
DONE = ("passed", "xfailed")
VERSIONED = re.compile(r"::[^\[]+\[(3\.\d+(?:-standalone)?)[\]-]")
# Column of the tests that run on no particular CPython.
ALL = "all"


class Sittings:
    def __init__(self, path: Path, root: Path, parts: Iterable[str] = (), versions: Iterable[str] = ()) -> None:
        self.path = path
        self.root = root
        self.parts = tuple(parts)
        self.versions = {ALL, *versions} if versions else set()
        self.phases: list[pytest.TestReport] = []
        mend(path)
        self.newest = {line["test"]: line for line in lines(path) if "outcome" in line}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        whole = [item for item in items if item.nodeid.startswith(HARMLESS) or item.get_closest_marker("measures")]
        append(self.path, {"plan": self.plan(whole), "commit": commit(self.root)})
        found = Counter(self.outcome(item.nodeid) for item in whole)
        now = [item for item in whole if self.outcome(item.nodeid) not in DONE and self.is_chosen(item)]
        chosen = set(map(id, now))
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in chosen])
        items[:] = now
        left = len(whole) - sum(found[one] for one in DONE)
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        terminal.write_line(
            f"soak at {commit(self.root)}: {len(whole)} tests, {len(whole) - left} passed in earlier sittings,"
            f" {found['failed']} of the others failed there; {left} left, {len(now)} of them now"
        )

    def plan(self, whole: list[pytest.Item]) -> dict[str, dict]:
        files: dict[str, Counter[str]] = {}
        for item in whole:
            files.setdefault(file_of(item.nodeid), Counter())[version_of(item.nodeid)] += 1
        return {file: {"state": state(self.root, file), "tests": counts} for file, counts in files.items()}

    def outcome(self, node: str) -> str | None:
        line = self.newest.get(node)
        return line["outcome"] if line and line["state"] == state(self.root, file_of(node)) else None

    def is_chosen(self, item: pytest.Item) -> bool:
        in_part = not self.parts or item.nodeid.startswith(self.parts)
        return in_part and (not self.versions or version_of(item.nodeid) in self.versions)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.phases.append(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Not called for a test that is broken off."""
        outcomes = {"xfailed" if hasattr(phase, "wasxfail") and phase.skipped else phase.outcome for phase in self.phases}
        outcome = next(one for one in ("failed", "xfailed", "skipped", "passed") if one in outcomes)
        seconds = round(sum(phase.duration for phase in self.phases), 3)
        self.phases = []
        line = {"test": nodeid, "python": version_of(nodeid), "outcome": outcome, "seconds": seconds}
        append(self.path, {**line, "commit": commit(self.root), "state": state(self.root, file_of(nodeid))})

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK


def file_of(node: str) -> str:
    return node.partition("::")[0]


def version_of(node: str) -> str:
    """By the test's name: where the CPython is missing on this machine, there is nothing else."""
    found = VERSIONED.search(node)
    return found[1] if found else ALL
