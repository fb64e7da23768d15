"""A thread that does not wake while genba is attached: its stack is read in the first moments, before all tables are made, and no second time by chance.
And what it did before genba came."""

from entered import on
from profile_tables import Profile, Row
from recording import Workshop, genba
from running_program import started, until_it_holds

ASLEEP = """\
import threading, time
taken = threading.Lock()
taken.acquire()
threading.Thread(target=taken.acquire, daemon=True).start()
print("ready", flush=True)
while True:
    time.sleep(0.001)
"""

# Each of them waits once, with a time limit.
LIMITED = """\
import select, sys, threading, time
taken = threading.Lock()
taken.acquire()
def locked(): taken.acquire(timeout=3600)
def polled(): select.poll().poll(3_600_000)
def slept(): time.sleep(3600)
for function in (locked, polled, slept):
    threading.Thread(target=function, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
print("{}")
"""

# On a busy machine tables may be made when a block with the cut stacks is written: then the same wait is told twice.
TRIES = 6

# Of each thread; a second has room for far fewer of those that follow.
WAITS_BEFORE = 2000


def asleep_ns(profile: Profile, *, cut: bool) -> int:
    """Of the thread that waits for the lock: in stacks that are cut, or in whole ones."""

    def wanted(row: Row) -> bool:
        return "Thread.run" in row.names() and any("C stack cut: no unwind row" in name for name in row.names()) == cut

    return profile.sum("wall_ns", wanted)


def test_the_stack_in_c_is_whole_once_the_tables_are_there(workshop: Workshop) -> None:
    """A second of whole stacks, whenever the tables are there. None comes where the stack of the first moments stays what is shown."""
    with started(workshop, workshop.write("asleep.py", ASLEEP)) as program, program.recording("asleep.genba") as run:
        until_it_holds(run, lambda profile: asleep_ns(profile, cut=False) > 1_000_000_000)
    whole = [stack for stack in run.collapsed("--weight", "wall") if any(frame.name == "Thread.run" for frame in stack.frames)]
    whole = [stack for stack in whole if not any("C stack cut: no unwind row" in frame.name for frame in stack.frames)]
    # Down to the call in which the kernel lets it wait.
    assert any("sem" in frame.name or "lock" in frame.name.lower() for stack in whole for frame in stack.frames), "\n".join(map(str, whole))


@on("3.13", "3.15")
def test_a_wait_with_a_limit_is_what_it_was_before(workshop: Workshop) -> None:
    """genba's stop interrupts it, and the kernel goes on with it by `restart_syscall`."""
    # CPython 3.15 has a poll with signals.
    called = {"locked": ("in futex(2)",), "polled": ("in poll(2)", "in ppoll(2)"), "slept": ("in clock_nanosleep(2)",)}
    told = []
    for number in range(TRIES):
        with started(workshop, workshop.write("limited.py", LIMITED)) as program:
            run = program.recorded(f"limited{number}.genba", "--duration", "1s")
            done = genba("dump", str(program.pid), "--format", "json")
            assert done.returncode == 0, done.stderr
            assert program.end() == {}
        stacks = [{frame.name for frame in stack.frames} for stack in run.collapsed("--weight", "wall")]
        for function, calls in called.items():
            # What it waits on may follow: a descriptor, a kind of lock.
            waits_so = [names for names in stacks if function in names and any(name.startswith(calls) for name in names)]
            assert waits_so, [sorted(names) for names in stacks if function in names]
        assert "restart_syscall" not in run.collapsed_text("--weight", "wall") + done.stdout
        waits = {place["function"]: place["wait"]["seen"] for place in run.report_json("--weight", "wall")["verdict"]["places"] if place["wait"]}
        assert called.keys() <= waits.keys(), waits
        told.append(waits)
        if max(waits[name] for name in called) <= 1:
            return
    raise AssertionError(told)


def test_waits_before_it_came_are_none_of_the_recording(workshop: Workshop) -> None:
    """Of its main thread and of another: the kernel counts a thread's turns from its beginning on."""
    program_file = workshop.write(
        "waited.py",
        "import select, sys, threading, time\ndef naps(count, each_s):\n    for _ in range(count): time.sleep(each_s)\n"
        f"naps({WAITS_BEFORE}, 0.0001)\nended = threading.Event()\n"
        f"def other():\n    naps({WAITS_BEFORE}, 0.0001)\n    ready.set()\n    while not ended.is_set(): naps(1, 0.05)\n"
        "ready = threading.Event()\nthreading.Thread(target=other).start()\nready.wait()\nprint('ready', flush=True)\n"
        "while not select.select([sys.stdin], [], [], 0)[0]: naps(1, 0.05)\nended.set()\nprint('{}')\n",
    )
    with started(workshop, program_file) as program:
        run = program.recorded("waited.genba", "--duration", "1s")
        assert program.end() == {}
    waits = [place["wait"] for place in run.report_json("--weight", "wall")["verdict"]["places"] if place["wait"]]
    assert sum(wait["turns"] for wait in waits) in range(2, WAITS_BEFORE), waits
