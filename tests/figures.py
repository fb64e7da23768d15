"""Figures that tests measure: one JSON line each into the file named by GENBA_FIGURES, and a line of text on stdout.

Owns: the shape of such a line. Never: judges (a test asserts; a figure only says what was measured and against which bound).
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from soak import SOAK

Figure = Callable[..., None]


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Figure:
    """`figure("share of C", 0.512, "share", bound=0.02)`; `bound` is a number or words, none where nothing is promised."""
    interpreter = getattr(request.node, "callspec", None) and request.node.callspec.params.get("python")

    def write(name: str, value: float | str, unit: str, *, bound: float | str | None = None) -> None:
        line = {
            "test": request.node.nodeid,
            "python": interpreter.name if interpreter else None,
            "figure": name,
            "value": value,
            "unit": unit,
            "bound": bound,
            "soak": SOAK,
        }
        print(json.dumps(line, ensure_ascii=False))
        if path := os.environ.get("GENBA_FIGURES"):
            append(Path(path), line)

    return write


class Outcomes:
    """How many tests of each file passed on each CPython, for files whose tests measure nothing: a figure, too."""

    NAME = "passed"
    NODE = re.compile(r"(?P<file>[^:]+)::[^\[]+\[(?P<name>3\.\d+(-standalone)?)")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts: dict[tuple[str, str], Counter[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A test is skipped before it is called, and fails at any time.
        if report.when == "call" or not report.passed:
            self.count(report.nodeid, report.outcome)

    def count(self, node: str, outcome: str) -> None:
        if found := self.NODE.match(node):
            self.counts.setdefault((found["file"], found["name"]), Counter())[outcome] += 1

    def pytest_sessionfinish(self) -> None:
        for (file, name), counts in sorted(self.counts.items()):
            skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
            line = {
                "test": file,
                "python": name,
                "figure": self.NAME,
                "value": counts["passed"],
                "unit": f"of {counts['passed'] + counts['failed']}{skipped}",
                "bound": "all",
                "soak": SOAK,
            }
            append(self.path, line)


def append(path: Path, line: dict) -> None:
    """One write, so that lines of several test processes do not mix."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, (json.dumps(line, ensure_ascii=False) + "\n").encode())
    finally:
        os.close(descriptor)
