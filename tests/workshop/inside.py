"""`import genba` in a test's place: the package and the command as `pip install --target` puts them, and programs that use it.

Owns: that folder, how such a program is run and its recordings are found. Never: starts `genba run` by itself.
"""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from compiled import link_or_copy
from looks import LOOKS
from recording import REPOSITORY, RUN_SECONDS_MAX, Run, Workshop, binary

# Every program begins with this: work that is known by its name.
WORK = LOOKS + '''
import os, sys, time
import genba

DATA = bytes(400_000)

def copies(milliseconds):
    """The first slice copies what is left of DATA. Some milliseconds a turn: where a thread reads its CPU clock the kernel takes its CPU away. Where
    it is recorded, and not for a moment only, it goes on until genba has looked a few times."""
    until, count, enough = time.process_time() + milliseconds / 1000, 0, min(milliseconds // 10, 10)
    looked = Looked() if enough else None
    while time.process_time() < until or looked and genba.is_active() and not looked.often(enough):
        for start in range(300):
            count += len(DATA[start:][:2])
    return count

def before(milliseconds):
    return copies(milliseconds)

def during(milliseconds):
    return copies(milliseconds)

def after(milliseconds):
    return copies(milliseconds)
'''


@dataclass
class Inside:
    """Programs that record themselves."""

    workshop: Workshop

    @property
    def environment(self) -> dict[str, str]:
        return {"PYTHONPATH": f"{self.workshop.place.inside}/site"}

    def python(self, text: str, *arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        """Runs WORK and `text` as a program of its own."""
        program = self.workshop.write("program.py", WORK + text)
        return self.run([self.workshop.interpreter.path, program, *arguments], environment)

    def run(self, command: list[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        place = self.workshop.place
        return subprocess.run(
            place.command(command),
            cwd=place.outside,
            env=place.environment({**self.environment, **(environment or {})}),
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS_MAX,
        )

    def said(self, text: str, *arguments: str, environment: dict[str, str] | None = None) -> list[str]:
        """The lines that the program printed; it ended well and said nothing else."""
        done = self.python(text, *arguments, environment=environment)
        assert (done.returncode, done.stderr) == (0, ""), f"{done.returncode}\n{done.stderr}\n{done.stdout}"
        return done.stdout.splitlines()

    def recording(self, name: str) -> Run:
        """One that a program made; both laws are checked for it like for all others."""
        run = Run(0, "", "", self.workshop.place.outside / name)
        assert run.recording.exists(), sorted(path.name for path in self.workshop.place.outside.iterdir())
        if run.recording not in [known.recording for known in self.workshop.runs]:
            self.workshop.runs.append(run)
        return run

    def functions(self, name: str) -> set[str]:
        """Names of the Python functions that stand in a recording's stacks."""
        rows = self.recording(name).profile().rows()
        return {frame["name"] for row in rows for frame in row.frames if frame["kind"] == "python"}


@pytest.fixture
def inside(workshop: Workshop) -> Inside:
    site = workshop.place.outside / "site"
    (site / "bin").mkdir(parents=True)
    shutil.copytree(REPOSITORY / "python/genba", site / "genba", ignore=shutil.ignore_patterns("__pycache__"))
    link_or_copy(str(binary()), str(site / "bin/genba"))
    return Inside(workshop)


def spins(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0
