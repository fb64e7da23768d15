"""What waits for signals, or is interrupted by them, does not notice genba's."""

import re
from pathlib import Path

import pytest

from both_ways import built, same_both_ways
from bounds import Matrix
from figures import Figure
from interpreters import SUPPORTED
from preloaded import Preloaded, build
from recording import Workshop
from soak import SOAK


LOAD = "import ctypes, json, sys\nlibrary = ctypes.CDLL(sys.argv[1])\nlong = ctypes.c_long\n"
WAITS = 2000 if SOAK else 200
# As waiting.c has them: all, and those with a time limit, that a signal ends whatever its handler was installed with.
WAYS = 33
LIMITED = range(2, 29)


@pytest.fixture(scope="session")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("waiting", tmp_path_factory)


def test_pause_and_its_kin_return_for_the_program_s_signals_only(workshop: Workshop, waiting: Path) -> None:
    """Each of the ways in waiting.c, entered at a random point between two of a timer's signals."""
    text = LOAD + f"print([library.spurious(long(way), long({WAITS})) for way in range({WAYS})])\n"
    run = same_both_ways(workshop, workshop.write("waits.py", text), workshop.take(waiting), flags=("--rate", "10000"))
    assert run.answer() == [0] * WAYS


def test_waits_can_be_cancelled(workshop: Workshop, waiting: Path) -> None:
    text = LOAD + "print(library.cancelled())\n"
    run = same_both_ways(workshop, workshop.write("cancels.py", text), workshop.take(waiting))
    assert run.answer() == 4


def test_python_s_own_waits(workshop: Workshop) -> None:
    """signal.pause() in Python: what it returns for is a handler that ran."""
    text = (
        "import signal, time\ncame = []\nsignal.signal(signal.SIGALRM, lambda *_: came.append(1))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\nbad = 0\n"
        f"for turn in range({WAITS}):\n    sum(range(turn % 97 * 30))\n    seen = len(came)\n    signal.pause()\n"
        "    bad += len(came) == seen\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\nprint(bad)\n"
    )
    run = same_both_ways(workshop, workshop.write("pauses.py", text), flags=("--rate", "10000"))
    assert run.answer() == 0


BLOCKED = """
import os, signal, time
every = signal.valid_signals()
signal.pthread_sigmask(signal.SIG_BLOCK, every)
def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(100))
taken = []
for turn in range(60):
    work(0.01)
    taken.append(signal.sigtimedwait(every, 0))
print(set(taken), signal.sigpending())
# What the program sends itself it gets, whatever else is pending.
for number in (signal.SIGUSR1, signal.SIGURG):
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGURG])
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
    os.kill(os.getpid(), number)
    got = signal.sigwaitinfo(every)
    print(got.si_signo, got.si_code, got.si_pid == os.getpid())
work(0.01)
os.kill(os.getpid(), signal.SIGUSR2)
print(int(signal.sigwait(every)))
before = time.monotonic()
work(0.01)
print(signal.sigtimedwait(every, 0.2), time.monotonic() - before >= 0.2)
"""


def test_waiting_for_all_signals_brings_none_of_genba_s(workshop: Workshop) -> None:
    """A thread that blocks every signal has a sample pending nearly always."""
    same_both_ways(workshop, workshop.write("blocked.py", BLOCKED), flags=("--rate", "10000"))


SIGNALFD = """
import ctypes, os, select, signal, struct, time
libc = ctypes.CDLL(None, use_errno=True)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
full = (ctypes.c_ubyte * 128)(*[255] * 128)
descriptor = libc.signalfd(-1, full, os.O_NONBLOCK)
def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(100))
woken = 0
for turn in range(40):
    work(0.01)
    woken += bool(select.select([descriptor], [], [], 0)[0])
print(woken)
os.kill(os.getpid(), signal.SIGURG)
select.select([descriptor], [], [])
print(struct.unpack_from('Iii', os.read(descriptor, 128)))
"""


def test_a_descriptor_for_all_signals_tells_of_none_of_genba_s(workshop: Workshop) -> None:
    run = same_both_ways(workshop, workshop.write("descriptor.py", SIGNALFD), flags=("--rate", "10000"))
    marks = [mark["text"] for mark in run.profile()["marks"] if mark["kind"] == "handler"]
    assert marks == ["the program took SIGURG for itself: running threads are not asked any more"]


# The idle time is what is tested, no synchronisation: genba rests then, and waits for a signal of its own in place of the next tick.
OWN_URGENT = """
import os, signal, socket, sys, threading, time, fcntl
def idle(): time.sleep(0.1)
def sent_to_all():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
    came = []
    def waits():
        while len(came) < 5: came.append(signal.sigwaitinfo([signal.SIGURG]))
    thread = threading.Thread(target=waits)
    thread.start()
    for count in range(5):
        idle()
        os.kill(os.getpid(), signal.SIGURG)
        while len(came) == count: pass
    thread.join()
    print([(one.si_code, one.si_pid == os.getpid()) for one in came])
def pending():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
    os.kill(os.getpid(), signal.SIGURG)
    idle()
    came = []
    signal.signal(signal.SIGURG, lambda number, frame: came.append(number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGURG])
    print(came)
def urgent_data():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
    listening = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listening.getsockname())
    server, _ = listening.accept()
    fcntl.fcntl(server, fcntl.F_SETOWN, os.getpid())
    for byte in b"12345":
        idle()
        client.send(bytes([byte]), socket.MSG_OOB)
        print(signal.sigwaitinfo([signal.SIGURG]).si_signo, server.recv(1, socket.MSG_OOB))
def timer():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
    import ctypes, struct
    made, event = ctypes.c_int(), struct.pack("PiixxxxxxxxIxxxx", 7, signal.SIGURG, 0, 0).ljust(64, bytes(1))
    print(ctypes.CDLL(None).syscall(222, time.CLOCK_MONOTONIC, event, ctypes.byref(made)))
    ctypes.CDLL(None).syscall(223, made, 0, struct.pack("4q", 0, 100_000_000, 0, 150_000_000), None)
    for _ in range(3): print(signal.sigwaitinfo([signal.SIGURG]).si_code)
globals()[sys.argv[1]]()
"""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", ["sent_to_all", "pending", "urgent_data", "timer"])
def test_a_signal_of_the_program_s_comes_while_genba_rests(workshop: Workshop, way: str) -> None:
    same_both_ways(workshop, workshop.write("urgent.py", OWN_URGENT), way)


# Busy between the calls: so sample signals come to a thread that asks genba's for something and waits for the answer.
ERRNO = """
import ctypes, os, signal, subprocess, sys
libc, kind = ctypes.CDLL(None, use_errno=True), ctypes.CFUNCTYPE(None, ctypes.c_int)
for setter in (libc.signal, libc.sigset): setter.argtypes = [ctypes.c_int, ctypes.c_void_p]
handler, default = ctypes.cast(kind(lambda number: None), ctypes.c_void_p), ctypes.c_void_p()
words = (ctypes.c_ulong * 16)(1 << signal.SIGURG - 1)
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
def both(setter, number): setter(number, handler), setter(number, default)
def closed(descriptor): os.close(descriptor)
calls = {
    "signal SIGURG": lambda: both(libc.signal, signal.SIGURG),
    "signal SIGSEGV": lambda: both(libc.signal, signal.SIGSEGV),
    "sigset": lambda: both(libc.sigset, signal.SIGURG),
    "siginterrupt": lambda: libc.siginterrupt(signal.SIGURG, 1),
    "pthread_sigmask": lambda: (libc.pthread_sigmask(0, words, None), libc.pthread_sigmask(1, words, None)),
    "sigpending": lambda: libc.sigpending(words),
    "kill": lambda: libc.kill(child.pid, 0),
    "kill by SIGURG": lambda: libc.kill(child.pid, signal.SIGURG),
    "raise": lambda: getattr(libc, 'raise')(signal.SIGURG),
    "execv": lambda: libc.execv(b"/etc/passwd", (ctypes.c_char_p * 2)(b"passwd")),
    "unshare": lambda: libc.unshare(0),
    "signalfd": lambda: closed(libc.signalfd(-1, words, 0)),
}
for name, call in calls.items():
    seen = set()
    for _ in range(100):
        sum(range(10_000))
        ctypes.set_errno(77)
        call()
        seen.add(ctypes.get_errno())
    print(name, seen)
child.kill()
child.wait()
"""


@pytest.mark.timeout(300)
def test_errno_is_what_it_is_without_genba(workshop: Workshop) -> None:
    same_both_ways(workshop, workshop.write("errno.py", ERRNO))


# A byte for each time that a handler ran, written by CPython's own handler. Whoever waits for SIGURG is woken each time.
WOKEN = """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
told, tells = os.pipe()
for end in (told, tells):
    os.set_blocking(end, False)
signal.set_wakeup_fd(tells)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
only = ctypes.create_string_buffer((1 << signal.SIGURG - 1).to_bytes(8, "little") + bytes(120))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
handled = woken = 0
while handled < 40:
    woken += libc.sigwaitinfo(only, None) == -1
    handled += len(os.read(told, 100))
signal.setitimer(signal.ITIMER_REAL, 0)
print(handled <= 1.5 * woken)
"""


def test_who_waits_for_the_urgent_signal_is_woken_by_others_as_often(workshop: Workshop) -> None:
    run = same_both_ways(workshop, workshop.write("woken.py", WOKEN))
    assert run.stdout == "True\n"

def test_calls_of_libc_are_not_interrupted(workshop: Workshop, waiting: Path) -> None:
    """Libraries that take EINTR for a failure, on busy CPUs: the program's other threads leave none idle."""
    count = (100_000 if SOAK else 4_800) // len(LIMITED)
    text = LOAD + (
        "import os, threading\ndone = []\n"
        "def keeps_busy():\n    while not done: sum(range(10_000))\n"
        "for _ in range(os.cpu_count()): threading.Thread(target=keeps_busy).start()\n"
        f"counts = [library.interrupted(long(way), long({count})) for way in {list(LIMITED)}]\n"
        "done.append(1)\nprint(counts)\n"
    )
    run = workshop.run(workshop.write("calls.py", text), workshop.take(waiting), flags=("--rate", "10000"))
    assert run.answer() == [0] * len(LIMITED), run.stderr


ROOM_FOR_FILES = """
import ctypes, os, time
while time.process_time() < 0.1: sum(range(1000))
libc, none, one = ctypes.CDLL(None), ctypes.c_long(0), ctypes.c_long(1)
print([libc.posix_fallocate(1, none, one), libc.posix_fallocate64(1, none, one), libc.fallocate(1, 0, none, one), libc.fallocate64(1, 0, none, one)])
"""


def test_a_file_gets_its_room_however_long_that_takes(workshop: Workshop, tmp_path: Path) -> None:
    """Older kernels end that at any signal where the file is in memory (/dev/shm): a library in libc's place looks whether genba's may come."""
    library = workshop.take(build(tmp_path, "rooms_of_files"))
    program = Preloaded(workshop, library, [workshop.interpreter.path, workshop.write("rooms.py", ROOM_FOR_FILES)])
    assert program.alone().stdout == "[4, 4, -1, -1]\n"
    run = program.recorded("before")
    assert (run.exit_code, run.stdout) == (0, "[0, 0, 0, 0]\n"), run.stderr


READY = """
import ctypes, time
while time.process_time() < 0.1: sum(range(1000))
libc, place = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(1024)
limit = ctypes.byref((ctypes.c_long * 2)(1, 0))
ready = [libc.poll(place, 1, 1000), libc.ppoll(place, 1, limit, None), libc.select(8, place, None, None, limit), libc.epoll_wait(0, place, 1, 1000)]
print(ready, libc.poll(place, 2, 1000), ctypes.get_errno(), libc.poll(place, 0, 1000), libc.poll(place, 100, 1000))
"""


def test_what_is_ready_at_once_is_not_waited_for(workshop: Workshop, tmp_path: Path) -> None:
    """A wait costs system calls of genba's, so it is asked without one first: unless that look takes long itself, or a signal ends it."""
    library = workshop.take(build(tmp_path, "ready"))
    program = Preloaded(workshop, library, [workshop.interpreter.path, workshop.write("ready.py", READY)])
    assert program.alone().stdout == "[1, 1, 1, 1] 1 0 1 1\n"
    run = program.recorded("before")
    assert (run.exit_code, run.stdout) == (0, "[1, 1, 1, 1] 2 0 2 2\n"), run.stderr


SELECTED = """
import ctypes, os, select, threading
reads, writes = os.pipe()
other, _ = os.pipe()
asked = threading.Semaphore(0)
def write():
    while True:
        asked.acquire()
        os.write(writes, b"x")
threading.Thread(target=write, daemon=True).start()
right = 0
for _ in range(300):
    asked.release()
    right += select.select([other, reads], [], [other]) == ([reads], [], [])
    os.read(reads, 1)
print(right, select.select([other], [writes], [], 60), select.select([other], [], [other], 0.01))
words, left = (ctypes.c_ulong * 16)(1 << writes), (ctypes.c_long * 2)(60, 0)
print(ctypes.CDLL(None).select(writes + 1, None, words, None, left), words[0] == 1 << writes, list(left) < [60, 0] < [left[0] + 2, 0])
"""


def test_select_finds_what_is_ready_now_and_what_is_later(workshop: Workshop) -> None:
    run = same_both_ways(workshop, workshop.write("selected.py", SELECTED))
    assert run.stdout.startswith("300 "), run.stdout


SHORT_WAITS = """
import os, select, time
reads, writes = os.pipe()
os.write(writes, b"x")
events = select.epoll()
events.register(reads, select.EPOLLIN)
def for_a_while(call, cpu_seconds=0.3):
    until = time.process_time() + cpu_seconds
    while time.process_time() < until:
        for _ in range(100): call()
for_a_while(lambda: events.poll(1))
for_a_while(lambda: select.select([reads], [], [], 1))
for_a_while(lambda: time.sleep(1e-9), 0.1)
"""


def test_the_cpu_of_short_waits_is_at_libc_s_functions(workshop: Workshop) -> None:
    """A tick that comes while genba's signal is blocked is answered when it is not any more, in genba's library."""
    text = workshop.run(workshop.write("short.py", SHORT_WAITS)).collapsed_text()
    assert "genba-agent" not in text
    for name in ("epoll_wait", "select", "clock_nanosleep"):
        assert re.search(rf";\S*{name} \[libc", text), text


# Of raw system calls. The promise is 2 % at 1 kHz: signals go to running threads only, so a wait is interrupted when it begins in the microseconds
# between the look and the signal. A thread that is awake again but waits for a CPU is still inside of its call: each look finds
# it there, one a millisecond (two, where a look comes late and the next one in time).
INTERRUPTED_MAX = 0.02
LOOKS_PER_MS_MAX = 2


@pytest.mark.measures
def test_interrupted_raw_calls(workshop: Workshop, waiting: Path, figure: Figure) -> None:
    """Raw poll, select and nanosleep, with work in between."""
    count = 5000 if SOAK else 1000
    text = LOAD + (
        "def waited_ms(): return int(open('/proc/thread-self/schedstat').read().split()[1]) / 1e6\n"
        f"def measure(way):\n    before = waited_ms()\n    interrupted = library.interrupted_raw(long(way), long({count}))\n"
        "    return [interrupted, waited_ms() - before]\n"
        "print(json.dumps([measure(way) for way in range(3)]))\n"
    )
    run = workshop.run(workshop.write("naps.py", text), workshop.take(waiting), flags=("--rate", "1000"))
    for name, (interrupted, waited_ms) in zip(("poll", "select", "nanosleep"), run.answer(), strict=True):
        bound = INTERRUPTED_MAX + LOOKS_PER_MS_MAX * waited_ms / count
        figure(f"interrupted {name} at 1 kHz", interrupted / count, "share", bound=bound)
        # So many may be interrupted when the true share is the bound: three ways on each of the versions.
        _, highest = Matrix(3 * len(SUPPORTED)).limits(bound, count)
        assert interrupted <= highest * count, (name, interrupted, waited_ms)
