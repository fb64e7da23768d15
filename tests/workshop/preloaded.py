"""Libraries of tests/programs that are preloaded into a program, and write into a file which functions genba's library called (preloaded.h).

Owns: how one is built, and the program's runs with it: alone, and with genba. Never: knows which functions a library has.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from built import PROGRAMS
from recording import Run, Workshop

# Set for the program alone, so that genba's library puts itself in front of it, or for `genba run`, too.
behind_and_before = pytest.mark.parametrize("place", ["behind", "before"])


def build(folder: Path, name: str) -> Path:
    library = folder / f"{name}.so"
    subprocess.run(["cc", "-O1", "-w", "-shared", "-fPIC", str(PROGRAMS / f"{name}.c"), "-o", str(library), "-ldl"], check=True)
    return library


@dataclass
class Preloaded:
    """`target` with that library, whose path is the one that the program sees."""

    workshop: Workshop
    library: str
    target: list[str]

    @property
    def variables(self) -> dict[str, str]:
        return {"CALLED": f"{self.workshop.place.inside}/called", "LD_PRELOAD": self.library}

    @property
    def command(self) -> list[str]:
        return ["env", *(f"{name}={value}" for name, value in self.variables.items()), *self.target]

    def alone(self) -> subprocess.CompletedProcess:
        place = self.workshop.place
        return subprocess.run(place.command(self.command), cwd=place.outside, env=place.environment({}), capture_output=True, text=True, timeout=120)

    def recorded(self, place: str) -> Run:
        if place == "behind":
            return self.workshop.run_target(self.command)
        return self.workshop.run_target(self.target, environment=self.variables)

    def called(self) -> list[str]:
        """The lines that the library wrote in the run before, and in no earlier one."""
        file = self.workshop.place.outside / "called"
        lines = file.read_text().splitlines()
        file.unlink()
        return lines
