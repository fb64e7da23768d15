"""Forks, execs and their storms, daemons, and a debugger or strace beside genba: the program's outcome is the same."""

import os
import shutil
import subprocess

import pytest

from both_ways import same_both_ways
from recording import Workshop
from soak import SOAK


FAST = ("--rate", "10000")

# Every other image is replaced while it blocks all signals: a sample is pending then, and stays so into the next one.
CHAIN = """
import os, signal, sys, time
left = int(sys.argv[1])
pending = signal.sigtimedwait([signal.SIGURG], 0) if signal.SIGURG in signal.pthread_sigmask(signal.SIG_BLOCK, []) else None
if pending is not None:
    sys.exit(f"a signal came through: {pending}")
signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals() if left % 2 else [])
until = time.process_time() + 0.002
while time.process_time() < until: sum(range(100))
if left:
    os.execv(sys.executable, [sys.executable, "-I", "-S", __file__, str(left - 1)])
print("last", os.getpid() > 0)
"""


def test_a_chain_of_execs_at_10_khz(workshop: Workshop) -> None:
    """In the long form 7,000 over all versions: what goes wrong in one exec of 2,300 does not stay hidden (at 95 %)."""
    same_both_ways(workshop, workshop.write("chain.py", CHAIN), str(1000 if SOAK else 40), flags=FAST)


FORKS = """
import os, sys, threading, time
stop = threading.Event()
def work():
    while not stop.is_set(): sum(range(1000))
def fork(count):
    for _ in range(count):
        child = os.fork()
        if child == 0:
            os._exit(7)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
codes = []
workers = [threading.Thread(target=work) for _ in range(3)]
[worker.start() for worker in workers]
forker = threading.Thread(target=fork, args=[int(sys.argv[1])])
forker.start(); forker.join(); stop.set()
[worker.join() for worker in workers]
print(len(codes), set(codes))
"""


def test_forks_from_a_thread_while_others_run(workshop: Workshop) -> None:
    """In the long form 14,000 over all versions. Python's own warning about them is the same with and without genba."""
    target = [workshop.interpreter.path, "-W", "ignore", workshop.write("forks.py", FORKS), str(2000 if SOAK else 40)]
    run = workshop.run_target(target, flags=("--quiet", *FAST))
    assert (run.exit_code, run.stdout) == (0, f"{target[-1]} {{7}}\n"), run.stderr


STORM = """
import os, subprocess, sys, threading
results = []
def storm(count):
    for turn in range(count):
        if turn % 2:
            results.append(subprocess.run(["/bin/sh", "-c", "exit 3"]).returncode)
        else:
            child = os.posix_spawn("/bin/sh", ["sh", "-c", "kill -TERM $$"], os.environ)
            results.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
threads = [threading.Thread(target=storm, args=[int(sys.argv[1])]) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(sorted(set(results)), len(results))
"""


def test_vfork_and_posix_spawn_storms(workshop: Workshop) -> None:
    """Four threads start programs at once: subprocess by vfork, os.posix_spawn by its own."""
    same_both_ways(workshop, workshop.write("storm.py", STORM), str(500 if SOAK else 15), flags=FAST)


DAEMON = """
import os, sys, time
def work():
    until = time.process_time() + 0.4
    while time.process_time() < until: sum(range(100))
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2): os.dup2(nowhere, number)
    with open(sys.argv[1]) as begin: begin.read()
    work()
    with open(sys.argv[2], "w") as done: done.write(str(os.getpid()))
    os._exit(0)
os.wait()
print("begun")
"""


def test_a_daemon_outlives_the_run(workshop: Workshop) -> None:
    """The run ends with the program; its report says that the daemon goes on, and the daemon's own samples come later."""
    place = workshop.place
    for name in ("begin", "done"):
        os.mkfifo(place.outside / name)
    run = workshop.run(workshop.write("daemon.py", DAEMON), f"{place.inside}/begin", f"{place.inside}/done")
    try:
        assert (run.exit_code, run.stdout) == (0, "begun\n"), run.stderr
        assert "process that it started still runs" in run.stderr and "may still grow" in run.stderr, run.stderr
    finally:
        with open(place.outside / "begin", "w") as begin:
            begin.write("now")
        pid = int((place.outside / "done").read_text())
    profile = run.profile()
    process = profile.process_of(pid)
    assert profile.sum("samples", lambda row: row.process == process and "work" in row.names()) > 0


WATCHED = """
import os, signal, sys, time
came = []
signal.signal(signal.SIGUSR1, lambda *_: came.append(1))
until = time.process_time() + 0.3
while time.process_time() < until: sum(range(100))
os.kill(os.getpid(), signal.SIGUSR1)
while not came: pass
child = os.fork()
if child == 0: os._exit(4)
print(len(came), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
sys.exit(5)
"""


def tool(workshop: Workshop, name: str) -> str:
    if workshop.interpreter.root is not None:
        pytest.skip(f"{name} would have to be in the Debian sid, beside its Python")
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} on this machine (make prepare, as root)")
    return found


@pytest.mark.parametrize("who", ["genba runs strace", "strace runs genba"])
def test_under_strace(workshop: Workshop, who: str) -> None:
    """strace stops the program at each system call and each signal."""
    strace = [tool(workshop, "strace"), "-f", "-qq", "-o", "/dev/null"]
    target = [workshop.interpreter.path, workshop.write("watched.py", WATCHED)]
    if who == "genba runs strace":
        run = workshop.run_target([*strace, *target], flags=("--quiet",))
    else:
        place = workshop.place
        command = [*strace, place.genba_inside, "run", "--quiet", "-o", f"{place.inside}/traced.genba", *target]
        process = subprocess.Popen(
            command, cwd=place.outside, env=place.environment({}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        run = workshop.finish(process, "traced.genba")
    assert (run.exit_code, run.stdout) == (5, "1 4\n"), run.stderr


def test_under_gdb(workshop: Workshop) -> None:
    gdb = tool(workshop, "gdb")
    program = workshop.write("watched.py", WATCHED)
    commands = ["set confirm off", "set debuginfod enabled off", "handle SIGUSR1 nostop noprint pass", "run"]
    flags = [flag for command in commands for flag in ("-ex", command)]
    target = [gdb, "-nx", "-batch", "-return-child-result", *flags, "--args", workshop.interpreter.path, program]
    run = workshop.run_target(target, flags=("--quiet",))
    assert run.exit_code == 5, run.stderr
    assert "1 4\n" in run.stdout and "received signal" not in run.stdout, run.stdout


def test_threads_that_block_all_signals(workshop: Workshop) -> None:
    """By a raw system call: they are not sampled while they run, and the looks say so. One at a time, so that none falls asleep with a
    question open."""
    text = (
        "import ctypes, threading, time\nSYS_rt_sigprocmask, SIG_BLOCK = 14, 0\n"
        "def hidden():\n"
        "    ctypes.CDLL(None).syscall(SYS_rt_sigprocmask, SIG_BLOCK, ctypes.byref(ctypes.c_uint64(2**31 - 1)), None, 8)\n"
        "    until = time.thread_time() + 0.3\n    while time.thread_time() < until: sum(range(100))\n"
        "for _ in range(4):\n    thread = threading.Thread(target=hidden)\n    thread.start()\n    thread.join()\nprint('done')\n"
    )
    run = same_both_ways(workshop, workshop.write("masked.py", text), flags=FAST)
    assert run.report_json()["accounting"]["refused"].get("masked", 0) > 0
