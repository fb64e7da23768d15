"""Children that C code forks past CPython (without `PyOS_AfterFork_Child`), as uWSGI forks its workers: their first thread has its own frames.

Owns: such forks, by ctypes with the GIL held, beside a thread that is not in the child though its thread state is. Never: forks while a thread
waits for the GIL: CPython itself would hang in the child.
"""

import json
from pathlib import Path

import pytest

from entered import few
from profile_tables import RUNNING, Profile
from recording import Workshop, genba_said
from running_program import started, until_it_holds

FORKS = """
import ctypes, os, signal, sys, threading, time

fork = ctypes.PyDLL(None).fork

def in_read(tid):
    # The thread has given up the GIL.
    while not open(f"/proc/self/task/{tid}/syscall").read().startswith("0 "): pass

def reads(end): os.read(end, 1)

def spin(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: sum(range(2000))

def write_block():
    # Before another program takes over, also where that is none.
    try: os.execv(os.__file__, ["no program"])
    except OSError: pass

def later():
    spin(0.2)
    # While the thread is there: each block asks for its name again.
    write_block()
    spin(0.2)

def works():
    thread = threading.Thread(target=later, name="later")
    thread.start()
    spin(0.6)
    thread.join()
    write_block()

def goes_on(parent):
    print("ready", flush=True)
    while os.getppid() == parent: spin(0.01)

def forks(left, work):
    pid = fork()
    if pid == 0:
        if left: waits_for(forks(left - 1, work))
        else: work()
        os._exit(0)
    return pid

def waits_for(pid):
    assert os.waitpid(pid, 0)[1] == 0

def in_thread(begin):
    in_read(os.getpid())
    waits_for(forks(0, works))
    os.write(begin, b".")

stays = threading.Thread(target=reads, args=[os.pipe()[0]], daemon=True)
stays.start()
in_read(stays.native_id)
if sys.argv[1] == "thread":
    end, begin = os.pipe()
    thread = threading.Thread(target=in_thread, args=[begin], name="forking")
    thread.start()
    os.read(end, 1)
    thread.join()
elif sys.argv[1] == "goes on":
    parent = os.getpid()
    pid = forks(0, lambda: goes_on(parent))
    sys.stdin.readline()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    print("{}")
else:
    waits_for(forks(int(sys.argv[1]), works))
"""
# The thread that is not in the child.
NEVER = "reads"


def samples(profile: Profile, pid: int, *functions: str, first: bool = True) -> int:
    """Of a process, in its first thread or in the others, with any of these functions; of all without."""
    threads, index = profile["threads"], profile.process_of(pid)
    return profile.sum(
        "samples",
        lambda row: row.process == index
        and row.state in RUNNING
        and (threads[row.thread]["tid"] == pid) == first
        and (not functions or not set(functions).isdisjoint(row.names())),
    )


@pytest.mark.parametrize("how", ["0", "1", "thread"], ids=["a child", "its child", "of a thread"])
def test_its_first_thread_has_its_frames(workshop: Workshop, how: str) -> None:
    run = workshop.run(workshop.write("forks.py", FORKS), how, flags=("--rate", "1000"))
    assert run.exit_code == 0, run.stderr
    run.check_laws()
    profile = run.profile()
    [index] = {row.process for row in profile.rows() if "works" in row.names()}
    pid = profile["processes"][index]["pid"]
    first, all_of_first = samples(profile, pid, "works"), samples(profile, pid)
    # 600 ms of its own, 400 ms of the thread that it made.
    assert first >= 60 and first >= all_of_first * 0.9, (first, all_of_first, profile.facts())
    assert samples(profile, pid, "later", first=False) >= 40, profile.facts()
    assert (samples(profile, pid, "later", NEVER), samples(profile, pid, "works", NEVER, first=False)) == (0, 0)
    names = {thread["tid"]: thread["name"] for thread in profile["threads"] if thread["process"] == index}
    assert names[pid] == ("forking" if how == "thread" else "MainThread") and "later" in names.values(), names


@few
def test_from_outside(workshop: Workshop) -> None:
    with started(workshop, workshop.write("forks.py", FORKS), "goes on") as program:
        [pid] = map(int, Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split())
        [process] = json.loads(genba_said("dump", str(pid), "--format", "json"))["processes"]
        with program.recording("child.genba", "--rate", "1000", pid=pid) as run:
            until_it_holds(run, lambda profile: samples(profile, pid, "goes_on") >= 50)
        assert program.end() == {}
    profile = run.profile()
    [thread] = process["threads"]
    names = [frame["name"] for frame in thread["frames"]]
    assert thread["name"] == "MainThread" and "goes_on" in names and NEVER not in names, thread
    first, all_of_first = samples(profile, pid, "goes_on"), samples(profile, pid)
    assert first >= 50 and first >= all_of_first * 0.9, (first, all_of_first, profile.facts())
    assert samples(profile, pid, NEVER) == 0
