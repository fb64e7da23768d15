"""The long run in sittings, from outside: pytest in a small repository of its own, stopped, gone on with, changed."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import ledger
from recording import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "make"))
import measured  # noqa: E402

CONFTEST = """
import os
import re
from pathlib import Path
from sittings import Sittings
def pytest_configure(config):
    config.addinivalue_line("markers", "measures: as in genba")
    parts, versions = (os.environ.get(name, "").split() for name in ("PART", "VERSIONS"))
    config.pluginmanager.register(Sittings(Path("ledger.jsonl"), config.rootpath, parts, versions))
"""
# Each test says in a file that it ran. One fails, one stops the sitting, as long as files say so.
HARMLESS = """
from pathlib import Path
import pytest
def ran(name):
    with open("ran", "a") as file: file.write(name + "\\n")
@pytest.mark.parametrize("python", ["3.11", "3.13-standalone"])
def test_one(python):
    ran(f"one {python}")
def test_two():
    ran("two")
    assert not Path("fails").exists()
def test_three():
    ran("three")
    if Path("stops").exists(): raise KeyboardInterrupt
"""
MEASURING = """
import pytest
@pytest.mark.measures
def test_share(): open("ran", "a").write("share\\n")
@pytest.mark.xfail
@pytest.mark.measures
def test_known():
    open("ran", "a").write("known\\n")
    assert False
def test_short(): open("ran", "a").write("short\\n")
@pytest.mark.measures
def test_lacks():
    pytest.skip("not here")
"""
EVERY = ["one 3.11", "one 3.13-standalone", "two", "three", "share", "known"]


@dataclass
class Sitting:
    exit_code: int
    ran: list[str]
    words: str


@dataclass
class Small:
    """A repository with three kinds of tests: harmless, measuring, and one that is of no long run."""

    folder: Path

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def git(self, *words: str) -> None:
        identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *words], cwd=self.folder, check=True, capture_output=True)

    def sit(self, **choice: str) -> Sitting:
        (self.folder / "ran").unlink(missing_ok=True)
        (self.folder / "ran").touch()
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("GENBA_", "PYTEST_"))}
        environment |= {"PYTHONPATH": str(REPOSITORY / "tests/soaking"), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **choice}
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", ".", "tests"]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        return Sitting(done.returncode, (self.folder / "ran").read_text().split("\n")[:-1], done.stdout + done.stderr)

    def words(self) -> str:
        """What docs/measured.md says of the long run."""
        return measured.long_run(measured.standing(ledger.lines(self.folder / "ledger.jsonl")), "aa")

    def outcomes(self) -> dict[str, str]:
        lines = [json.loads(line) for line in (self.folder / "ledger.jsonl").read_text().splitlines()]
        return {line["test"].partition("::")[2]: line["outcome"] for line in lines if "outcome" in line}


@pytest.fixture
def small(tmp_path: Path) -> Small:
    made = Small(tmp_path)
    made.write("tests/conftest.py", CONFTEST)
    made.write("tests/harmless/test_harm.py", HARMLESS)
    made.write("tests/test_measuring.py", MEASURING)
    made.write("crates/product.rs", "one")
    made.write("docs/page.md", "one")
    made.git("init")
    made.git("add", "tests", "crates", "docs")
    made.git("commit", "--message", "begun")
    return made


def test_a_whole_run_is_not_run_again(small: Small) -> None:
    first = small.sit()
    assert (first.exit_code, first.ran) == (0, EVERY), first.words
    assert "7 tests, 0 passed in earlier sittings, 0 of the others failed there; 7 left, 7 of them now" in first.words
    again = small.sit()
    # What was skipped may have what it lacked by now.
    assert (again.exit_code, again.ran) == (0, []), again.words
    assert "7 tests, 6 passed in earlier sittings, 0 of the others failed there; 1 left, 1 of them now" in again.words


def test_a_run_goes_on_where_it_was_stopped(small: Small) -> None:
    small.write("stops", "")
    stopped = small.sit()
    assert stopped.exit_code == pytest.ExitCode.INTERRUPTED and stopped.ran == EVERY[:4], stopped.words
    assert "test_three" not in small.outcomes()
    # A machine that went down in the middle of a line.
    with (small.folder / "ledger.jsonl").open("a") as ledger:
        ledger.write('{"test": "tests/harm')
    (small.folder / "stops").unlink()
    rest = small.sit()
    assert (rest.exit_code, rest.ran) == (0, EVERY[3:]), rest.words
    again = small.sit()
    assert (again.exit_code, again.ran) == (0, []), again.words


def test_what_failed_is_run_again_until_it_passes(small: Small) -> None:
    small.write("fails", "")
    assert small.sit().exit_code == pytest.ExitCode.TESTS_FAILED
    again = small.sit()
    assert (again.exit_code, again.ran) == (pytest.ExitCode.TESTS_FAILED, ["two"]) and "1 of the others failed there" in again.words
    (small.folder / "fails").unlink()
    assert (small.sit().ran, small.outcomes()["test_two"]) == (["two"], "passed")
    assert small.sit().ran == []
    # The page of figures tells of it, until the sources change.
    again = "- passed at the third try: `tests/harmless/test_harm.py::test_two`"
    assert again in small.words()
    small.write("crates/product.rs", "two")
    small.sit()
    assert "try" not in small.words()


def test_a_change_of_the_sources_begins_anew(small: Small) -> None:
    small.sit()
    small.write("docs/page.md", "two")
    assert small.sit().ran == []
    small.git("commit", "--all", "--message", "a page")
    assert small.sit().ran == []
    small.write("tests/test_measuring.py", MEASURING + "# changed\n")
    assert small.sit().ran == ["share", "known"]
    small.write("crates/product.rs", "two")
    assert small.sit().ran == EVERY
    # Committed as it was tried: the same sources.
    small.git("commit", "--all", "--message", "two")
    assert small.sit().ran == []
    small.write("crates/new.rs", "not added yet")
    assert small.sit().ran == EVERY
    small.write("crates/product.rs", "one")
    (small.folder / "crates/new.rs").unlink()
    # As it once was: what passed then has been overtaken by newer outcomes.
    assert small.sit().ran == EVERY


def test_pieces(small: Small) -> None:
    piece = small.sit(PART="tests/test_measuring.py tests/harmless/test_harm.py::test_two")
    assert piece.ran == ["two", "share", "known"] and "7 tests, 0 passed in earlier sittings" in piece.words
    # Tests of no version belong to each choice of versions.
    assert small.sit(VERSIONS="3.13-standalone").ran == ["one 3.13-standalone", "three"]
    nothing = small.sit(PART="tests/test_measuring.py::test_share")
    assert (nothing.exit_code, nothing.ran) == (0, []) and "2 left, 0 of them now" in nothing.words
    assert small.sit().ran == ["one 3.11"]


def test_every_test_with_a_long_form_is_in_the_plan(tmp_path: Path) -> None:
    """What asks for SOAK and is of no long run never does the long amount. `make soak` finds the test of `make cluster`, too."""
    asks = re.compile(r"^(from soak import|import soak)\b", re.MULTILINE)
    files = {str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "tests").rglob("test_*.py") if asks.search(path.read_text())}
    assert len(files) > 10
    options, place = re.search(r"^\t\$\(TOOLS\)/bin/pytest --timeout 0 (.*) (\S+) \|\| failed=1; ", (REPOSITORY / "Makefile").read_text(), re.MULTILINE).groups()
    assert place == "tests"
    variables = {**os.environ, "GENBA_SOAK": "1", "GENBA_FIGURES": str(tmp_path / "ledger.jsonl"), "PART": "", "VERSIONS": ""}
    # A file that is named is collected whatever its name: the folder of `make cluster` stays a folder.
    others = sorted(file for file in files if not file.startswith("tests/serve/"))
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *shlex.split(options), *others, "tests/serve"]
    done = subprocess.run(command, cwd=REPOSITORY, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    [plan] = [line["plan"] for line in map(json.loads, (tmp_path / "ledger.jsonl").read_text().splitlines()) if "plan" in line]
    assert {*files, "tests/serve/cluster.py"} - set(plan) == set(), "neither harmless nor marked with `measures`"


def test_every_function_that_asks_for_a_long_form_is_marked() -> None:
    """The plan tells files. A test without the mark, in a file that has others with it, would do its short amount for ever."""
    asking, unmarked = 0, []
    for path in sorted((REPOSITORY / "tests").rglob("test_*.py")):
        name = path.relative_to(REPOSITORY).as_posix()
        if name.startswith("tests/harmless/"):
            continue
        body = ast.parse(path.read_text()).body
        assigned = [node for node in body if isinstance(node, ast.Assign)]
        # `SOAK`, and what the file makes of it.
        long_names = {"SOAK"} | {one for node in assigned if names_in(node.value) & {"SOAK"} for one in names_in(*node.targets)}
        if any("pytestmark" in names_in(*node.targets) and "measures" in ast.unparse(node.value) for node in assigned):
            continue
        tests = [node for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and names_in(node) & long_names]
        asking += len(tests)
        unmarked += [f"{name}::{test.name}" for test in tests if not any("measures" in ast.unparse(one) for one in test.decorator_list)]
    assert asking >= 5 and unmarked == []


def names_in(*nodes: ast.AST) -> set[str]:
    return {one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name)}
