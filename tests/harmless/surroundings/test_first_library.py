"""A preloaded library that must be the first one in the program: AddressSanitizer's runtime ends the program where another one comes before it."""

from pathlib import Path

import pytest

from preloaded import Preloaded, behind_and_before, build
from recording import Workshop

PROGRAM = """
import os, subprocess, sys, time
until = time.process_time() + 0.2
while time.process_time() < until: sum(range(1000))
print(os.environ["LD_PRELOAD"].split(":")[0].rpartition("/")[2], flush=True)
again = {"PATH": os.environ["PATH"], "LD_PRELOAD": sys.argv[1]}
# What is started with a list that genba is not in: its library puts itself in front, but not of this one.
if len(sys.argv) == 2: sys.exit(subprocess.run([sys.executable, *sys.argv, "child"], env=again).returncode)
sys.exit(7)
"""


@pytest.fixture(scope="session")
def comes_first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = build(tmp_path_factory.mktemp("first"), "comes_first")
    return built.rename(built.with_name("libasan.so.8"))


@behind_and_before
def test_a_library_that_must_come_first(workshop: Workshop, comes_first: Path, place: str) -> None:
    library = workshop.take(comes_first)
    target = [workshop.interpreter.path, workshop.write("first.py", PROGRAM), library]
    program = Preloaded(workshop, library, target)
    alone = program.alone()
    assert (alone.returncode, alone.stdout) == (7, "libasan.so.8\n" * 2), alone
    run = program.recorded(place)
    assert (run.exit_code, run.stdout) == (7, alone.stdout), run.stderr
    run.check_laws()
    assert len(run.profile()["processes"]) == 2, run.stderr
