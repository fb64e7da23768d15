"""Pages for a screen: no line is wider than the terminal, and a pipe gets each line whole."""

import fcntl
import os
import struct
import subprocess
import termios
from pathlib import Path

import pytest

import interpreters
from recording import binary, genba_said

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


def on_screen(folder: Path, columns: int, *words: str) -> list[str]:
    """The lines that a terminal of this width shows."""
    screen, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "NO_COLOR": "1", "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.Popen([str(binary()), *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal)
    os.close(terminal)
    page = b""
    try:
        while block := os.read(screen, 4096):
            page += block
    except OSError:  # EIO: nobody has the terminal open any more.
        pass
    os.close(screen)
    assert done.wait(timeout=120) == 0, page.decode()
    # A progress line is wiped from its begin on.
    return [line.rpartition("\r")[2].rpartition("\x1b[K")[2] for line in page.decode().replace("\r\n", "\n").splitlines()]


def test_no_line_is_wider_than_the_terminal(folder: Path) -> None:
    python = next((one.path for one in reversed(interpreters.found()) if one.root is None), None)
    if python is None:
        pytest.skip("no CPython outside of the Debian sid")
    closing = on_screen(folder, 80, "run", "--python", python, "-o", "app.genba", "app.py")
    assert any(line.startswith("ticks ") for line in closing), closing
    assert [line for line in closing if len(line) > 80] == []
    for words in (["report"], ["report", "--by", "function"], ["tree"], ["tree", "--inverted"], ["lines"]):
        for columns in (80, 160):
            page = on_screen(folder, columns, *words, "app.genba")
            assert [line for line in page if len(line) > columns] == [], (words, columns)
            assert any("deep" in line for line in page), (words, page)
    piped = genba_said("report", folder / "app.genba").splitlines()
    assert len(max(piped, key=len)) > 100 and not any(line.strip().startswith("→") for line in piped), piped
