"""Source text in recordings: the user's own files whole, of an installed package the lines around hits; readers show both."""

import base64
import gzip
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

import interpreters
from recording import binary, genba_said

LIBRARY_LINES = 3000
BEGINS = {"first": 700, "second": 2400}
# A function whose samples are on one line, below its first one.
BUSY = "def {name}(count):\n    total = 0\n    for number in range(count):\n        total += number % 7  # hot in {name}\n    return total"
APP = """\
import bulk

bulk.first(4_000_000)
bulk.second(4_000_000)
""" + "".join(f"# line {number}\n" for number in range(5, 601))


def library() -> str:
    lines = [f"# line {number}" for number in range(1, LIBRARY_LINES + 1)]
    for name, begin in BEGINS.items():
        function = BUSY.format(name=name).splitlines()
        lines[begin - 1 : begin - 1 + len(function)] = function
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a program and a package it uses, whose files are gone."""
    found = interpreters.from_pyenv()
    folder = tmp_path_factory.mktemp("sources")
    packages = folder / "site-packages"
    packages.mkdir()
    (folder / "app.py").write_text(APP)
    (packages / "bulk.py").write_text(library())
    command = [str(binary()), "run", "--quiet", "-o", "app.genba", found[-1].path, "app.py"]
    done = subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(packages)}, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    (folder / "app.py").unlink()
    (packages / "bulk.py").unlink()
    return folder / "app.genba"


@pytest.fixture(scope="module")
def exported(recording: Path) -> dict:
    out = recording.with_suffix(".json")
    genba_said("export", "--to", "json", recording, "-o", out)
    return json.loads(out.read_text())


def source(exported: dict, name: str) -> dict:
    (found,) = (row for row in exported["sources"] if row["path"].endswith(f"/{name}"))
    return found


def test_the_user_s_own_file_is_whole(exported: dict) -> None:
    assert source(exported, "app.py")["chunks"] == [{"first_line": 1, "text": APP}]


def test_of_a_package_the_lines_around_hits_are_stored(exported: dict) -> None:
    row = source(exported, "bulk.py")
    assert row["lines"] == LIBRARY_LINES
    text = library().splitlines(keepends=True)
    stored = set()
    for chunk in row["chunks"]:
        first, lines = chunk["first_line"], chunk["text"].splitlines(keepends=True)
        assert lines == text[first - 1 : first - 1 + len(lines)]
        stored |= set(range(first, first + len(lines)))
    for begin in BEGINS.values():
        assert stored >= set(range(begin, begin + 5)), row["chunks"]
    # Two functions of five lines, twenty above and below each, and the first line of the module.
    assert len(stored) <= 2 * 45 + 21


def test_readers_show_both(recording: Path) -> None:
    own = genba_said("lines", recording)
    library = genba_said("lines", recording, "--file", "bulk.py")
    page = recording.with_suffix(".html")
    genba_said("html", recording, "-o", page)
    (packed,) = re.findall(r'data-numbers="gzip\+base64">([^<]*)<', page.read_text())
    numbers = json.loads(gzip.decompress(base64.b64decode(packed)))
    stored = "".join(chunk["text"] for row in numbers["profile"]["sources"] for chunk in row["chunks"])
    for name in BEGINS:
        assert f"bulk.{name}(4_000_000)" in own, own
        assert f"def {name}(count):" in library and f"# hot in {name}" in library, library
        assert f"bulk.{name}(4_000_000)" in stored and f"# hot in {name}" in stored
