"""docs/recipes/pytest.md, followed as it is written: its commands in a small project and on a run that hangs, its fixture in a suite whose tests
have odd names."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inside import Inside, inside  # noqa: F401  (fixture)
from recipes import TOOLS, block, commands, environment, of_a_run, of_a_terminal, types, watches

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
TEST_SHOP = """
import sys; sys.path.insert(0, '.')
import pytest
from shop import prices

@pytest.fixture
def sold():
    return prices(1_500_000)

def test_prices(sold):
    assert prices(5_000_000) > sold
"""
# A worker of pytest-xdist each. Both end by themselves, should nobody end them.
TEST_RUNS = """
import time, threading

def test_waits():
    threading.Event().wait(600)

def test_computes():
    until = time.monotonic() + 600
    while time.monotonic() < until:
        sum(range(1000))
"""
COMMANDS = commands("pytest")


@pytest.fixture(autouse=True)
def with_tools() -> None:
    if not (TOOLS / "site-packages/xdist").exists():
        pytest.skip("no pytest in build/tools/site-packages (make prepare)")


def test_the_fixture(inside: Inside) -> None:
    workshop = inside.workshop
    workshop.write("conftest.py", block("pytest", "@pytest.fixture"))
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
    typed = [command for command in COMMANDS if not of_a_run(command)]
    assert len(typed) == 12
    said = {command: types(command, tmp_path, environment(inside.workshop)) for command in typed}
    [fixtures] = [screen for command, screen in said.items() if "call_fixture_func" in command]
    assert re.search(r"%.* test_shop\.py:\d+ sold\b", fixtures) and "test_prices" not in fixtures.split("\n\n", 1)[1], fixtures
    [tests] = [screen for command, screen in said.items() if "--by test" in command]
    assert "--focus 'call_fixture_func|setUp'" in tests, tests


def test_the_commands_on_a_run_that_hangs(inside: Inside, tmp_path: Path) -> None:
    (tmp_path / "test_runs.py").write_text(TEST_RUNS)
    shell = environment(inside.workshop)
    typed = [command for command in COMMANDS if of_a_run(command)]
    assert len(typed) == 5
    with hanging(tmp_path, shell) as pid:
        said, until = "", time.monotonic() + 60
        while not all(f"  {name} " in said for name in ("test_waits", "test_computes")):
            assert time.monotonic() < until, said
            said = types("genba dump PID --children", tmp_path, shell, pid)
        watches(typed, tmp_path, shell, pid, " test_computes ")
        # The newest recording is that of `genba attach`.
        for command in typed:
            if not of_a_terminal(command):
                types(command, tmp_path, shell, pid)
    assert " test_computes " in types("genba report", tmp_path, shell)
    assert " test_waits " in types("genba report --weight wall --focus test_waits", tmp_path, shell)


@contextmanager
def hanging(folder: Path, shell: dict[str, str]) -> Iterator[int]:
    command, shell = ["pytest", "-n", "2"], {**shell, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=folder, env=shell, stdout=subprocess.PIPE, text=True, start_new_session=True) as run:
        try:
            # The workers are there.
            assert run.stdout and any(line.startswith("2 workers [2 items]") for line in run.stdout)
            yield run.pid
        finally:
            # Its workers, too.
            os.killpg(run.pid, signal.SIGKILL)
