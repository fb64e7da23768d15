"""The gate of docs/reading/diff.md, run as it is written there: it fails for a program that became slower for certain, and for nothing else."""

import json
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from recording import REPOSITORY, genba_said

PAGE = (REPOSITORY / "docs/reading/diff.md").read_text()


def log_of_vmprof(counts: tuple[int, int], *, backwards: bool = False) -> bytes:
    """Format 1, which tells no clock: so many samples of `load` and of `save` below `main`, in turns."""
    name = lambda address, text: b"\x02" + struct.pack("<qq", address, len(text)) + text
    head = struct.pack("<5q", 0, 3, 0, 1000, 0) + b"\x05\x00\x01\x07cpython"
    names = name(16, b"py:main:1:/app/app.py") + name(32, b"py:load:3:/app/app.py") + name(48, b"py:save:9:/app/app.py")
    load, save = (b"\x01" + struct.pack("<5q", 1, 2, address, 16, 1) for address in (32, 48))
    whole = sum(counts)
    # As many of each behind any part of the run as belong there.
    turns = [load if (at + 1) * counts[0] // whole > at * counts[0] // whole else save for at in range(whole)]
    return head + names + b"".join(reversed(turns) if backwards else turns) + b"\x03"


def gate(folder: Path, page: dict) -> subprocess.CompletedProcess[str]:
    [script] = re.findall(r"(?m)^    import json, sys\n(?:    .*\n|\n)+", PAGE)
    (folder / "gate.py").write_text(re.sub(r"(?m)^    ", "", script))
    (folder / "diff.json").write_text(json.dumps(page))
    return subprocess.run([sys.executable, "gate.py"], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("after", "exit_code"),
    [((1_000, 1_000), 0), ((3_000, 1_000), 1), ((200, 1_000), 0), ((1_050, 1_000), 0)],
    ids=["equal", "slower", "faster", "slower by what nobody can tell"],
)
def test_it_fails_for_a_certain_slow_down_only(tmp_path: Path, after: tuple[int, int], exit_code: int) -> None:
    for name, counts in (("before", (1_000, 1_000)), ("after", after)):
        # Equal logs would be copies of one.
        (tmp_path / f"{name}.vmprof").write_bytes(log_of_vmprof(counts, backwards=name == "after"))
    page = json.loads(genba_said("diff", "--format", "json", tmp_path / "before.vmprof", tmp_path / "after.vmprof"))
    done = gate(tmp_path, page)
    assert (done.returncode, done.stdout, done.stderr) == (exit_code, page["verdict"] + "\n", "")
    # What was not compared, it passes with the reason: `certain` is false everywhere then, as the comparison itself writes it.
    refused = {**page, "comparable": False, "reason": "unlike", "verdict": "not comparable: unlike", "whole": {**page["whole"], "certain": False}}
    done = gate(tmp_path, refused)
    assert (done.returncode, done.stdout) == (0, "not comparable: unlike\n")


def test_counts_of_calls_pass_it_with_the_reason(tmp_path: Path) -> None:
    """Of two `.prof` files nobody knows how much their times differ from run to run."""
    files = [REPOSITORY / "testdata/imports" / name for name in ("cprofile-3.13.0.prof", "profile-3.13.0.prof")]
    for before, after in (files, files[::-1]):
        page = json.loads(genba_said("diff", "--format", "json", before, after))
        whole = page["whole"]
        assert whole["certain"] is False and whole["after_ns"] != whole["before_ns"]
        assert page["comparable"] is False and page["reason"] in page["verdict"]
        done = gate(tmp_path, page)
        assert (done.returncode, done.stdout, done.stderr) == (0, page["verdict"] + "\n", "")
