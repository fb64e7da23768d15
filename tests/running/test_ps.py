"""`genba ps`: what genba may do with each process, and why not, where the truth is known without it."""

import ctypes
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpreters import pyenv_candidates
from looked_at import started
from recording import Workshop, binary, genba
from test_dump_refusals import NOBODY, needs_root

WAITS = "import sys; print('ready', flush=True); sys.stdin.read()"
SEIZE, DETACH = 0x4206, 17


def row(pid: int, **options: Any) -> dict[str, Any]:
    command = [str(options.pop("command", binary())), "ps", "--format", "json"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, **options).stdout
    page = json.loads(said)
    assert (page["format"], page["version"]) == ("genba-ps", 1)
    (found,) = [row for row in page["processes"] if row["pid"] == pid]
    return found


def may(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["dump"], row["attach"], row["heap"]


def line(pid: int) -> list[str]:
    """Its line of the list, and those below it."""
    lines = genba("ps").stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.split()[0] == str(pid))
    below = [line.strip() for line in lines[at + 1 : at + 3] if line.startswith(" " * 10)]
    return [lines[at], *below]


# As `setproctitle` does: the title, and zeros in the room of the words.
TITLED = """
import ctypes, sys
begin, end = map(int, open("/proc/self/stat").read().rsplit(")", 1)[1].split()[45:47])
ctypes.memset(begin, 0, end - begin)
ctypes.memmove(begin, b"titled worker", 13)
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_title_has_nothing_behind_it(workshop: Workshop) -> None:
    place = workshop.place
    words = [place.interpreter.path, "-c", TITLED, "many words " * 10]
    with started(place.command(words), cwd=place.outside, env=place.environment({})) as program:
        assert row(program.pid)["argv"] == ["titled worker"]
        assert line(program.pid)[0].endswith(" titled worker")
        first = genba("dump", str(program.pid), "--children").stdout.splitlines()[0]
        assert first.endswith(" · titled worker"), first


def test_a_process_that_waits_and_one_that_is_stopped(workshop: Workshop) -> None:
    place = workshop.place
    with started(place.command([place.interpreter.path, "-c", WAITS]), cwd=place.outside, env=place.environment({})) as program:
        found = row(program.pid)
        assert (found["python"], may(found), found["reason"]) == (place.interpreter.version, ("yes", "yes", "yes"), None)
        owner = "system" if place.interpreter.root else None if place.interpreter.is_standalone else "pyenv"
        kind = "BOLT" if place.interpreter.has_tail_calls else None
        assert found["build"] == (", ".join(filter(None, (owner, kind))) or None)
        assert found["user_name"] == pwd.getpwuid(os.geteuid()).pw_name and found["user_name"] in line(program.pid)[0]
        program.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, program.pid, os.WSTOPPED | os.WNOWAIT)
        found = row(program.pid)
        assert may(found) == ("yes", "no", "no") and f"process {program.pid} is stopped" in found["reason"]
        listed, reason, hint = line(program.pid)
        assert "dump only" in listed and "is stopped" in reason and hint == f"hint: kill -CONT {program.pid} lets it go on"


def test_the_words_behind_the_interpreter_are_shown(tmp_path: Path) -> None:
    """However deep its folder is: they tell two workers apart."""
    python = tmp_path / ("deep" * 20) / "python3"
    python.parent.mkdir()
    python.symlink_to(os.path.realpath(sys.executable))
    with started([str(python), "-c", WAITS, "worker"]) as program:
        assert row(program.pid)["argv"][0] == str(python)
        assert f" python3 -c {WAITS} worker"[:60] in line(program.pid)[0]


def test_a_worker_names_its_master() -> None:
    """Else two lines with one command cannot be told apart: which one is to be dumped with --children?"""
    master = (
        "import os, sys\n"
        "worker = os.fork()\n"
        "if worker: print(worker, flush=True)\n"
        "sys.stdin.read()\n"
        "if worker: os.waitpid(worker, 0)\n"
    )
    with started([sys.executable, "-c", master]) as program:
        worker = int(program.said)
        assert (row(program.pid)["parent"], row(worker)["parent"]) == (os.getpid(), program.pid)
        listed = {words[0]: words[1] for words in map(str.split, genba("ps").stdout.splitlines()) if len(words) > 1}
        assert listed["PID"] == "PPID"
        assert (listed[str(program.pid)], listed[str(worker)]) == (str(os.getpid()), str(program.pid))


def test_a_traced_process() -> None:
    older = next(iter(pyenv_candidates("3.13")), None)
    if older is None:
        pytest.skip("no CPython 3.13 in pyenv")
    libc = ctypes.CDLL(None, use_errno=True)
    with started([str(older), "-c", WAITS]) as program:
        if libc.ptrace(SEIZE, program.pid, None, None):
            pytest.skip("ptrace is forbidden here")
        found = row(program.pid)
        # Before 3.14 there is no way in but ptrace, which is taken.
        assert may(found) == ("unverified", "no", "no") and not found["stoppable"]
        assert f"process {os.getpid()}" in found["reason"] and found["hint"]
        assert "read only" in line(program.pid)[0]
        program.process.send_signal(signal.SIGKILL)
        os.waitpid(program.pid, 0)


def test_an_older_python() -> None:
    older = next(iter(pyenv_candidates("3.10")), None)
    if older is None:
        pytest.skip("no CPython 3.10 in pyenv")
    with started([str(older), "-c", WAITS]) as program:
        found = row(program.pid)
        assert may(found) == ("no", "no", "no") and not found["readable"]
        assert "older than CPython 3.11" in found["reason"] and found["hint"].startswith("genba knows CPython 3.11 to 3.15")
        listed, reason, hint = line(program.pid)
        assert " no " in listed and reason == found["reason"] and hint == f"hint: {found['hint']}"


@pytest.fixture
def for_nobody(tmp_path: Path) -> Iterator[Path]:
    folder = Path("/tmp") / f"genba-ps-{os.getpid()}"
    folder.mkdir(mode=0o755)
    yield Path(shutil.copy2(binary(), folder / "genba"))
    shutil.rmtree(folder)


@needs_root
def test_a_process_of_another_user(for_nobody: Path) -> None:
    with started([sys.executable, "-c", WAITS]) as program:
        found = row(program.pid, command=for_nobody, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")
        assert may(found) == ("no", "no", "no") and (found["user"], found["python"], found["build"]) == (0, None, None)
        assert f"it belongs to user 0, genba runs as user {NOBODY}" in found["reason"] and "root" in found["hint"]
