"""Forks: what they leave in memory and in the kernel, and what becomes of a recording when one cannot wait for the sampler."""

import json
from pathlib import Path

import pytest

from both_ways import built, same_both_ways
from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from recording import Workshop
from seccomp import FILTER

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


# It begins threads before it forks, on purpose.
BESIDE_THE_LOCK = """
import ctypes, os, sys, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
library = ctypes.CDLL(sys.argv[1])

def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(1000))

def before(): burn(0.05)
def in_the_parent(): burn(0.4)
def in_the_child(): burn(0.4)
def in_the_grandchild(): burn(0.4)
def ended(child): return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

before()
library.begin()
in_the_parent()
child = os.fork()
if child == 0:
    in_the_child()
    grandchild = os.fork()
    if grandchild == 0:
        in_the_grandchild()
        os._exit(0)
    os._exit(ended(grandchild))
print(ended(child))
library.end()
"""


@pytest.fixture(scope="session")
def linker_lock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("linker_lock", tmp_path_factory)


def test_a_thread_that_holds_the_linker_s_lock(workshop: Workshop, linker_lock: Path) -> None:
    """The sampler needs none of it, and in a child, where nobody gives it back, waits for it least of all."""
    run = workshop.run(workshop.write("beside.py", BESIDE_THE_LOCK), workshop.take(linker_lock))
    assert run.answer() == 0, run.stderr
    profile = run.profile()
    assert [process["ended"] for process in profile["processes"]] == ["exit"] * 3, run.check().stdout
    assert [mark["text"] for mark in profile["marks"] if mark["kind"] == "note"] == []
    for function in ("in_the_parent", "in_the_child", "in_the_grandchild"):
        # Looked at many times in these 0.4 s, not once after them.
        assert profile.sum("samples", lambda row: function in row.names()) > 10, function


QUEUE = """
import ctypes, os, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
name, came = b"/genba-test-%d" % os.getpid(), []
signal.signal(signal.SIGUSR1, lambda number, frame: came.append(number))
class Event(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signal", ctypes.c_int), ("how", ctypes.c_int), ("rest", ctypes.c_char * 48)]

def work():
    until = time.process_time() + 0.03
    while time.process_time() < until: sum(range(1000))

def in_a_child(what):
    child = os.fork()
    if child == 0:
        what()
        os._exit(0)
    os.waitpid(child, 0)
    work()

queue = libc.mq_open(name, os.O_RDWR | os.O_CREAT, 0o600, None)
libc.mq_unlink(name)
print(queue >= 0, libc.mq_notify(queue, ctypes.byref(Event(None, signal.SIGUSR1, 0))))
work()
for _ in range(3): in_a_child(lambda: None)
in_a_child(lambda: libc.mq_send(queue, b"x", 1, 0))
print(came == [signal.SIGUSR1])
try: print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError: print("no child")
"""


def test_a_message_queue_still_tells_after_a_fork(workshop: Workshop) -> None:
    """A close of genba's own copy of the descriptor ends the notification that the program asked for."""
    same_both_ways(workshop, workshop.write("queue.py", QUEUE))


# A file server that does not answer: a filter holds up each question whether the recording may be written, and another process sees who asks.
# The first sampler was there before the filter; the second one is held up, until the fork that waits for it has gone on without.
UNANSWERED = FILTER + """
import fcntl, json, select, socket, time
WHETHER_WRITABLE, RECEIVE, SEND, GO_ON = [269, 439], 0xC0502100, 0xC0182101, 1
ours, theirs = socket.socketpair()
forks = os.getpid()

def go_on(question): fcntl.ioctl(listener, SEND, struct.pack("QqiI", question, 0, 0, GO_ON))

def work():
    until = time.process_time() + 0.05
    while time.process_time() < until: sum(range(1000))

def fork():
    child = os.fork()
    if child == 0: os._exit(0)
    os.waitpid(child, 0)
    work()

if os.fork() == 0:
    ours.close()
    [listener] = socket.recv_fds(theirs, 1, 1)[1]
    askers, held = set(), []
    while True:
        ready = select.select([listener, theirs], [], [])[0]
        if listener in ready:
            question, asks = struct.unpack_from("QI", fcntl.ioctl(listener, RECEIVE, bytes(80)))
            askers.add("who forks" if asks == forks else "the sampler")
            if asks == forks: go_on(question)
            else: held.append(question)
        if theirs in ready:
            if not theirs.recv(1): os._exit(0)
            for question in held: go_on(question)
            held = []
            theirs.send(json.dumps(sorted(askers)).encode())

theirs.close()
work()
listener = listen(WHETHER_WRITABLE)
socket.send_fds(ours, [b"."], [listener])
os.close(listener)
fork()
fork()
ours.send(b".")
print(ours.recv(100).decode())
work()
"""


def test_the_thread_that_forks_does_not_wait_for_a_file_server(workshop: Workshop) -> None:
    """The sampler asks whether its recording is still there. A fork waits for it two seconds, and not for good."""
    run = workshop.run(workshop.write("unanswered.py", UNANSWERED))
    assert run.answer() == ["the sampler"], run.stderr
    profile = run.profile()
    notes = [mark["text"] for mark in profile["marks"] if mark["kind"] == "note"]
    assert any("did not wait" in text for text in notes), notes
    assert {process["ended"] for process in profile["processes"] if process["parent"] is None} == {"exit"}
