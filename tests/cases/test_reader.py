"""A reader who knows nothing of genba follows three pages: types the printed commands, makes the change of the section on the fix in a copy of
slow.py, and the page's proof names the reader's own program as the winner.

Owns: the reader's copy of a case, in which the changed program takes the place of fixed.py, and how a change is applied. Never: how commands run and what
their output must show (make/case.py).
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interpreters import Interpreter
from places import make_place
from recording import REPOSITORY, Place
from test_casebook import CASES, RUNNER, case_at

pytestmark = pytest.mark.measures

FOLLOWED = ("hello-again", "bytes-slice", "json-ascii")
FIX = re.compile(r"^\*\*The fix\.\*\*.*?^```diff\n(?P<change>.*?)^```$.*?^\*\*The proof\.\*\*", re.MULTILINE | re.DOTALL)
HUNK = re.compile(r"^@@ -(?P<line>\d+),\d+ \+\d+,\d+ @@\n(?P<lines>(?:[ +-].*\n)+)", re.MULTILINE)
# No two runs take the same time.
TIME = re.compile(r"[\d.]+ s of CPU")


def changed(program: str, change: str) -> str:
    """The program after the change, which must fit the lines that it names."""
    hunks = list(HUNK.finditer(change))
    assert hunks and "".join(hunk[0] for hunk in hunks) == change, f"a change is `@@ -LINE,… @@` and lines that begin with ` `, `-` or `+`:\n{change}"
    lines = program.splitlines()
    # The last hunk first: it moves no lines of the others.
    for hunk in reversed(hunks):
        begin, marked = int(hunk["line"]) - 1, hunk["lines"].splitlines()
        old, new = ([line[1:] for line in marked if line[0] in signs] for signs in (" -", " +"))
        assert lines[begin:begin + len(old)] == old, f"slow.py differs from the page at line {hunk['line']}"
        lines[begin:begin + len(old)] = new
    return "\n".join(lines) + "\n"


def change_of(name: str) -> str:
    fix = FIX.search((REPOSITORY / f"casebook/{name}/README.md").read_text())
    assert fix, f"casebook/{name}/README.md states no change in its section on the fix"
    return fix["change"]


def printed(place: Place, program: str) -> str:
    command = place.command([place.interpreter.path, program])
    done = subprocess.run(command, cwd=place.outside, env=place.environment({}), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return TIME.sub("a time", done.stdout)


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_page_leads_to_the_fix(python: Interpreter, name: str, request: pytest.FixtureRequest) -> None:
    place = make_place(python, request, "reader")
    folder = place.outside / "casebook" / name
    shutil.copytree(REPOSITORY / "casebook" / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "fixed.py").rename(folder / "given.py")
    (folder / "fixed.py").write_text(changed((folder / "slow.py").read_text(), change_of(name)))
    assert printed(place, f"casebook/{name}/fixed.py") == printed(place, f"casebook/{name}/given.py")

    (place.outside / "make").mkdir()
    shutil.copy(RUNNER, place.outside / "make")
    (place.outside / "python").symlink_to(f"{place.repository_inside}/python")
    done = case_at(place, name, f"{place.inside}/make/case.py")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_index_says_where_to_type_the_commands(tmp_path: Path) -> None:
    index = (REPOSITORY / "casebook/README.md").read_text()
    (line,) = re.findall(r"^    (checkout=.+)$", index, re.MULTILINE)
    typed = f"{line}; pwd; {sys.executable} -B casebook/hello-again/fixed.py"
    done = subprocess.run(["bash", "-c", typed], cwd=REPOSITORY, env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(f"{tmp_path}/") and done.stdout.endswith("\n5798\n"), done


@pytest.mark.parametrize("name", CASES)
def test_a_reader_sees_every_command(name: str) -> None:
    """The page prints every command that make/case.py runs: a reader, too, makes each file that a later command reads."""
    page = (REPOSITORY / f"casebook/{name}/README.md").read_text()
    assert re.findall(r"^```console\n\$ (.+)$", page, re.MULTILINE) == re.findall(r"^<!-- case: (.+)$", page, re.MULTILINE)


@pytest.mark.parametrize(
    "change",
    ["@@ -2,1 +2,1 @@\n-three\n+3\n", "@@ -1,1 +1,1 @@\n-two\n+2\n", "two becomes 2\n", "@@ -2,1 +2,1 @@\n-two\n+2\nand so on\n"],
    ids=["no such line", "elsewhere", "in words", "half in words"],
)
def test_a_change_that_does_not_fit_is_refused(change: str) -> None:
    assert changed("one\ntwo\n", "@@ -2,1 +2,1 @@\n-two\n+2\n") == "one\n2\n"
    with pytest.raises(AssertionError):
        changed("one\ntwo\n", change)
