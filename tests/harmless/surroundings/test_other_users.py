"""Programs of another user below root's genba: `setpriv`, a static launcher, `subprocess` with `user=`. They cannot open the recording by its path, and are in it."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from built import PROGRAMS
from other_users import NOBODY, READER, root_alone
from recording import Workshop, binary, genba_said

pytestmark = root_alone

WORK = """
import os, sys, time
def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(3000))
def of_another_user(): burn(0.3)
def in_its_child(): burn(0.2)
recording, *program = sys.argv[1:]
try: os.open(recording, os.O_WRONLY | os.O_APPEND)
except OSError: print(os.getresuid(), sorted(os.listdir("/proc/self/fd"))[:3])
of_another_user()
if program: os.posix_spawn(program[0], program, os.environ), os.wait()
child = os.fork()
if child == 0:
    in_its_child()
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
STARTS = """
import subprocess, sys
print(subprocess.run(sys.argv[1:], capture_output=True, text=True))
"""


def test_they_are_recorded(workshop: Workshop) -> None:
    if workshop.interpreter.root is not None:
        pytest.skip("the programs that start them are outside of that root")
    work = workshop.write("work.py", WORK)
    recording = f"{workshop.place.inside}/recording-of-nobody"
    Path(recording).touch(mode=0o600)
    words = [*READER, workshop.interpreter.path, work, recording]
    starts = workshop.write("starts.py", STARTS)
    alone = subprocess.run([workshop.interpreter.path, starts, *words], capture_output=True, text=True, timeout=60)
    run = workshop.run(starts, *words)
    assert (run.exit_code, run.stdout) == (0, alone.stdout), run.stderr
    assert f"({NOBODY}, {NOBODY}, {NOBODY})" in run.stdout and "stderr=''" in run.stdout, run.stdout
    profile = run.profile()
    assert len(profile["processes"]) == 3 and not run.report_json()["not_followed"], run.stderr
    for function in ("of_another_user", "in_its_child"):
        assert profile.sum("samples", lambda row, name=function: name in row.names()) > 0, function


ASKS = r"""
import fcntl, json, os, socket
[door] = [part for part in os.environ["GENBA_SESSION"].split(";") if part.startswith("door=")]
device, inode, name, secret = door.removeprefix("door=").split(",")
def asks(which, words):
    asker = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    asker.bind(f"\0genba-test-{os.getpid()}-{which}")
    asker.settimeout(60)
    asker.sendto(words.encode(), "\0" + name)
    return asker
strangers = [asks(0, "0" * len(secret)), asks(1, secret[:-1]), asks(2, "")]
# One thread answers, in the order of the questions.
_, files, _, _ = socket.recv_fds(asks(3, secret), 1, 2)
answered = 0
for stranger in strangers:
    stranger.setblocking(False)
    try: answered += len(socket.recv_fds(stranger, 1, 2)[1])
    except BlockingIOError: pass
flags, found = fcntl.fcntl(files[0], fcntl.F_GETFL), os.fstat(files[0])
is_the_recording = (found.st_dev, found.st_ino) == (int(device), int(inode))
print(json.dumps([answered, is_the_recording, flags & 3 == os.O_WRONLY, bool(flags & os.O_APPEND)]))
"""


def test_the_recording_is_for_the_secret_alone(workshop: Workshop) -> None:
    """Names of abstract sockets can be listed by everybody. Who has the secret can write into the recording, and not read it."""
    run = workshop.run(workshop.write("asks.py", ASKS))
    assert run.answer() == [0, True, True, True], run.stderr


@pytest.fixture
def open_folder() -> Iterator[Path]:
    folder = Path("/tmp") / f"genba-others-{os.getpid()}"
    (folder / "cache").mkdir(mode=0o755, parents=True)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("launcher", ["setpriv", "static"])
def test_they_load_the_library(open_folder: Path, launcher: str) -> None:
    """Root's cache is made so that others can reach the library, and nothing else in it."""
    python = "/usr/bin/python3"
    if not Path(python).exists():
        pytest.skip("no Python here that every user may execute")
    (open_folder / "work.py").write_text(WORK)
    recording = open_folder / "nobody's.genba"
    gosu = str(open_folder / "gosu")
    subprocess.run(["gcc", "-static", PROGRAMS / "gosu.c", "-o", gosu], check=True)
    # The other user's process starts one that cannot be followed, which is counted as any other.
    words = [python, str(open_folder / "work.py"), str(recording), gosu]
    if launcher == "static":
        words = ["sh", "-c", 'exec "$0" "$@"', gosu, "nobody", *words]
    else:
        words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *words]
    environment = {**os.environ, "XDG_CACHE_HOME": str(open_folder / "cache")}
    done = subprocess.run(
        [binary(), "run", "-o", recording, "--quiet", *words], cwd=open_folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    # A loader that cannot open the library says so on stderr.
    assert (done.returncode, done.stderr) == (0, ""), done
    stacks = genba_said("export", recording, "--to", "collapsed", "-o", "-")
    assert "of_another_user" in stacks and "in_its_child" in stacks, stacks
    rows = json.loads(genba_said("report", recording, "--format", "json"))["not_followed"]
    assert {(row["reason"], row["count"]) for row in rows} == {("static", 1 + (launcher == "static"))}, rows
    modes = {place.name: place.stat().st_mode & 0o777 for place in (open_folder / "cache/genba").iterdir() if place.is_dir()}
    assert all(mode & 0o077 == 0 for mode in modes.values()), modes
    assert (open_folder / "cache/genba").stat().st_mode & 0o777 == 0o711
