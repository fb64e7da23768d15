"""What `import genba` must not do to the program that calls it: hang it, end it, change its results. Each once did."""

import signal

import pytest

from both_ways import built
from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)


def test_locks_of_the_heap_over_forks(inside: Inside) -> None:
    """A thread that is inside of genba's heap at the moment of the fork does not leave it locked in the child."""
    inside.said(
        """
import threading, warnings
warnings.simplefilter("ignore")
over = threading.Event()

def ask():
    while not over.is_set():
        genba.is_active()

genba.start("app.genba")
threads = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for number in range(150):
    child = os.fork()
    if child == 0:
        genba.start(f"child.genba", force=True)
        genba.stop(finish=False)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
over.set()
genba.stop()
"""
    )
    inside.recording("app.genba")


def test_a_start_in_a_child_whose_linker_is_locked(inside: Inside, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The thread that has the linker's lock is not in the child, and nobody gives it back."""
    library = inside.workshop.take(built("linker_lock", tmp_path_factory))
    lines = inside.said(
        """
import ctypes, warnings
from genba import _agent
warnings.simplefilter("ignore")
_agent.state(), _agent.mark("")
time.process_time()
library = ctypes.CDLL(sys.argv[1])
library.begin()
child = os.fork()
if child == 0:
    genba.start("child.genba")
    during(100)
    genba.stop(finish=False)
    os._exit(7)
library.end()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
        str(library),
    )
    assert lines == ["7"]
    profile = inside.recording("child.genba").profile()
    [note] = [mark["text"] for mark in profile["marks"] if mark["kind"] == "note"]
    assert note == "another thread was in the dynamic linker at the fork: C stacks are missing"
    assert profile.sum("samples", lambda row: "during" in row.names()) > 10


def test_a_handler_that_interrupts_a_call(inside: Inside) -> None:
    lines = inside.said(
        """
import itertools, signal
refused = []

def handler(*_):
    try:
        genba.stop(finish=False)
    except (genba.CannotRecord, genba.NotRecording) as error:
        assert error.hint
        refused.append(type(error).__name__)
    signal.setitimer(signal.ITIMER_REAL, next(pauses))

pauses = itertools.cycle([0.0003, 0.0007, 0.0011, 0.0002])
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, next(pauses))
for number in range(150):
    try:
        genba.start("app.genba", force=True)
        genba.stop(finish=False)
    except (genba.AlreadyRecording, genba.NotRecording, FileExistsError):
        pass
signal.signal(signal.SIGALRM, signal.SIG_IGN)
print("CannotRecord" in refused)
"""
    )
    assert lines == ["True"]


def test_a_generator_that_is_collected_inside_of_a_call(inside: Inside) -> None:
    inside.said(
        """
import gc
gc.set_threshold(1, 1, 1)

@genba.record("app.genba", force=True)
def numbers(cycle):
    yield 1

for _ in range(100):
    cycle = []
    stream = numbers(cycle)
    cycle.append(stream)
    next(stream)
    del stream, cycle
    genba.is_active()
print("over")
"""
    )


def test_the_programs_result_is_its_own(inside: Inside) -> None:
    done = inside.python(
        """
@genba.record("app.genba")
def gone():
    os.unlink("app.genba")
    return 42

@genba.record("outer.genba")
def outer():
    return inner() + 1

@genba.record("inner.genba")
def inner():
    during(20)
    return 1

def fails():
    with genba.record("app.genba"):
        os.unlink("app.genba")
        raise KeyError("mine")

print(gone(), outer())
try:
    fails()
except KeyError as error:
    print(error, [note.partition(":")[0] for note in error.__notes__])
assert not genba.is_active()
"""
    )
    assert (done.returncode, done.stdout) == (0, "42 2\n'mine' ['genba']\n"), done.stderr
    # An exception that is on its way gets a note: a warning may be made an exception itself.
    assert done.stderr.count("RuntimeWarning: genba: ") == 2, done.stderr
    assert "during" in inside.functions("outer.genba")
    assert not (inside.workshop.place.outside / "inner.genba").exists()


def test_a_process_ends_with_its_last_thread(inside: Inside) -> None:
    inside.said(
        """
import threading, warnings
warnings.simplefilter("ignore")
children = []

def fork():
    children.append(os.fork())
    if children[-1] == 0:
        genba.start("app.genba")

thread = threading.Thread(target=fork)
thread.start()
thread.join()
assert os.waitpid(children[0], 0)[1] == 0
"""
    )
    inside.recording("app.genba")


def test_without_memory_or_threads(inside: Inside) -> None:
    lines = inside.said(
        """
import resource
genba.start("app.genba")
genba.stop(finish=False)
used = int(open("/proc/self/statm").read().split()[0]) * 4096
for room in (0, 300_000, 3_000_000):
    resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
    try:
        genba.start("small.genba")
    except genba.CannotRecord as error:
        print(error.message.rpartition(": ")[2])
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert not genba.is_active() and not os.path.exists("small.genba")
genba.start("app.genba", force=True)
during(50)
genba.stop()
"""
    )
    assert lines == ["there is not enough memory (a limit such as RLIMIT_AS)"] * 3
    assert "during" in inside.functions("app.genba")


def test_no_thread_can_be_made(inside: Inside) -> None:
    lines = inside.said(
        """
import resource
if os.geteuid() == 0:
    genba.start("app.genba")
    genba.stop(finish=False)
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
for _ in range(2):
    try:
        genba.start(f"/tmp/none-{os.getpid()}.genba")
    except genba.CannotRecord as error:
        print(error.message.rpartition(": ")[2])
        assert f"genba doctor {os.getpid()}" in error.hint
assert not os.path.exists(f"/tmp/none-{os.getpid()}.genba")
assert not genba.is_active() and genba.path() is None
"""
    )
    assert lines == ["no thread could be made (a limit such as RLIMIT_NPROC), or an earlier sampler hangs"] * 2


def test_names_are_found_where_no_thread_is_to_be_had(inside: Inside) -> None:
    """By descriptors: the test's folder is nobody else's to enter."""
    done = inside.python(
        """
import resource
genba.start("app.genba")
during(300)
genba.stop(finish=False)
os.chmod("app.genba", 0o644)
command = os.open(genba._agent._command_path(), os.O_RDONLY)
recording = os.open("app.genba", os.O_RDONLY)
os.set_inheritable(recording, True)
sys.stdout.flush()
if os.fork() == 0:
    if os.geteuid() == 0:
        os.setuid(65534)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    os.execve(command, ["genba", "report", f"/proc/self/fd/{recording}"], {"PATH": "/usr/bin:/bin"})
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "0"), done.stderr
    assert "memmove" in done.stdout


def test_a_child_forked_in_a_pause_is_recorded(inside: Inside) -> None:
    inside.said(
        """
import warnings
warnings.simplefilter("ignore")
genba.start("app.genba", children=True)
genba.pause()
child = os.fork()
if child == 0:
    during(200)
    sys.exit(0)
os.waitpid(child, 0)
genba.stop()
"""
    )
    assert "during" in inside.functions("app.genba")


def test_errors_come_back_from_another_process(inside: Inside) -> None:
    lines = inside.said(
        """
import pickle
for error in (genba.AlreadyRecording("/a", "/b"), genba.NotRecording("stop"), genba.CannotRead("no", "try"), genba.CannotRecord("no")):
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and vars(again) == vars(error), (vars(again), vars(error))
try:
    genba.open(__file__).rows()
except genba.CannotRead as error:
    print(error.hint)
"""
    )
    assert lines == ["genba run app.py makes one"]


def test_a_session_that_is_not_meant_for_it(inside: Inside) -> None:
    lines = inside.said(
        'genba.start("app.genba")\nprint(genba.path().name)\nduring(50)\ngenba.stop()\n',
        environment={"GENBA_SESSION": f"v=1;out={inside.workshop.place.inside}/other.genba"},
    )
    assert lines == ["app.genba"]


def test_ended_by_a_signal_while_its_first_thread_is_gone(inside: Inside) -> None:
    done = inside.python(
        """
import ctypes, signal, threading
genba.start("app.genba")
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
during(50)
ctypes.CDLL(None).pthread_exit(None)
"""
    )
    assert done.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM), done


def test_forks_from_two_threads_leave_genba_usable(inside: Inside) -> None:
    inside.said(
        """
import threading, warnings
warnings.simplefilter("ignore")

def forks():
    for _ in range(40):
        child = os.fork()
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

threads = [threading.Thread(target=forks) for _ in range(3)]
for thread in threads:
    thread.start()
for number in range(40):
    genba.start("app.genba", force=True)
    genba.stop(finish=False)
for thread in threads:
    thread.join()
genba.start("app.genba", force=True)
during(100)
genba.stop()
"""
    )
    assert "during" in inside.functions("app.genba")


def test_no_fork_while_the_command_is_looked_for(inside: Inside) -> None:
    """`sysconfig` looks for it, under a lock that a child would find taken for ever."""
    inside.said(
        """
import threading, warnings
from genba import _agent
warnings.simplefilter("ignore")
looking, lock, find = threading.Event(), threading.Lock(), _agent.find_command

def find_slowly():
    with lock:
        looking.set()
        time.sleep(0.3)
        return find()

def read():
    try:
        genba.open("empty.genba").rows()
    except genba.CannotRead:
        pass

_agent.find_command = find_slowly
open("empty.genba", "wb").close()
thread = threading.Thread(target=read)
thread.start()
looking.wait()
child = os.fork()
if child == 0:
    os._exit(0 if lock.acquire(timeout=60) else 1)
assert os.waitpid(child, 0)[1] == 0
thread.join()
"""
    )


def test_a_block_ends_the_recording_that_it_began(inside: Inside) -> None:
    inside.said(
        """
with genba.record("one.genba"):
    copies(20)
    genba.stop()
    genba.start("two.genba")
assert genba.is_active() and genba.path().name == "two.genba"
# The same path is another recording all the same.
genba.stop()
with genba.record("one.genba", force=True):
    genba.stop()
    genba.start("one.genba", force=True)
assert genba.is_active()
genba.stop()
"""
    )


def test_a_path_that_is_not_utf_8(inside: Inside) -> None:
    lines = inside.said(
        """
try:
    genba.start(os.fsdecode(b"folder-\\xff/app.genba"))
except ValueError as error:
    print(error)
assert not genba.is_active()
"""
    )
    assert lines == [f"'{inside.workshop.place.inside}/folder-\\udcff/app.genba' or a tag is not UTF-8: choose another path, such as /tmp/app.genba"]
