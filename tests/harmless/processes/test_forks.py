"""Forks: what they leave in memory, and what becomes of a recording when one cannot wait for the sampler."""

import json

from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from recording import Workshop

GENERATIONS = 200
PAGE_KB = 4

CHAIN = """
import json, os, sys, time
def anonymous_kb():
    [line] = [line for line in open("/proc/self/status") if line.startswith("RssAnon")]
    return int(line.split()[1])
def work():
    until = time.process_time() + 0.004
    while time.process_time() < until: sum(range(300))
seen = {}
for generation in range(int(sys.argv[1]) + 1):
    work()
    seen[generation] = anonymous_kb()
    if os.fork(): os._exit(0)
print(json.dumps(seen))
"""


def test_a_chain_of_forks_needs_no_more_from_one_to_the_next(workshop: Workshop) -> None:
    """Each process is the child of the last, so that what one leaves in its memory all later ones have."""
    run = workshop.run(workshop.write("chain.py", CHAIN), str(GENERATIONS), flags=("--quiet",))
    assert run.exit_code == 0, run.stderr
    seen = {int(generation): kb for generation, kb in json.loads(run.stdout).items()}
    settled = 20
    grown_kb = seen[GENERATIONS] - seen[settled]
    assert grown_kb <= (GENERATIONS - settled) * PAGE_KB, seen
    assert len(run.profile()["processes"]) >= GENERATIONS


# The recording is a full pipe: the sampler waits in its write, as it would for a file server that is gone. Whoever makes room for all that
# waits gets each block whole.
HELD_UP = """
import fcntl, os, threading, time, warnings
from genba import _agent
from genba._session import Options

warnings.simplefilter("ignore", DeprecationWarning)
PATH, PIPE_BYTES = os.path.abspath("pipe"), 1 << 20
os.mkfifo(PATH)
pipe = os.open(PATH, os.O_RDWR | os.O_NONBLOCK)
fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
recording = open("held-up.genba", "wb", buffering=0)

def drain():
    try:
        while True: recording.write(os.read(pipe, PIPE_BYTES))
    except BlockingIOError:
        return

def fill():
    filled_bytes = 0
    try:
        while True: filled_bytes += os.write(pipe, bytes(4096))
    except BlockingIOError:
        return filled_bytes

def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(1000))

def fork(what):
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        what()
        os._exit(0 if _agent.state().is_recording else 1)
    return child, time.monotonic() - begun >= 2

def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def wait_and_work():
    os.read(freed, 1)
    work(0.3)

def read_on():
    while not stopped.is_set():
        drain()
        stopped.wait(0.01)
    drain()

options = Options(None, None, True, True, False, {})
assert _agent.start(options.encode(PATH))[0] == 0
work(0.05)
assert _agent.pause(True)[0] == 0
drain()
filled_bytes = fill()
assert _agent.pause(False)[0] == 0
freed, free = os.pipe()
print("mark", _agent.mark("late")[0].name)
first, has_waited = fork(wait_and_work)
print(has_waited)
second, has_waited = fork(lambda: work(0.05))
print(has_waited, ended(second))
print("mark", _agent.mark("held up")[0].name)
print("pause", _agent.pause(True)[0].name, _agent.state().is_paused)
assert len(os.read(pipe, filled_bytes)) == filled_bytes
stopped = threading.Event()
reader = threading.Thread(target=read_on)
reader.start()
# Until the sampler has come out of its write.
while _agent.mark("written")[0].name != "DONE": pass
os.write(free, b".")
print(ended(first))
third, has_waited = fork(lambda: work(0.3))
print(has_waited, ended(third))
assert _agent.stop()[0] == 0
stopped.set()
reader.join()
print(first, second, third)
"""


def test_a_fork_that_finds_the_sampler_held_up(inside: Inside) -> None:
    """It waits for two seconds and goes on without, the next one at once. The recording goes on when the sampler can, says so, and holds
    the child that lived as long."""
    *lines, pids = inside.said(HELD_UP)
    assert lines == ["mark LATE", "True", "False 0", "mark LATE", "pause LATE False", "0", "False 0"]
    first, second, third = map(int, pids.split())
    profile = inside.recording("held-up.genba").profile()
    processes = {process["pid"]: process for process in profile["processes"]}
    # Nobody stood in front of `os._exit`: how these two children ended is not known, and the second wrote nothing.
    assert second not in processes and {first, third} < set(processes), processes.keys()
    parents = {processes[child]["parent"] for child in (first, third)}
    assert [profile["processes"][parent]["parent"] for parent in parents] == [None], parents
    notes = [mark["text"] for mark in profile["marks"] if mark["kind"] == "note"]
    parent_notes = [text for text in notes if "did not wait" in text]
    child_notes = [text for text in notes if "begins anew" in text]
    assert (len(parent_notes), len(child_notes)) == (1, 1), notes
    # What could not be told as done in time was taken back, unless the sampler had it before it was held up.
    marks = {mark["text"] for mark in profile["marks"] if mark["kind"] == "program"}
    assert {"written"} <= marks <= {"late", "written"}


def test_a_mark_that_cannot_be_written_is_not_told_as_done(inside: Inside) -> None:
    lines = inside.said(
        """
import resource
from genba import _agent
genba.start("full.genba")
copies(20)
print(_agent.mark("written")[0].name)
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize("full.genba") + 1, resource.RLIM_INFINITY))
print(_agent.mark("lost")[0].name, genba.is_active())
"""
    )
    assert lines == ["DONE", "NOT_RECORDING False"]
