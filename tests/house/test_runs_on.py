"""The table of what runs where (tests/workshop/runs_on.py) names folders, files and tests that exist, and has a row for each folder."""

import re

import runs_on
from recording import REPOSITORY


def test_every_row_names_something() -> None:
    missing = []
    for name in runs_on.TABLE:
        path, _, test = name.partition("::")
        file = REPOSITORY / path
        if not file.exists() or (test and not re.search(rf"^def {test}\(", file.read_text(), re.MULTILINE)):
            missing.append(name)
    assert missing == []


def test_every_test_file_is_in_a_row() -> None:
    files = [path.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / "tests").rglob("test_*.py")]
    assert len(files) > 100
    assert [file for file in files if not any(name in runs_on.TABLE for name in runs_on.names_of(file))] == []


def test_the_nearest_row_counts() -> None:
    assert runs_on.runs_on("tests/reading_cpython/test_snapshot.py::test_in_odd_places[3.11]") == runs_on.ALL
    assert runs_on.runs_on("tests/reading_cpython/test_snapshot.py::test_many[3.11]") == runs_on.TWO
    assert runs_on.runs_on("tests/harmless/signals/test_kills.py::test_x[3.11-y]") == runs_on.KINDS
    assert set(runs_on.ONE) <= set(runs_on.TWO) <= set(runs_on.KINDS)
