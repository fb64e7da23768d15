"""`genba run` in place of a process that others leave their children to: pid 1 of a container, and the end of a shell script that started some. None of
them stays a zombie, and the program's signals and exit code are its own."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from recording import Workshop

# A process whose parent is gone belongs to pid 1. The pipe ends with the last of them.
ORPHANS = """
import os, signal, sys, time

def orphan(does):
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            does()
        os._exit(0)
    os.waitpid(child, 0)

def stat(path):
    try:
        return open(path).read().rpartition(") ")[2].split()
    except OSError:
        return ["gone"]

def zombies():
    return sum(stat(f"/proc/{name}/stat")[0] == "Z" for name in os.listdir("/proc") if name.isdigit())

def reaped():
    "As a server does that used to be pid 1 itself."
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        if not zombies():
            return 0
    return zombies()
"""
SERVES = ORPHANS + """
ended, open_until = os.pipe()
def leave():
    os.close(ended)
    sum(range(20_000))
    os._exit(3)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
for _ in range(20):
    orphan(leave)
os.close(open_until)
os.read(ended, 1)
print("zombies", reaped(), flush=True)
while True:
    signal.pause()
"""
# Orphans that a signal stops or ends are news, too: of the one that stays stopped they are told once.
STOPS = ORPHANS + """
told, tell = os.pipe()
def stop():
    os.write(tell, b"%d " % os.getpid())
    os.kill(os.getpid(), signal.SIGSTOP)
def end():
    os.write(tell, b"%d " % os.getpid())
    signal.signal(signal.SIGRTMIN, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGRTMIN)
orphan(stop)
stopped = int(os.read(told, 100))
while stat(f"/proc/{stopped}/stat")[0] != "T":
    pass
orphan(end)
os.read(told, 100)
print("zombies", reaped())
# genba sleeps until the next news, once it has had a CPU to take these by.
until = time.monotonic() + 60
while stat("/proc/1/task/1/stat")[0] != "S" and time.monotonic() < until:
    pass
print("asleep", time.monotonic() < until, flush=True)
os.kill(os.getpid(), int(sys.argv[1]))
"""
# Of the shell that became genba.
INHERITS = """
import os, time
def zombies():
    children = open(f"/proc/{os.getppid()}/task/{os.getppid()}/children").read().split()
    return sum(open(f"/proc/{pid}/stat").read().rpartition(") ")[2][0] == "Z" for pid in children)
until = time.monotonic() + 60
while zombies() and time.monotonic() < until:
    sum(range(1000))
print("zombies", zombies())
raise SystemExit(4)
"""


def in_a_container(workshop: Workshop, name: str, text: str, *arguments: str) -> subprocess.Popen:
    """genba as pid 1 of its own pid namespace, as an image's CMD starts it."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a pid namespace with a /proc of its own needs root and unshare (util-linux)")
    place = workshop.place
    target = [workshop.interpreter.path, workshop.write("contained.py", text), *arguments]
    command = place.command([place.genba_inside, "run", "-q", "-o", f"{place.inside}/{name}", *target])
    # The /proc that the program sees, also where it is in a folder of its own.
    proc = f"{workshop.interpreter.root or ''}/proc"
    return subprocess.Popen(
        ["unshare", "--pid", "--fork", f"--mount-proc={proc}", *command], cwd=place.outside, env=place.environment({}), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )


def test_orphans_are_reaped_and_docker_stop_arrives(workshop: Workshop) -> None:
    process = in_a_container(workshop, "served.genba", SERVES)
    try:
        assert process.stdout.readline() == "zombies 0\n"
        [genba] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(genba), signal.SIGTERM)
        run = workshop.finish(process, "served.genba")
    finally:
        process.kill()
    assert (run.exit_code, run.stdout) == (5, ""), run.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_orphans_that_signals_stop_or_end(workshop: Workshop, number: signal.Signals) -> None:
    """The end of genba is that of the namespace, and of the process that is still stopped."""
    run = workshop.finish(in_a_container(workshop, "stopped.genba", STOPS, str(number.value)), "stopped.genba")
    assert (run.exit_code, run.stdout) == (128 + number, "zombies 0\nasleep True\n"), run.stderr


def test_children_of_the_shell_that_became_genba(workshop: Workshop) -> None:
    """`helper & exec genba run app.py`, as the scripts do that images begin with."""
    place = workshop.place
    genba = f"{place.genba_inside} run -q -o {place.inside}/shell.genba"
    line = f"true & exec {genba} {workshop.interpreter.path} {workshop.write('inherits.py', INHERITS)}"
    process = subprocess.Popen(
        place.command(["/bin/sh", "-c", line]), cwd=place.outside, env=place.environment({}), text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    run = workshop.finish(process, "shell.genba")
    assert (run.exit_code, run.stdout) == (4, "zombies 0\n"), run.stderr
