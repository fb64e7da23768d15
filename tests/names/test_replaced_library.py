"""A library that is another file by the time its functions are named: no wrong name, and the reason.

Without a build id nothing but the file's time tells. Built here: `first` and `second` have the same place in two versions of one library.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from recording import Run, Workshop

SPIN = "unsigned long NAME(unsigned long n) { unsigned long s = 1; while (n--) s = s * 31 + n; return s; }\n"
PROGRAM = """
import ctypes, os, sys, time
library, other = sys.argv[1:]
spin = ctypes.CDLL(library).first
spin.restype, spin.argtypes = ctypes.c_ulong, [ctypes.c_ulong]
until = time.process_time() + 0.8
while time.process_time() < until:
    spin(1_000_000)
if other != "none":
    # As a compiler writes it.
    os.utime(other)
    os.replace(other, library)
"""


def built(folder: Path, name: str, build_id: str) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("no cc to build a library with")
    made = folder / f"{name}.so"
    source = folder / f"{name}.c"
    source.write_text(SPIN.replace("NAME", name))
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-Wl,--build-id={build_id}", str(source), "-o", str(made)], check=True)
    # As installed long ago.
    os.utime(made, (1, 1))
    return made


def recorded(workshop: Workshop, library: Path, other: Path | None) -> Run:
    library, other = workshop.take(library), workshop.take(other) if other else "none"
    run = workshop.run(workshop.write("app.py", PROGRAM), library, other, flags=("--rate", "1000"))
    assert run.exit_code == 0, run.stderr
    return run


def names(run: Run) -> set[str]:
    return {frame["name"] for row in run.profile().rows() for frame in row.frames if (frame["module"] or "").endswith("first.so")}


@pytest.mark.parametrize("build_id", ["none", "sha1"])
def test_no_wrong_name(workshop: Workshop, tmp_path: Path, build_id: str) -> None:
    first, second = (built(tmp_path, name, build_id) for name in ("first", "second"))
    run = recorded(workshop, first, second)
    assert not {"first", "second"} & names(run), names(run)
    said = [line for line in run.stderr.splitlines() if "first.so" in line and "have no name" in line]
    assert said and said[0].endswith("the file is not the one that was loaded any more; record again"), run.stderr


def test_a_library_that_stays_is_named(workshop: Workshop, tmp_path: Path) -> None:
    run = recorded(workshop, built(tmp_path, "first", "none"), None)
    assert "first" in names(run), names(run)
