"""`genba.snapshot()`: this thread's stack at this moment, against what the interpreter itself says of it."""

import json

from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)


# What `traceback` says of the caller, and what genba says: (file, line, function) from the outermost call.
BOTH = """
import threading, traceback

def of_interpreter(limit=None):
    return [(frame.filename, frame.lineno, frame.name) for frame in traceback.extract_stack()[:-1]]

def of_genba(frames):
    return [(frame.file, frame.line, frame.name.rpartition(".")[2]) for frame in frames if frame.kind == "python"]

def same():
    frames, expected = genba.snapshot(), of_interpreter()
    assert of_genba(frames) == expected, (of_genba(frames), expected)
    return frames
"""


def test_a_stack_with_c_between(inside: Inside) -> None:
    lines = inside.said(
        BOTH
        + """
class Keys:
    @staticmethod
    def key(number):
        Keys.seen = same()
        return number

def work():
    return sorted([3], key=Keys.key)

assert not genba.is_active()
work()
assert not genba.is_active() and genba.path() is None and not threading.active_count() > 1
import json
print(json.dumps([[frame.kind, frame.name, frame.expression, frame.module] for frame in Keys.seen]))
print(*Keys.seen, sep="\\n")
"""
    )
    frames = json.loads(lines[0])
    python = [(name, expression) for kind, name, expression, _ in frames if kind == "python"]
    assert python[-3:] == [("work", "sorted([3], key=Keys.key)"), ("Keys.key", "same()"), ("same", "genba.snapshot()")]
    work = [name for _, name, *_ in frames].index("work")
    below = frames[work + 1 :]
    names = [name for kind, name, *_ in below[: [kind for kind, *_ in below].index("python")]]
    assert any("sort" in name for name in names), names
    assert all(module for kind, _, _, module in frames if kind == "c")
    assert not [name for kind, name, *_ in frames if kind == "mark"], frames
    assert any(line.endswith(" same   genba.snapshot()") for line in lines[1:]), lines


def test_where_a_recording_goes_on(inside: Inside) -> None:
    """Also while it is paused; what passed meanwhile is in no sample."""
    inside.said(
        BOTH
        + """
def inner():
    return same()

with genba.record("app.genba"):
    assert inner()
    genba.pause()
    time.sleep(0.3)
    assert inner()
    assert not genba.is_active()
    genba.resume()
    assert genba.is_active()
    during(100)
    assert inner()
    later = threading.Thread(target=lambda: inner())
    later.start()
    later.join()
"""
    )
    recording = inside.recording("app.genba")
    marks = [mark["text"] for mark in recording.profile()["marks"] if mark["kind"] == "program"]
    assert marks.count("genba.snapshot()") == 4, marks
    # Three of the four were taken within the time that was recorded, and the pause was in none.
    assert recording.report_json()["wall_ns"] > 300_000_000


def test_under_the_command(inside: Inside) -> None:
    program = inside.workshop.write("program.py", "import os, sys, time\nimport genba\n" + BOTH + "same()\nprint('done')\n")
    run = inside.workshop.run(program, environment=inside.environment)
    assert (run.exit_code, run.stdout) == (0, "done\n"), run.stderr


def test_in_odd_places(inside: Inside) -> None:
    """Deep, in a thread, a generator, a coroutine, a signal handler, a forked child, code without a file."""
    lines = inside.said(
        BOTH
        + """
import asyncio, signal, tempfile

# Theirs alone: a snapshot's file, genba-….genba, lies where temporary files do.
tempfile.tempdir = os.path.join(os.getcwd(), "temporary")
os.mkdir(tempfile.tempdir)
made_ns = os.stat(tempfile.tempdir).st_mtime_ns

def deep(calls):
    return same() if calls == 0 else deep(calls - 1)

def generator():
    yield same()

async def coroutine():
    await asyncio.sleep(0)
    return same()

sys.setrecursionlimit(3000)
assert len([frame for frame in deep(1200) if frame.kind == "python"]) == 1203
failed = []
def in_thread():
    try:
        same()
    except BaseException as failure:
        failed.append(failure)
threads = [threading.Thread(target=in_thread) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed, failed
next(generator())
asyncio.run(coroutine())
signal.signal(signal.SIGUSR1, lambda *_: same())
os.kill(os.getpid(), signal.SIGUSR1)
frames = eval(compile("genba.snapshot()", "<made up>", "eval"))
assert (frames[-1].file, frames[-1].line, frames[-1].expression) == ("<made up>", 1, None), frames[-1]
child = os.fork()
if child == 0:
    same()
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(len(os.listdir("/proc/self/task")), os.listdir(tempfile.tempdir), os.stat(tempfile.tempdir).st_mtime_ns > made_ns)
"""
    )
    assert lines == ["7", "1 [] True"], "a file came there, and none is left"


def test_many(inside: Inside) -> None:
    """They leave no descriptor, no thread, no file and no memory behind."""
    lines = inside.said(
        BOTH
        + """
def kept():
    with open("/proc/self/statm") as statm:
        pages = int(statm.read().split()[1])
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), pages * 4096

for _ in range(5):
    same()
before = kept()
for _ in range(40):
    same()
after = kept()
assert after[:2] == before[:2], (before, after)
print(after[2] - before[2])
"""
    )
    assert int(lines[0]) < 4 << 20


def test_what_is_said_when_it_cannot_be(inside: Inside) -> None:
    """A signal handler that has interrupted another snapshot."""
    lines = inside.said(
        """
import signal

def handler(*_):
    try:
        genba.snapshot()
    except genba.CannotRecord as failure:
        print(failure.message)
        assert failure.hint

def in_the_middle(frame, event, argument):
    if event == "call" and frame.f_code.co_name == "_own_stack":
        signal.raise_signal(signal.SIGUSR1)

signal.signal(signal.SIGUSR1, handler)
genba.snapshot()
sys.setprofile(in_the_middle)
genba.snapshot()
sys.setprofile(None)
genba.snapshot()
"""
    )
    assert len(lines) == 1 and "in the middle of another call" in lines[0], lines
