"""`genba attach` while threads wait in calls of C, while the program calls exec, and where a program has more mappings than one reading of them gives.

Owns: what each call returns, which nothing repeats for it (ctypes calls the C library directly). Never: judges samples; hardly any tick comes.
"""

import ctypes
import errno
import os
import random
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from entered import COUNTED, few, running, state
from recording import Workshop, binary
from running_program import Program, until
from runs_on import EVERYWHERE

pytestmark = pytest.mark.measures

LIMIT_S = 6
# Attaches go on for so long, and one is always under way: a wait that began anew with the last of them would last for as long as all of them, too.
ATTACHED_S = 5
ON = signal.SIGRTMIN + 5
# The sampling's own signals are not what is tried here.
SELDOM = "--duration", "100ms", "--interval", "1s", "--quiet"

CALLS = f"""\
import ctypes, json, os, select, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
said, kept, writers = {{}}, [], []
near, far = socket.socketpair()
near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", {LIMIT_S}, 0))
semaphores = int(sys.argv[2])
signals = ctypes.create_string_buffer(128)
libc.sigemptyset(signals)
libc.sigaddset(signals, {ON})
libc.pthread_sigmask(0, signals, None)

def limit():
    return (ctypes.c_long * 2)({LIMIT_S}, 0)

def room():
    return ctypes.create_string_buffer(12)

def pipe():
    reader, writer = os.pipe()
    writers.append(writer)
    return reader

def polled():
    kept.append(select.epoll())
    kept[-1].register(pipe(), select.EPOLLIN)
    return kept[-1].fileno()

def operation(change):
    return struct.pack("HhH", 0, change, 0)

# What is waited for is made before the call.
event, other, timed, bytes_of = polled(), polled(), polled(), pipe()
never, woken = ctypes.c_int(0), ctypes.c_int(0)
LIMITED = {{
    "select": lambda: libc.select(0, None, None, None, limit()),
    "pselect": lambda: libc.pselect(0, None, None, None, limit(), None),
    "poll": lambda: libc.poll(None, 0, {LIMIT_S * 1000}),
    "ppoll": lambda: libc.ppoll(None, 0, limit(), None),
    "nanosleep": lambda: libc.nanosleep(limit(), None),
    "clock_nanosleep": lambda: libc.clock_nanosleep(time.CLOCK_MONOTONIC, 0, limit(), None),
    "epoll_wait with a limit": lambda: libc.epoll_wait(timed, room(), 1, {LIMIT_S * 1000}),
    "recv with a limit": lambda: libc.recv(near.fileno(), room(), 1, 0),
    "futex with a limit": lambda: libc.syscall(202, ctypes.byref(never), 128, 0, limit(), None, 0),
}}
ENDLESS = {{
    "epoll_wait": lambda: libc.epoll_wait(event, room(), 1, -1),
    "epoll_pwait": lambda: libc.epoll_pwait(other, room(), 1, -2, None),
    "read": lambda: libc.read(bytes_of, room(), 1),
    "semop": lambda: libc.semop(semaphores, operation(-1), 1),
    "futex": lambda: libc.syscall(202, ctypes.byref(woken), 128, 0, None, None, 0),
}}

def waits(name, call):
    ctypes.set_errno(0)
    before = time.monotonic()
    result = call()
    said[name] = result, ctypes.get_errno(), time.monotonic() - before

every = LIMITED | ENDLESS
# genba looks at the threads in the order of their numbers.
threads = {{name: threading.Thread(target=waits, args=(name, every[name])) for name in sorted(every, key=lambda name: name != sys.argv[1])}}
for thread in threads.values():
    thread.start()
print("ready", flush=True)
# Nobody is sent from within this call.
waits("sigwaitinfo", lambda: libc.sigwaitinfo(signals, None))
for name in LIMITED:
    threads[name].join()
for writer in writers:
    os.write(writer, b"x")
libc.semop(semaphores, operation(1), 1)
woken.value = 1
libc.syscall(202, ctypes.byref(woken), 129, 1, None, None, 0)
for name in ENDLESS:
    threads[name].join()
print(json.dumps(said))
"""

TIMED = "select", "pselect", "poll", "ppoll", "nanosleep", "clock_nanosleep"
ENDED = {"epoll_wait": 1, "epoll_pwait": 1, "read": 1, "semop": 0, "futex": 0, "sigwaitinfo": ON}


@contextmanager
def semaphore() -> Iterator[int]:
    """The kernel keeps it beyond a program that is killed."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = libc.semget(0, 1, 0o600)
    assert number >= 0, os.strerror(ctypes.get_errno())
    try:
        yield number
    finally:
        libc.semctl(number, 0, 0)


# One with a limit and one without.
@pytest.mark.parametrize("first", ["select", "epoll_wait", *(["poll", "nanosleep"] if EVERYWHERE else [])])
def test_calls_of_c_that_wait(workshop: Workshop, first: str) -> None:
    """What they return and their errno are those without genba. `first`: which thread is sent."""
    calls = workshop.write("calls.py", CALLS)
    with semaphore() as number, running(workshop, [workshop.interpreter.path, calls, first, str(number)]) as program:
        end = time.monotonic() + ATTACHED_S
        while time.monotonic() < end:
            program.recorded("calls.genba", *SELDOM)
        os.kill(program.pid, ON)
        said = program.end()
    assert {name: said[name][:2] for name in TIMED} == {name: [0, 0] for name in TIMED}, said
    assert {name: said[name][:2] for name in ENDED} == {name: [result, 0] for name, result in ENDED.items()}, said
    assert said["futex with a limit"][:2] == [-1, errno.ETIMEDOUT], said
    assert all(LIMIT_S <= said[name][2] < LIMIT_S + ATTACHED_S / 2 for name in (*TIMED, "futex with a limit")), said
    # docs/limits.md names these two.
    assert said["epoll_wait with a limit"][:2] in ([0, 0], [-1, errno.EINTR]), said
    assert said["recv with a limit"][:2] in ([-1, errno.EAGAIN], [-1, errno.EINTR]), said


# In the two wordings of genba.
CALLED_ENDED = re.compile(r"process \d+ (has )?ended")
BECOMES = """\
import os, sys, time
print("ready", flush=True)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    pass
os.execv(sys.executable, [sys.executable, "-c", "import sys; sys.stdin.readline(); print('over'); sys.exit(7)"])
"""


@few
def test_a_process_that_becomes_another_program_at_any_moment(workshop: Workshop) -> None:
    """The new program is as it is alone, and nobody calls the process an ended one."""
    chance = random.Random(17)
    program_file = workshop.write("becomes.py", BECOMES)
    for number in range(12):
        with running(workshop, [workshop.interpreter.path, program_file, str(chance.uniform(0, 0.08))]) as program:
            done = program.attach(f"becomes-{number}.genba", "--duration", "300ms", "--quiet")
            stdout, stderr = program.process.communicate("\n", timeout=60)
        assert (program.process.returncode, stdout, stderr) == (7, "over\n", ""), done.stderr
        exists = (workshop.place.outside / f"becomes-{number}.genba").exists()
        assert (done.returncode, exists) in ((0, True), (1, False)), done.stderr
        assert done.returncode == 0 or "hint: " in done.stderr, done.stderr
        assert not CALLED_ENDED.search(done.stderr) and "panic" not in done.stderr, done.stderr


BECOMES_AT_ONCE = """\
import os, sys, threading, time
def name(thread):
    try:
        with open(f"/proc/self/task/{thread}/comm") as file:
            return file.read()
    except OSError:
        return "ended"
def becomes():
    while "genba\\n" not in map(name, os.listdir("/proc/self/task")):
        time.sleep(0.001)
    # genba has the answer by then, which it looks for every 0.1 ms.
    time.sleep(0.02)
    os.execv(sys.executable, [sys.executable, "-c", "import sys; sys.stdin.readline(); print('over'); sys.exit(7)"])
threading.Thread(target=becomes).start()
print("ready", flush=True)
# Where a thread waits so, it can be used.
while True:
    time.sleep(1)
"""


@few
def test_a_process_that_becomes_another_program_behind_the_answer(workshop: Workshop) -> None:
    """genba, which gets no CPU then, keeps what it has recorded: strace lets it wait at each call by which it gives Ctrl-Z back."""
    recording = workshop.place.outside / "at-once.genba"
    with running(workshop, [workshop.interpreter.path, workshop.write("at_once.py", BECOMES_AT_ONCE)]) as program:
        strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=rt_sigaction", "-e", "inject=rt_sigaction:delay_enter=100000"]
        attach = [str(binary()), "attach", str(program.pid), "-o", str(recording), "--duration", "300ms", "--quiet"]
        environment = {**os.environ, **workshop.place.environment({})}
        done = subprocess.run([*strace, *attach], env=environment, capture_output=True, text=True, timeout=120)
        stdout, stderr = program.process.communicate("\n", timeout=60)
    assert (program.process.returncode, stdout, stderr) == (7, "over\n", ""), done.stderr
    assert not CALLED_ENDED.search(done.stderr) and "panic" not in done.stderr, done.stderr
    # What came before the exec is kept; where nothing had, nothing is.
    assert (done.returncode == 0) == recording.exists(), (done.returncode, done.stderr)


MASKED = """\
import ctypes, signal
libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGUSR1, lambda number, frame: None)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
none = ctypes.create_string_buffer(128)
libc.sigemptyset(none)
limit = (ctypes.c_long * 2)(20, 0)
print("ready", flush=True)
while True:
    # The signal comes through in this call alone.
    print("missed" if libc.ppoll(None, 0, limit, none) == 0 else "came", flush=True)
"""


@few
def test_a_signal_that_has_to_end_a_wait_with_a_mask(workshop: Workshop) -> None:
    """It comes while genba holds the thread, too, and ends the wait."""
    over, chance = threading.Event(), random.Random(5)

    def said_after_signals(program: Program) -> set[str]:
        said = set()
        while not over.is_set():
            time.sleep(chance.uniform(0, 0.005))
            os.kill(program.pid, signal.SIGUSR1)
            said.add(program.process.stdout.readline())
        return said

    with running(workshop, [workshop.interpreter.path, workshop.write("masked.py", MASKED)]) as program, ThreadPoolExecutor(1) as pool:
        sending = pool.submit(said_after_signals, program)
        try:
            end = time.monotonic() + ATTACHED_S
            while time.monotonic() < end:
                program.recorded("masked.genba", *SELDOM)
        finally:
            over.set()
        assert sending.result(timeout=30) == {"came\n"}


PAGES = 30_000
MAPPINGS = f"""\
import ctypes, json, mmap, select, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
def mapped(count):
    return libc.mmap(None, count * mmap.PAGESIZE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
first = mapped({PAGES})
for page in range(0, {PAGES}, 2):
    assert libc.mprotect(first + page * mmap.PAGESIZE, mmap.PAGESIZE, mmap.PROT_READ) == 0
over = threading.Event()
def changes():
    while not over.is_set():
        libc.munmap(mapped(1), mmap.PAGESIZE)
def expected():
    return sum(number * number for number in range(5000))
changing = threading.Thread(target=changes)
changing.start()
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    total = expected()
over.set()
changing.join()
print(json.dumps({{"total": total}}))
"""


@few
def test_more_mappings_than_one_reading_gives(workshop: Workshop) -> None:
    """The kernel gives some of them with each read, and the program goes on mapping in between."""
    with running(workshop, [workshop.interpreter.path, workshop.write("mappings.py", MAPPINGS)]) as program:
        assert len(Path(f"/proc/{program.pid}/maps").read_text().splitlines()) >= PAGES
        before = state(program)
        for number in range(3):
            run = program.recorded(f"mappings-{number}.genba", "--duration", "500ms", "--quiet")
        assert until(lambda: state(program) == before), (state(program), before)
        assert program.end() == COUNTED
    assert "expected" in run.report("--limit", "0", "--min-share", "0"), run.report()
