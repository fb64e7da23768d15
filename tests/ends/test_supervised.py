"""What a supervisor gives to the process that it starts is the program's, also where that process is `genba run`: the signal at the supervisor's own
end, and the sockets and the watchdog of systemd, beside which it writes a pid."""

import os
import select
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import interpreters
from recording import binary

WITH_AND_WITHOUT = pytest.mark.parametrize("is_recorded", [False, True], ids=["alone", "recorded"])


@pytest.fixture(scope="module")
def python() -> str:
    return interpreters.from_pyenv()[-1].path


def command(folder: Path, is_recorded: bool, *target: str) -> list[str]:
    return [str(binary()), "run", "--quiet", "-o", str(folder / "app.genba"), *target] if is_recorded else [*target]


def environment(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}


# It starts the command, which ends with it, waits until the program says something, and ends.
SUPERVISOR = """
import ctypes, os, subprocess, sys
prctl, PR_SET_PDEATHSIG, SIGKILL = ctypes.CDLL(None).prctl, 1, 9
kept = int(sys.argv[1])
subprocess.Popen(sys.argv[2:], pass_fds=[kept], preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, SIGKILL), stdout=subprocess.PIPE).stdout.read(1)
os._exit(0)
"""


@WITH_AND_WITHOUT
def test_the_program_ends_with_the_supervisor(tmp_path: Path, python: str, is_recorded: bool) -> None:
    (tmp_path / "app.py").write_text("import time\nprint('begins', flush=True)\ntime.sleep(60)\n")
    open_until, kept = os.pipe()
    target = command(tmp_path, is_recorded, python, "app.py")
    supervisor = [sys.executable, "-c", SUPERVISOR, str(kept), *target]
    done = subprocess.run(supervisor, cwd=tmp_path, env=environment(tmp_path), pass_fds=[kept], stderr=subprocess.PIPE, timeout=60)
    os.close(kept)
    # The pipe ends with the last process that has it: the program.
    ended = bool(select.select([open_until], [], [], 60)[0]) and os.read(open_until, 1) == b""
    os.close(open_until)
    assert done.returncode == 0 and ended, done.stderr


# What becomes the command has its pid. Newer versions say the inode of its pidfd, too, which is a process's own since Linux 6.9.
SYSTEMD = """
import os, sys
own, inode = str(os.getpid()), str(os.fstat(os.pidfd_open(os.getpid())).st_ino)
os.environ.update(LISTEN_PID=own, LISTEN_PIDFDID=inode, LISTEN_FDS="1", WATCHDOG_PID=own, SYSTEMD_EXEC_PID=own)
os.dup2(0, 3)
os.execvp(sys.argv[1], sys.argv[1:])
"""
ACTIVATED = """
import os, socket, subprocess, sys
own = str(os.getpid())
print([os.environ[name] == own for name in ("LISTEN_PID", "WATCHDOG_PID", "SYSTEMD_EXEC_PID")], socket.socket(fileno=3).getsockname()[0], flush=True)
print(os.environ.get("LISTEN_PIDFDID") in (None, str(os.fstat(os.pidfd_open(os.getpid())).st_ino)), flush=True)
# A child finds what it would find without genba: its parent's number.
says = "import os; print(os.environ['LISTEN_PID'] == str(os.getppid()))"
subprocess.run([sys.executable, "-c", says], check=True)
"""


@WITH_AND_WITHOUT
@pytest.mark.parametrize("launcher", [[], ["sh", "-c", 'exec "$@"', "sh"]], ids=["itself", "by a shell"])
def test_sockets_and_watchdog_of_systemd(tmp_path: Path, python: str, is_recorded: bool, launcher: list[str]) -> None:
    (tmp_path / "app.py").write_text(ACTIVATED)
    target = command(tmp_path, is_recorded, *launcher, python, "app.py")
    with socket.create_server(("127.0.0.1", 0)) as listens:
        started = [sys.executable, "-c", SYSTEMD, *target]
        done = subprocess.run(started, cwd=tmp_path, env=environment(tmp_path), stdin=listens, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "[True, True, True] 127.0.0.1\nTrue\nTrue\n"), done.stderr
