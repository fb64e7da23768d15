"""What a process is to itself (mask, handlers, limits, descriptors, rights, …) on each door, before and after forks, in threads made before and after
them, in children of the first thread and of another one, and in other programs: the same as without genba. What a program can notice (docs/limits.md)
is left out by name."""

import json

import pytest

from both_ways import without_genba
from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from recording import Workshop
from running_program import started, until

Table = dict[str, dict[str, object]]

PROGRAM = """
import ctypes, fcntl, json, os, queue, resource, signal, sys, threading, time, warnings
warnings.simplefilter("ignore")  # a fork beside a thread
door, begins = sys.argv[1:3]
libc = ctypes.CDLL(None, use_errno=True)
os.urandom(1)  # a CPython built without getrandom keeps /dev/urandom open
if door == "import genba":
    import genba
    genba.start("own.genba", children=True)

class Action(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_ulong), ("mask", ctypes.c_ulong * 16), ("flags", ctypes.c_int), ("restorer", ctypes.c_void_p)]

class Stack(ctypes.Structure):
    _fields_ = [("begin", ctypes.c_void_p), ("flags", ctypes.c_int), ("bytes", ctypes.c_size_t)]

# Default, ignored, or the program's. libc has a function of its own in each action that it sets.
SA_RESTORER = 0x04000000
def handler(number):
    action = Action()
    if libc.sigaction(number, None, ctypes.byref(action)): return "none"
    return [min(action.handler, 2), action.mask[0], action.flags & ~SA_RESTORER]

def alternate_stack():
    stack = Stack()
    libc.sigaltstack(None, ctypes.byref(stack))
    return [stack.flags, stack.bytes]

def control(option):
    "Options of prctl: some answer by their result, others by a number behind the address."
    value = ctypes.c_int(-1)
    nothing = ctypes.c_ulong(0)
    by_address = option in (2, 25, 37)
    result = libc.prctl(option, ctypes.byref(value) if by_address else nothing, nothing, nothing, nothing)
    return value.value if by_address else result

def name():
    letters = ctypes.create_string_buffer(16)
    libc.prctl(16, letters, ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))
    return letters.value.decode()

def descriptors():
    found = {}
    for number in range(64):
        try: found[number] = fcntl.fcntl(number, fcntl.F_GETFD)
        except OSError: pass
    return found

def children():
    try: return os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError: return "none"

def lines(path, *begins):
    with open(path) as file: return [line.strip() for line in file if line.startswith(begins)]

def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask

def is_locked():
    "Whoever holds it gets it again; another process does not."
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return "mine"
    except OSError:
        return "another's"

PRCTL = {"death signal": 2, "dumpable": 3, "keeps capabilities": 7, "seccomp": 21, "time stamps": 25, "timer slack": 30, "reaper": 37,
         "no new rights": 39, "huge pages": 42}
NAMESPACES = ("ipc", "mnt", "net", "pid", "pid_for_children", "user", "uts")

def state():
    found = {"blocked": sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))), "pending": sorted(map(int, signal.sigpending()))}
    found |= {f"handler of {number}": handler(number) for number in signal.valid_signals()}
    found |= {"alternate stack": alternate_stack(), "name": name(), "umask": umask(), "folder": os.getcwd(), "lock": is_locked()}
    found |= {words: control(option) for words, option in PRCTL.items()}
    found |= {"descriptors": descriptors(), "children": children(), "personality": libc.personality(ctypes.c_ulong(0xFFFFFFFF))}
    found |= {word: resource.getrlimit(getattr(resource, word)) for word in vars(resource) if word.startswith("RLIMIT_")}
    found |= {"user": os.getresuid(), "group": os.getresgid(), "groups": os.getgroups(), "priority": os.getpriority(os.PRIO_PROCESS, 0)}
    found |= {"policy": os.sched_getscheduler(0), "CPUs": sorted(os.sched_getaffinity(0))}
    found["rights"] = lines("/proc/thread-self/status", "Cap", "NoNewPrivs", "Seccomp", "Spec", "Cpus_allowed_list", "Mems_allowed_list")
    found["of the process"] = [lines(f"/proc/self/{word}", "") for word in ("oom_score_adj", "coredump_filter", "cgroup")]
    found["namespaces"] = [os.readlink(f"/proc/thread-self/ns/{word}") for word in NAMESPACES]
    found["timer"] = [signal.getitimer(timer)[0] > 0 for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)]
    return found

came = []
def arrives():
    "A signal of the program's to itself: the handler runs, once."
    came.clear()
    os.kill(os.getpid(), signal.SIGUSR2)
    until = time.monotonic() + 60
    while not came and time.monotonic() < until: pass
    return len(came)

def work():
    until = time.thread_time() + 0.02
    while time.thread_time() < until: sum(range(300))

lock = open(f"lock-{os.getpid()}", "w")
table = {}

def note(moment):
    work()
    table[moment] = state()
    if threading.current_thread() is threading.main_thread():
        table[moment]["a signal to itself"] = arrives()

def in_thread(moment):
    thread = threading.Thread(target=note, args=[moment])
    thread.start()
    thread.join()

def in_child(what):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        table.clear()
        what()
        with open(write, "w") as told: json.dump(table, told)
        os._exit(0)
    os.close(write)
    with open(read) as told: table.update(json.load(told))
    assert os.waitpid(child, 0)[1] == 0

def child(which):
    note(f"{which} child")
    in_thread(f"thread of the {which} child")
    in_child(lambda: grandchild(which))
    note(f"{which} child, after its fork")

def grandchild(which):
    note(f"child of the {which} child")
    in_thread(f"thread of the child of the {which} child")

def forked(words):
    pid = os.fork()
    if pid == 0: os.execv(sys.executable, words)
    return pid

def spawned(words): return os.posix_spawn(sys.executable, words, os.environ)

def another_program(moment, start):
    "It inherits what an exec hands on."
    told = "another.json"
    pid = start([sys.executable, __file__, "another program", "as it begins", told, moment])
    assert os.waitpid(pid, 0)[1] == 0
    with open(told) as file: table.update(json.load(file))

if begins == "changed":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG, signal.SIGUSR1, signal.SIGRTMIN + 3])
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGWINCH, lambda *_: None)
    signal.siginterrupt(signal.SIGWINCH, False)
    signal.setitimer(signal.ITIMER_REAL, 3000)
    # Never freed: handlers run on it until the end.
    libc.malloc.restype = ctypes.c_void_p
    libc.sigaltstack(ctypes.byref(Stack(libc.malloc(ctypes.c_size_t(64 << 10)), 0, 64 << 10)), None)
    for option, value in ((1, signal.SIGUSR1), (8, 1), (29, 60_000), (36, 1)):
        libc.prctl(option, *(ctypes.c_ulong(number) for number in (value, 0, 0, 0)))
    libc.prctl(15, b"another name")
    os.umask(0o027)
    os.nice(1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
signal.signal(signal.SIGUSR2, lambda number, frame: came.append(number))

if door == "another program":
    note(sys.argv[4])
    with open(sys.argv[3], "w") as told: json.dump(table, told)
    sys.exit(0)

def is_attached():
    for task in os.listdir("/proc/self/task"):
        try:
            if lines(f"/proc/self/task/{task}/comm", "genba"): return True
        except OSError: pass
    return False
if door == "attach":
    print("ready", flush=True)
    while not is_attached(): work()

note("first")
asked, answered = queue.SimpleQueue(), queue.SimpleQueue()
def serve():
    while what := asked.get():
        what()
        answered.put(None)
older = threading.Thread(target=serve)
older.start()
def in_older(what):
    asked.put(what)
    answered.get()

in_older(lambda: note("older thread"))
in_child(lambda: child("first"))
note("after a fork")
in_older(lambda: note("older thread, after a fork"))
in_thread("younger thread")
in_child(lambda: child("second"))
in_older(lambda: in_child(lambda: child("older thread's")))
another_program("another program", forked)
another_program("spawned program", spawned)
note("last")
asked.put(None)
older.join()
if door == "import genba":
    assert genba.is_active()
    genba.stop()
# More than a pipe holds that nobody reads until the end.
with open("states.json", "w") as told: json.dump(table, told)
"""
STARTS = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
MOMENTS = {"first", "older thread", "after a fork", "older thread, after a fork", "younger thread", "another program", "spawned program", "last"}
for which in ("first", "second", "older thread's"):
    MOMENTS |= {f"{which} child", f"thread of the {which} child", f"{which} child, after its fork"}
    MOMENTS |= {f"child of the {which} child", f"thread of the child of the {which} child"}
# A recording begun by `import genba` or `genba attach` has nothing preloaded: the kernel's own answers show genba's handlers, and its signal where a
# thread blocks it. A fork of such a process is recorded, too.
SEEN_WITHIN = {"handler of 7", "handler of 11", "handler of 23"}
SIGURG = 23
BEGINS = ["as it begins", "changed"]


@pytest.mark.parametrize("begins", BEGINS)
@pytest.mark.parametrize("door", ["run", "child of run", "import genba"])
def test_each_state_at_each_moment(inside: Inside, door: str, begins: str) -> None:
    workshop = inside.workshop
    target = [workshop.interpreter.path, workshop.write("states.py", PROGRAM)]
    if door == "child of run":
        target = [workshop.interpreter.path, "-c", STARTS, *target]
    alone = alone_in(workshop, [*target, "alone", begins])
    if door == "import genba":
        beside = inside.run([*target, door, begins])
        assert beside.returncode == 0, beside.stderr
    else:
        run = workshop.run_target([*target, door, begins], flags=("--quiet",))
        assert run.exit_code == 0, run.stderr
        assert len(run.profile()["processes"]) >= 9
    assert differences(alone, written(workshop), within=door == "import genba") == []


@pytest.mark.parametrize("begins", BEGINS)
def test_each_state_while_genba_is_attached(workshop: Workshop, begins: str) -> None:
    if workshop.interpreter.name == "3.14-standalone":
        pytest.skip("threads of builds that BOLT made show the alternate stacks that they get")
    program = workshop.write("states.py", PROGRAM)
    alone = alone_in(workshop, [workshop.interpreter.path, program, "alone", begins])
    with started(workshop, program, "attach", begins) as beside:
        attached = beside.attach("attached.genba", "--duration", "30")
        assert attached.returncode == 0, attached.stderr
        assert until(lambda: beside.process.poll() is not None)
        assert beside.process.returncode == 0, beside.process.communicate()[1]
    assert differences(alone, written(workshop), within=True) == []


def alone_in(workshop: Workshop, target: list[str]) -> Table:
    done = without_genba(workshop, target)
    assert done.returncode == 0, done.stderr
    alone = written(workshop)
    assert set(alone) == MOMENTS
    return alone


def written(workshop: Workshop) -> Table:
    """By the last run; the next one writes its own."""
    states = workshop.place.outside / "states.json"
    table = json.loads(states.read_text())
    states.unlink()
    return table


def differences(alone: Table, beside: Table, *, within: bool) -> list[tuple[str, str, object, object]]:
    """The moment, the state, and what it is without genba and beside it."""
    assert beside.keys() == alone.keys()
    found = []
    for moment, states in alone.items():
        assert beside[moment].keys() == states.keys()
        for name, expected in states.items():
            got = beside[moment][name]
            if within and name == "pending":
                got = [number for number in got if number != SIGURG]
            if got != expected and not (within and name in SEEN_WITHIN):
                found.append((moment, name, expected, got))
    return found
