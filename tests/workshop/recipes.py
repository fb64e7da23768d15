"""Pages of docs/recipes, followed as they are written: their blocks of code, and their commands as a reader types them.

Owns: finding both, and the environment of that reader's shell. Never: judges what a command prints.
"""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from multiplexer import Window
from recording import REPOSITORY, Workshop, binary

TOOLS = REPOSITORY / "build/tools"
# As long as a program may need to come up beside other tests.
COMES_UP_SECONDS = 60
# Columns and lines. The last words of `genba top` are one line of it.
SCREEN = 200, 60


def blocks(name: str) -> list[str]:
    """The blocks of docs/recipes/NAME.md: four spaces, to the next line with none."""
    page = (REPOSITORY / f"docs/recipes/{name}.md").read_text()
    return re.findall(r"(?:^    .*\n(?:^\n(?=    ))?)+", page, re.MULTILINE)


def block(name: str, word: str) -> str:
    """The one block of code with that word in it."""
    [found] = [text for text in blocks(name) if word in text]
    return re.sub(r"^    ", "", found, flags=re.MULTILINE)


def commands(name: str) -> list[str]:
    return [line for text in blocks(name) for line in re.findall(r"^    (genba .*)$", text, re.MULTILINE)]


def of_a_run(command: str) -> bool:
    """Of one that is there already."""
    return " PID" in command or command.split("#")[0].strip() == "genba ps"


def of_a_terminal(command: str) -> bool:
    """`watches` types into one."""
    return command.startswith("genba top ")


def environment(workshop: Workshop, **more: str) -> dict[str, str]:
    path = f"{binary().parent}:{TOOLS}/bin:{TOOLS}/site-packages/bin:/usr/bin:/bin"
    return workshop.place.environment({"PATH": path, "VIRTUAL_ENV": str(TOOLS), **more})


def words_of(command: str, pid: int | None) -> list[str]:
    return [str(pid) if word == "PID" else word for word in shlex.split(command, comments=True)]


def types(command: str, folder: Path, environment: dict[str, str], pid: int | None = None) -> str:
    done = subprocess.run(words_of(command, pid), cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def follow(typed: list[str], folder: Path, shell: dict[str, str], pid: int | None = None) -> dict[str, str]:
    """What each command printed, by its words before a comment. A recording takes two seconds."""
    said = {}
    for command in typed:
        if not of_a_terminal(command):
            words = command.split("#")[0].strip()
            said[words] = types(words.replace("--duration 30s", "--duration 2s").replace("--duration 10s", "--duration 2s"), folder, shell, pid)
    return said


def watches(typed: list[str], folder: Path, shell: dict[str, str], pid: int, is_there: str | Callable[[str], bool]) -> None:
    """The one command that has a terminal: `q` ends it when its screen shows that, and the process goes on."""
    [command] = filter(of_a_terminal, typed)
    # tmux says what its terminal is.
    environment = {name: value for name, value in shell.items() if name != "TERM"}
    with closing(Window(folder, shlex.join(words_of(command, pid)), *SCREEN, **environment)) as window:
        window.until(is_there)
        window.types("q")
        code, page = window.ends()
    assert code == 0 and "the process goes on, its recording has ended: " in page, page


@contextmanager
def running(words: list[str], folder: Path, shell: dict[str, str]) -> Iterator[subprocess.Popen]:
    """What it prints is in the file `said`."""
    with (
        (folder / "said").open("w") as said,
        subprocess.Popen(words, cwd=folder, env=shell, stdout=said, stderr=subprocess.STDOUT, start_new_session=True) as process,
    ):
        try:
            yield process
        finally:
            if process.poll() is None:
                # Its children, too.
                os.killpg(process.pid, signal.SIGKILL)
