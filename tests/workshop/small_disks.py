"""A file system of its own for one test, with as little room as the test says."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recording import Workshop


@contextmanager
def small_disk_of(workshop: Workshop, room: str) -> Iterator[Path]:
    """`room` as tmpfs is told: `size=1m`, `nr_inodes=16`. In the folder `small` of the test's place."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    folder = workshop.place.outside / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", room, "small", str(folder)], capture_output=True).returncode:
        pytest.skip("mounting is not permitted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
