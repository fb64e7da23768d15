"""Pages for a screen: no line is wider than the terminal, and a pipe gets each line whole; what the readers' options leave of a page."""

import fcntl
import json
import os
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest

import interpreters
from recording import binary, genba, genba_said
from terminal import until_the_end_of

# One line that is wider than any of the windows, and calls that are deeper than they are wide.
APP = """\
import re

def deep(depth):
    return deep(depth - 1) if depth else max(len(re.sub('x+', 'y', f'{number} is {number}')) + 1 for number in range(400_000))

deep(60)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("screens")
    (made / "app.py").write_text(APP)
    return made


@pytest.fixture(scope="module")
def python() -> str:
    return interpreters.from_pyenv()[-1].path


@pytest.fixture(scope="module")
def recording(folder: Path, python: str) -> Path:
    done = genba("run", "--quiet", "--python", python, "-o", "quiet.genba", "app.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "quiet.genba"


def on_screen(folder: Path, columns: int, *words: str) -> list[str]:
    """The lines that a terminal of this width shows."""
    screen, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "NO_COLOR": "1", "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.Popen([str(binary()), *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal)
    page = until_the_end_of(done, screen, terminal)
    assert done.returncode == 0, page.decode()
    # A progress line is wiped from its begin on.
    return [line.rpartition("\r")[2].rpartition("\x1b[K")[2] for line in page.decode().replace("\r\n", "\n").splitlines()]


def test_no_line_is_wider_than_the_terminal(folder: Path, python: str) -> None:
    closing = on_screen(folder, 80, "run", "--python", python, "-o", "app.genba", "app.py")
    assert any(line.startswith("ticks ") for line in closing), closing
    assert [line for line in closing if len(line) > 80] == []
    for words in (["report"], ["report", "--by", "function"], ["tree"], ["tree", "--inverted"], ["lines"]):
        for columns in (80, 120, 160):
            page = on_screen(folder, columns, *words, "app.genba")
            assert [line for line in page if len(line) > columns] == [], (words, columns)
            assert any("deep" in line for line in page), (words, page)
    piped = genba_said("report", folder / "app.genba").splitlines()
    assert len(max(piped, key=len)) > 100 and not any(line.strip().startswith("→") for line in piped), piped


def test_a_tree_shows_no_more_children_than_asked_for(recording: Path) -> None:
    def branches(*words: str) -> list[dict]:
        return json.loads(genba_said("tree", recording, "--weight", "cpu", "--format", "json", *words))["branches"]

    def children(rows: list[dict]) -> list[list[dict]]:
        of_parent: dict[int | None, list[dict]] = {}
        for row in rows:
            of_parent.setdefault(row["parent"], []).append(row)
        return list(of_parent.values())

    everything = children(branches("--sort", "self", "--limit", "0"))
    limited = children(branches("--sort", "self", "--limit", "1"))
    assert max(map(len, everything)) > 1 == max(map(len, limited))
    for group in everything:
        assert [row["cpu_ns"] for row in group] == sorted((row["cpu_ns"] for row in group), reverse=True)
    for group in children(branches()):
        assert [row["total_cpu_ns"] for row in group] == sorted((row["total_cpu_ns"] for row in group), reverse=True)
    assert re.search(r"\(\d+ more paths? not shown\)", genba_said("tree", recording, "--limit", "1", "--min-share", "0"))
    refused = genba("tree", recording, "--sort", "name")
    assert refused.returncode == 2 and "[possible values: self, total]" in refused.stderr, refused.stderr


def test_lines_are_python_s_whatever_is_shown(recording: Path) -> None:
    plain = genba_said("lines", recording, "--format", "json")
    assert genba_said("lines", recording, "--format", "json", "--show", "python") == plain
    assert genba_said("lines", recording, "--format", "json", "--show", "both") == plain
    refused = genba("lines", recording, "--show", "c")
    assert refused.returncode == 2 and "invalid value 'c' for '--show <WHAT>'" in refused.stderr, refused.stderr
    assert "[possible values: both, python]" in refused.stderr, refused.stderr
