"""The table of what runs where (tests/workshop/runs_on.py) names folders, files and tests that exist, and has a row for each folder."""

import os
import re
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest

import runs_on
from recording import REPOSITORY

FILES_MAX = 16


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


def test_a_folder_has_room_for_what_it_is_about() -> None:
    """A seventeenth file belongs into a folder of its own kind."""
    files = Counter(path.parent.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / "tests").rglob("test_*.py"))
    assert {folder: count for folder, count in files.items() if count > FILES_MAX} == {}


def test_what_make_test_leaves_out_of_the_server_is_in_the_long_run() -> None:
    """Without the mark `measures` only `make test-all` would run it, and `make soak` says that it runs the tests of several servers."""
    left_out = {name.partition("::")[0] for name in runs_on.left_out() if name.startswith("tests/serve/")}
    assert left_out and [file for file in left_out if "mark.measures" not in (REPOSITORY / file).read_text()] == []


def test_the_nearest_row_counts() -> None:
    assert runs_on.runs_on("tests/reading_cpython/test_snapshot.py::test_in_odd_places[3.11]") == runs_on.KINDS
    assert runs_on.runs_on("tests/reading_cpython/test_snapshot.py::test_many[3.11]") == runs_on.TWO
    assert runs_on.runs_on("tests/harmless/signals/test_kills.py::test_x[3.11-y]") == runs_on.Spread(runs_on.KINDS)
    assert set(runs_on.ONE) <= set(runs_on.TWO) <= set(runs_on.KINDS)


def test_the_tests_of_a_file_take_turns() -> None:
    file = "tests/harmless/signals/test_kills.py"

    def item(test: str, *ids: str) -> SimpleNamespace:
        return SimpleNamespace(nodeid=f"{file}::{test}[{'-'.join(ids)}]", callspec=SimpleNamespace(_idlist=ids, params={"python": None}))

    items = [item(test, version, "a") for test in ("test_w", "test_x", "test_y", "test_z") for version in runs_on.SUPPORTED]
    # It names its own: the turn is taken among those of the row.
    items += [item("test_own", version) for version in ("3.11", "3.15")]
    assert runs_on.chosen_of(items) == {
        (f"{file}::test_w", "a"): ("3.13",),
        (f"{file}::test_x", "a"): ("3.15",),
        (f"{file}::test_y", "a"): ("3.14-standalone",),
        (f"{file}::test_z", "a"): ("3.13",),
        (f"{file}::test_own",): ("3.15",),
    }


def collected(config: pytest.Config) -> list[str]:
    """The names of all tests, on each CPython: those that this pytest has collected itself, in the gate nearly all, and those of the other files."""
    own = [nodeid for nodeid in config.stash[runs_on.COLLECTED] if nodeid.startswith("tests/")]
    # Of a file of which a test was named it has that one alone.
    whole = set() if any("::" in word for word in config.args) else {nodeid.partition("::")[0] for nodeid in own}
    files = (path.relative_to(REPOSITORY).as_posix() for path in sorted((REPOSITORY / "tests").rglob("test_*.py")))
    if not (others := [file for file in files if file not in whole]):
        return own
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", *others]
    done = subprocess.run(command, cwd=REPOSITORY, env={**os.environ, "GENBA_ALL": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return own + [line for line in done.stdout.splitlines() if line.startswith("tests/") and "::" in line]


def idle_unseen(ids: list[str]) -> list[str]:
    """The tests that run in no `make test` and are not left out by their own name or their file's, which a run lists."""
    runs: dict[str, bool] = {}
    for nodeid in ids:
        test, _, parameters = nodeid.partition("[")
        of_a_cpython = re.findall(rf"(?:^|[\[-])({'|'.join(map(re.escape, sorted(runs_on.SUPPORTED, key=len, reverse=True)))})(?=[-\]])", f"[{parameters}")
        row = runs_on.runs_on(nodeid)
        where = row.among if isinstance(row, runs_on.Spread) else row
        runs[test] = runs.get(test, False) or bool(where and (not of_a_cpython or any(name in where for name in of_a_cpython)))
    listed = set(runs_on.left_out())
    return [test for test, does in runs.items() if not does and not listed & {test, test.partition("::")[0]}]


def test_every_test_runs_somewhere_or_is_listed(request: pytest.FixtureRequest) -> None:
    """One that names CPythons of its own, none of which is in its row, would run in no `make test`, and nobody would see it."""
    ids = collected(request.config)
    assert len(ids) > 3000
    assert idle_unseen(ids) == []


def test_a_test_that_runs_nowhere_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = ["tests/new/test_a.py::test_x", "tests/new/test_a.py::test_y[3.11-z]", "tests/new/test_b.py::test_x[3.13]", "tests/new/test_b.py::test_y"]
    table: dict[str, runs_on.Row] = {"tests/new": runs_on.ONE, "tests/new/test_b.py": runs_on.NOWHERE}
    monkeypatch.setattr(runs_on, "TABLE", table)
    assert idle_unseen(ids) == ["tests/new/test_a.py::test_y"]
    table["tests/new"] = runs_on.NOWHERE
    assert idle_unseen(ids) == ["tests/new/test_a.py::test_x", "tests/new/test_a.py::test_y"]
    table["tests/new/test_a.py"] = runs_on.NOWHERE
    assert idle_unseen(ids) == []
