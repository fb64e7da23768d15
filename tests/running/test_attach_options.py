"""Options that `genba attach` has in common with `genba run`: each reaches the agent, and the recording shows it."""

import re
from pathlib import Path

import pytest

from recording import REPOSITORY, Workshop
from running_program import started

# Interval in ns, budget in thousandths, whether C is recorded.
ASKED = {
    "plain": ((), (1_000_000, 20, True)),
    "interval": (("--interval", "3ms", "--no-native"), (3_000_000, None, False)),
    "rate": (("--rate", "500"), (2_000_000, None, True)),
    "budget": (("--budget", "5%"), (1_000_000, 50, True)),
}


@pytest.mark.parametrize("asked", ASKED)
def test_how_often_and_what_is_recorded(workshop: Workshop, asked: str) -> None:
    flags, expected = ASKED[asked]
    with started(workshop, workshop.program("tests/programs/attached.py")) as program:
        run = program.recorded("options.genba", "--duration", "300ms", "--quiet", *flags)
        program.end()
    assert "recording process" not in run.stderr and "ticks " not in run.stderr, run.stderr
    (process,) = run.profile()["processes"]
    kinds = {frame["kind"] for frame in run.profile()["frames"]}
    assert (process["interval_ns"], process["budget_per_mille"], process["native"]) == expected
    assert "python" in kinds and ("c" in kinds) == process["native"], kinds


PARENT = """\
import subprocess, sys
waits = [sys.executable, "-c", "print('ready', flush=True); input()"]
with subprocess.Popen(waits, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
    child.stdout.readline()
    print("ready", flush=True)
    sys.stdin.readline()
    child.kill()
print("{}")
"""


def test_children_are_left_alone_where_asked(workshop: Workshop) -> None:
    with started(workshop, workshop.write("parent.py", PARENT)) as program:
        (child,) = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
        run = program.recorded("parent.genba", "--duration", "500ms", "--quiet", "--no-children")
        assert "genba-agent" not in Path(f"/proc/{child}/maps").read_text()
        program.end()
    assert [process["pid"] for process in run.profile()["processes"]] == [program.pid]


def test_the_library_that_stays_is_as_large_as_the_pages_say(workshop: Workshop) -> None:
    with started(workshop, workshop.program("tests/programs/attached.py")) as program:
        program.recorded("size.genba", "--duration", "300ms", "--quiet")
        maps = Path(f"/proc/{program.pid}/maps").read_text().splitlines()
        program.end()
    ranges = [line.split()[0].split("-") for line in maps if "genba-agent" in line]
    mapped_bytes = sum(int(end, 16) - int(start, 16) for start, end in ranges)
    for page in ("docs/attach.md", "docs/production.md"):
        (told,) = re.findall(r"library stays mapped \((\d+) MB\)", (REPOSITORY / page).read_text())
        assert round(mapped_bytes / 1e6) == int(told), (page, mapped_bytes)
