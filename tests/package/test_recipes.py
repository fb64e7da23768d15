"""docs/recipes/pytest.md, followed as it is written: its commands in a small project and on a run that hangs, its fixture in a suite whose tests
have odd names."""

import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inside import Inside, inside  # noqa: F401  (fixture)
from recording import REPOSITORY, binary

PAGE = (REPOSITORY / "docs/recipes/pytest.md").read_text()
TOOLS = REPOSITORY / "build/tools"
# Four spaces, to the next line with none.
BLOCKS = re.findall(r"(?:^    .*\n(?:^\n(?=    ))?)+", PAGE, re.MULTILINE)

# All of them pass without the fixture.
ODD_NAMES = '''
import pytest

ODD = ["http://example.com/path", pytest.param("x" * 300, id="x" * 300), "../up", "a b#c%d?e", "двадцать/日本語 🎉", "line\\nbreak", "-o", "."]

@pytest.mark.parametrize("text", ODD)
def test_one(recorded, text):
    assert sum(len(text) for _ in range(20_000)) == 20_000 * len(text)

# Alike but for what a file's name cannot hold.
@pytest.mark.parametrize("text", ["a/b", "a:b"])
def test_two(recorded, text):
    assert sum(len(text) for _ in range(20_000)) == 60_000
'''
SHOP = "def prices(count):\n    return sum(number % 7 for number in range(count))\n"
TEST_SHOP = "import sys; sys.path.insert(0, '.')\nfrom shop import prices\n\ndef test_prices():\n    assert prices(1_000_000) > 0\n"
# A worker of pytest-xdist each. Both end by themselves, should nobody end them.
TEST_RUNS = """
import time, threading

def test_waits():
    threading.Event().wait(60)

def test_computes():
    until = time.monotonic() + 60
    while time.monotonic() < until:
        sum(range(1000))
"""
COMMANDS = [line for text in BLOCKS for line in re.findall(r"^    (genba .*)$", text, re.MULTILINE)]


def block(word: str) -> str:
    """The one block of code with that word in it."""
    [found] = [text for text in BLOCKS if word in text]
    return re.sub(r"^    ", "", found, flags=re.MULTILINE)


@pytest.fixture(autouse=True)
def with_tools() -> None:
    if not (TOOLS / "site-packages/xdist").exists():
        pytest.skip("no pytest in build/tools/site-packages (make prepare)")


def test_the_fixture(inside: Inside) -> None:
    workshop = inside.workshop
    workshop.write("conftest.py", block("@pytest.fixture"))
    workshop.write("test_odd.py", ODD_NAMES)
    paths = {"PYTHONPATH": f"{inside.environment['PYTHONPATH']}:{workshop.program('build/tools/site-packages')}"}
    done = inside.run([workshop.interpreter.path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_odd.py"], paths)
    assert done.returncode == 0 and "10 passed" in done.stdout, done.stdout + done.stderr
    outside = workshop.place.outside
    made = sorted(path.relative_to(outside) for path in outside.rglob("*.genba"))
    assert len(made) == 10 and all(len(path.parts) == 1 for path in made), made
    assert not list(outside.parent.glob("*.genba"))
    for path in made:
        # Its end is in it, and both laws are checked when the test is over.
        assert "has no end" not in inside.recording(str(path)).report(), path


def test_the_commands(inside: Inside, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_shop.py").write_text(TEST_SHOP)
    (tmp_path / "shop.py").write_text(SHOP)
    paths = {"PATH": f"{binary().parent}:{TOOLS}/bin:/usr/bin:/bin", "VIRTUAL_ENV": str(TOOLS)}
    commands = [command for command in COMMANDS if not of_a_run(command)]
    assert len(commands) == 10
    for command in commands:
        types(command, tmp_path, inside.workshop.place.environment(paths))


def test_the_commands_on_a_run_that_hangs(inside: Inside, tmp_path: Path) -> None:
    (tmp_path / "test_runs.py").write_text(TEST_RUNS)
    environment = inside.workshop.place.environment({"PATH": f"{binary().parent}:{TOOLS}/bin:/usr/bin:/bin", "VIRTUAL_ENV": str(TOOLS)})
    commands = [command for command in COMMANDS if of_a_run(command)]
    assert len(commands) == 5
    with hanging(tmp_path, environment) as pid:
        said, until = "", time.monotonic() + 60
        while not all(f"  {name} " in said for name in ("test_waits", "test_computes")):
            assert time.monotonic() < until, said
            said = types("genba dump PID --children", tmp_path, environment, pid)
        for command in commands:
            # tests/running/test_top.py types into a terminal.
            if not command.startswith("genba top "):
                types(command, tmp_path, environment, pid)
    assert " test_computes " in types("genba report", tmp_path, environment)
    assert " test_waits " in types("genba report --weight wall --focus test_waits", tmp_path, environment)


def of_a_run(command: str) -> bool:
    """Of one that is there already."""
    return " PID" in command or command.split("#")[0].strip() == "genba ps"


def types(command: str, folder: Path, environment: dict[str, str], pid: int | None = None) -> str:
    words = [str(pid) if word == "PID" else word for word in shlex.split(command, comments=True)]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@contextmanager
def hanging(folder: Path, environment: dict[str, str]) -> Iterator[int]:
    command, environment = ["pytest", "-n", "2"], {**environment, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True) as run:
        try:
            # The workers are there.
            assert run.stdout and any(line.startswith("2 workers [2 items]") for line in run.stdout)
            yield run.pid
        finally:
            # Its workers, too.
            os.killpg(run.pid, signal.SIGKILL)
