"""Names of threads as `threading` has them, on each CPython: in rows, filters and exports; never another thread's."""

from looks import LOOKS
from recording import Run, Workshop, genba

LONG = "очень длинное имя " * 20

# Each thread lives until genba has seen it, on a busy machine too: a new one is looked for every 20 ms.
NAMED = LOOKS + """
import json, os, threading, time
from concurrent.futures import ThreadPoolExecutor

names = {}

def spin(seconds):
    until, looked = time.thread_time() + seconds, Looked()
    while time.thread_time() < until or not looked.often(40):
        sum(range(2000))
    names[threading.get_native_id()] = threading.current_thread().name

def write_block():
    # Before another program takes over, also where that is none. Each block asks again for what the threads of a small program are called.
    try:
        os.execv(os.__file__, ["no program"])
    except OSError:
        pass

def late():
    spin(0.04)
    write_block()
    threading.current_thread().name = "late"
    spin(0.04)
    write_block()

class Worker(threading.Thread):
    def run(self):
        spin(0.04)

threads = [
    threading.Thread(target=spin, args=[0.12], name="encoder"),
    threading.Thread(target=spin, args=[0.04], name="upload-to-the-archive"),
    threading.Thread(target=spin, args=[0.04], name=LONG),
    threading.Thread(target=spin, args=[0.04], name="a" * 3000 + "1" + "b" * 3000),
    threading.Thread(target=spin, args=[0.04], name="a" * 3000 + "2" + "b" * 3000),
    threading.Thread(target=late),
    Worker(name="of a class"),
]
for thread in threads:
    thread.start()
with ThreadPoolExecutor(1) as pool:
    pool.submit(spin, 0.04).result()
with ThreadPoolExecutor(1, thread_name_prefix="mailer") as pool:
    pool.submit(spin, 0.04).result()
for thread in threads:
    thread.join()
spin(0.04)
child = os.fork()
if child == 0:
    threading.current_thread().name = "child"
    spin(0.04)
    write_block()
    os._exit(0)
os.waitpid(child, 0)
print(json.dumps(names))
"""


def rows_by_thread(run: Run, *flags: str) -> list[str]:
    return [row["thread"] for row in run.report_json("--by", "thread", *flags)["rows"]]


def test_each_thread_has_the_name_that_python_gave(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("named.py", f"LONG = {LONG!r}\n" + NAMED), flags=("--rate", "1000"))
    said = {int(tid): name for tid, name in run.answer().items()}
    threads = run.profile()["threads"]
    seen = {thread["tid"]: thread["name"] for thread in threads}
    cut = {tid: name for tid, name in said.items() if len(name) > 4096}
    assert {tid: seen[tid] for tid in said if tid not in cut} == {tid: name for tid, name in said.items() if tid not in cut}
    assert {"MainThread", "child", "late", "mailer_0", "ThreadPoolExecutor-0_0", LONG} <= set(seen.values())
    # Both ends of what is too long, and what tells it from others.
    assert len({seen[tid] for tid in cut}) == 2
    assert all(seen[tid].startswith("a" * 2000) and seen[tid].endswith("b" * 2000) for tid in cut)
    # The kernel's name is the process's, or the beginning of Python's.
    assert {thread["kernel_name"] for thread in threads} == {None}
    [late] = [thread for thread in threads if thread["name"] == "late"]
    assert [name.partition(" (")[0] for name in late["former_names"]] == ["Thread-1"]

    assert rows_by_thread(run, "--thread", "encoder") == ["encoder"]
    assert rows_by_thread(run, "--thread", "mailer*") == ["mailer_0"]
    assert rows_by_thread(run, "--thread", "upload-to-the-archive") == ["upload-to-the-archive"]
    assert rows_by_thread(run, "--thread", "Thread-1*") == ["late"]
    report = run.report("--by", "thread")
    assert "encoder of process" in report
    assert "late, before Thread-1" in report
    assert "--thread encoder" in run.tree("--thread", "encoder")
    assert "(encoder)" in run.collapsed_text("--threads")
    speedscope = genba("export", run.recording, "--to", "speedscope", "-o", "-").stdout
    assert " encoder of process" in speedscope
    wrong = genba("report", run.recording, "--thread", "decoder")
    assert wrong.returncode == 1
    assert "encoder (" in wrong.stderr


CHURN = LOOKS + """
import _thread, json, threading, time

names, ended = {}, threading.Semaphore(0)

def spin(seconds, enough=0):
    until, looked = time.thread_time() + seconds, Looked() if enough else None
    while time.thread_time() < until or enough and not looked.often(enough):
        sum(range(200))
    names[threading.get_native_id()] = threading._active[threading.get_ident()].name if threading.get_ident() in threading._active else None

def nameless():
    spin(0.02, 100)
    ended.release()

def starts(first):
    for number in range(first, first + 100):
        thread = threading.Thread(target=spin, args=[0.002], name=f"short {number}")
        thread.start()
        thread.join()

starters = [threading.Thread(target=starts, args=[first], name=f"starter {first}") for first in (0, 100, 200)]
for thread in starters:
    thread.start()
_thread.start_new_thread(nameless, ())
ended.acquire()
for thread in starters:
    thread.join()
print(json.dumps(names))
"""


def test_threads_that_come_and_go_never_have_the_name_of_another(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("churn.py", CHURN), flags=("--rate", "4000"))
    said = {int(tid): name for tid, name in run.answer().items()}
    seen = {thread["tid"]: thread["name"] for thread in run.profile()["threads"] if thread["tid"] in said}
    [nameless] = [tid for tid, name in said.items() if name is None]
    # Where Python's name was not there yet it is the kernel's: the process's, or from 3.14 on that of the thread that started it. None: the thread
    # had ended before the kernel was asked.
    kernels = {None, seen[nameless], *([f"starter {first}" for first in (0, 100, 200)] if workshop.interpreter.minor_number >= 14 else [])}
    wrong = {tid: (name, said[tid]) for tid, name in seen.items() if name not in {said[tid], *kernels}}
    assert wrong == {}
    assert seen[nameless].startswith("python")
    assert sum(seen[tid] == said[tid] for tid in seen) > len(seen) / 2


# Each ends as soon as genba has looked at it, long before a block is written.
WAITING = LOOKS + """
import threading
# Until then genba has not checked how this Python lays out its memory.
begun = Looked()
while not begun.often(100):
    sum(range(2000))
for number in range(12):
    over, looked = threading.Event(), Looked()
    thread = threading.Thread(target=over.wait, name=f"waiter {number}")
    thread.start()
    while not looked.often(20):
        sum(range(2000))
    over.set()
    thread.join()
"""


def test_a_thread_that_waits_until_its_end_has_its_name(workshop: Workshop) -> None:
    """Its one sample is written when the wait is over, and the thread with it."""
    run = workshop.run(workshop.write("waiting.py", WAITING), flags=("--rate", "1000"))
    names = {thread["name"] for thread in run.profile()["threads"]}
    assert names == {"MainThread", *(f"waiter {number}" for number in range(12))}


# The kernel has a name of its own for each of them from birth: that of the thread that started it. Most of those that go have ended before a block
# is written.
RENAMED = LOOKS + """
import ctypes, json, threading
PR_SET_NAME = 15
# From 3.14 on Python gives its name to the kernel.
threading._set_name = None

def goes():
    looked = Looked()
    while not looked.often(5):
        sum(range(200))

def stays():
    looked = Looked()
    while not looked.often(40):
        sum(range(2000))
    # The block before another program takes over, also where that is none.
    try:
        os.execv(os.__file__, ["no program"])
    except OSError:
        pass

def starts():
    ctypes.CDLL(None).prctl(PR_SET_NAME, b"renamed", 0, 0, 0)
    for number in range(40):
        thread = threading.Thread(target=goes, name=f"goes {number}")
        thread.start()
        thread.join()
    thread = threading.Thread(target=stays, name="stays")
    thread.start()
    thread.join()

begun = Looked()
while not begun.often(100):
    sum(range(2000))
starter = threading.Thread(target=starts, name="starter")
starter.start()
starter.join()
print(json.dumps(None))
"""


def test_the_kernel_is_asked_for_the_names_of_those_that_are_there_when_a_block_is_written(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("renamed.py", RENAMED), flags=("--rate", "1000"))
    kernels = {thread["name"]: thread["kernel_name"] for thread in run.profile()["threads"]}
    assert kernels["stays"] == "renamed", kernels
    # A look at /proc for each would cost more than the thread's sample. Where no CPU is idle many are met at their first instruction, before Python
    # has a name for them: the kernel is asked for that of these at once.
    went = [kernel for name, kernel in kernels.items() if name and name.startswith("goes ")]
    assert len(went) > 20 and None in went, kernels
