"""A program run twice, without genba and under it: its output, its words and its exit code must be the same.

Owns: that comparison, and the C libraries that the programs of this folder load. Never: judges the recording (the workshop does).
"""

import subprocess
from pathlib import Path

import pytest

from built import PROGRAMS
from recording import RUN_SECONDS_MAX, Run, Workshop


def without_genba(workshop: Workshop, target: list[str]) -> subprocess.CompletedProcess:
    place = workshop.place
    return subprocess.run(
        place.command(target), cwd=place.outside, env=place.environment({}), capture_output=True, text=True,
        timeout=RUN_SECONDS_MAX,
    )


def same_both_ways(workshop: Workshop, program: str, *arguments: str, flags: tuple[str, ...] = ()) -> Run:
    """Runs it both ways and compares; the run under genba is given back."""
    target = [workshop.interpreter.path, program, *arguments]
    alone = without_genba(workshop, target)
    run = workshop.run_target(target, flags=("--quiet", *flags))
    # genba's words for a program that a signal ended are a shell's: 128 and the signal's number.
    expected = alone.returncode if alone.returncode >= 0 else 128 - alone.returncode
    got, wanted = (run.stdout, words_of(run.stderr), run.exit_code), (alone.stdout, alone.stderr, expected)
    assert got == wanted, f"under genba: {got}\nalone: {wanted}"
    return run


def words_of(stderr: str) -> str:
    """Without the warnings that genba gives about its own recording."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not line.startswith(("warning: ", "note: ")))


def built(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """tests/programs/NAME.c as a shared library."""
    library = tmp_path_factory.mktemp(name) / f"{name}.so"
    source = str(PROGRAMS / f"{name}.c")
    subprocess.run(["cc", "-O1", "-w", "-shared", "-fPIC", "-pthread", source, "-o", str(library)], check=True)
    return library
