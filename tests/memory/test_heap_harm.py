"""`genba heap`: what goes wrong in a copy harms nobody, and nothing of genba's stays.

Owns: copies that do not end by themselves, what a copy and its making keep from the program, files that a program closes meanwhile, the memory of a
program that is looked at again and again, programs that trace their own memory, by tracemalloc and by memray.
"""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from compiled import package_folder
from entered import on, running
from recording import REPOSITORY, Workshop, binary, genba
from running_program import Program, started, until
from soak import SOAK
from test_heap import WAYS, counts, ended_well, heap, heaped, state

ROUNDS = 100 if SOAK else 20
# Rounds until what is made once is there.
FIRST = 3


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        # A thread may end meanwhile.
        with suppress(FileNotFoundError, ProcessLookupError):
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def has_ended(pid: int) -> bool:
    """Nobody may be there to wait for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


@contextmanager
def walking(program: Program) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A walk in a copy that does not end, and the copy."""
    walk = subprocess.Popen([str(binary()), "heap", str(program.pid), "--fork"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    copies: list[int] = []
    try:
        assert until(lambda: children(program.pid)), walk.communicate(timeout=30)
        copies = children(program.pid)
        (copy,) = copies
        yield walk, copy
    finally:
        # So that nobody has to wait for its end.
        for left in [copy for copy in copies if not has_ended(copy)]:
            with suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)
        walk.kill()
        walk.communicate()


def test_a_copy_that_does_not_end_is_ended(workshop: Workshop) -> None:
    with heaped(workshop, "loops") as (program, _):
        before = state(program)
        with walking(program) as (walk, copy):
            stdout, stderr = walk.communicate(timeout=60)
        assert walk.returncode == 1 and not stdout
        assert "its copy was not through after" in stderr and "at an object of class Plain, and was ended" in stderr, stderr
        assert "hint: --in-place" in stderr
        assert has_ended(copy) and not children(program.pid)
        assert until(lambda: state(program) == before), (state(program), before)
        ended_well(program)


def test_a_copy_ends_with_its_program(workshop: Workshop) -> None:
    with heaped(workshop, "loops") as (program, _), walking(program) as (walk, copy):
        program.process.kill()
        program.process.wait()
        assert until(lambda: has_ended(copy))
        _, stderr = walk.communicate(timeout=60)
        assert walk.returncode == 1 and f"process {program.pid} has ended" in stderr, stderr


def signals(pid: int, key: str) -> set[int]:
    mask = int(re.search(rf"^{key}:\s*([0-9a-f]+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1], 16)
    return {number for number in range(1, 32) if mask >> (number - 1) & 1}


def test_a_copy_takes_no_signal(workshop: Workshop) -> None:
    """A handler of the program's would run there once more, with its locks as they were."""
    with heaped(workshop, "loops") as (program, _):
        with walking(program) as (_, copy):
            # Nobody can block the first two; the third is how a filter answers a system call.
            assert signals(copy, "SigBlk") == set(range(1, 32)) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGSYS}
            for number in (signal.SIGTERM, signal.SIGUSR1):
                os.kill(copy, number)
            assert signals(copy, "ShdPnd") == {signal.SIGTERM, signal.SIGUSR1} and not has_ended(copy)
        ended_well(program)


FORKS = """
import ctypes, os, resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
libc = ctypes.CDLL(None)
assert libc.__register_atfork(ctypes.cast(libc.abort, ctypes.c_void_p), None, None, None) == 0
print("ready", flush=True)
sys.stdin.readline()
print("went on", flush=True)
os.fork()
"""


@on("3.13", "3.15")
def test_no_handler_of_forks_runs(workshop: Workshop) -> None:
    """Libraries register some; this one would end the program. Its own fork, in the end, shows that."""
    with running(workshop, [workshop.interpreter.path, workshop.write("forks.py", FORKS)]) as program:
        for _ in range(3):
            assert heap(program, "--fork")["walked"] == "copy"
        stdout, stderr = program.process.communicate("\n", timeout=60)
        assert (program.process.returncode, stdout) == (-signal.SIGABRT, "went on\n"), stderr


@pytest.fixture(scope="session")
def no_malloc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("no_malloc") / "no_malloc.so"
    command = ["cc", "-O2", "-fno-builtin", "-shared", "-fPIC", str(REPOSITORY / "tests/programs/no_malloc.c"), "-o", str(built)]
    subprocess.run(command, check=True)
    return built


# Objects of many kinds, and garbage. Its own child, in the end, asks for memory.
MANY_KINDS = """
import collections, ctypes, datetime, decimal, email.message, functools, gc, io, json, logging, os, re, resource, sys, unittest, weakref
import xml.etree.ElementTree as tree
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
gc.disable()
class Mine:
    def method(self): return lambda: self
class Slotted:
    __slots__ = ("one", "__weakref__")
def yields():
    held = yield
    yield held
begun = yields()
next(begun)
mine, slotted = Mine(), Slotted()
mine.itself, slotted.one = mine, [mine]
kept = [
    mine, slotted, begun, mine.method(), mine.method, weakref.ref(slotted), functools.partial(mine.method, 1), collections.deque(range(1_000)),
    collections.OrderedDict(one=1), collections.Counter("abc"), collections.defaultdict(list), decimal.Decimal("1.5"),
    datetime.datetime.now(datetime.timezone.utc), io.BytesIO(b"x" * 10_000), io.StringIO("text"), re.compile("a+"),
    tree.fromstring("<one><two/></one>"), email.message.Message(), (ctypes.c_int * 10)(), memoryview(b"x"), range(10**20),
    {number: str(number) for number in range(10_000)}, set(range(1_000)), map(str, []), iter({}), property(), object(),
]
for _ in range(100):
    garbage = {}
    garbage["key"] = garbage
print("ready", flush=True)
sys.stdin.readline()
child = os.fork()
if child == 0:
    bytearray(1_000_000)
    os._exit(0)
print(json.dumps({"child": os.WTERMSIG(os.waitpid(child, 0)[1])}), flush=True)
"""


def test_a_copy_asks_no_allocator(workshop: Workshop, no_malloc: Path) -> None:
    """A thread that the copy does not have may hold its locks. Objects are the C library's blocks here, too."""
    command = [workshop.interpreter.path, workshop.write("kinds.py", MANY_KINDS)]
    environment = workshop.place.environment({"LD_PRELOAD": workshop.take(no_malloc), "PYTHONMALLOC": "malloc"})
    with running(workshop, command, env=environment) as program:
        for flags in ((), ("--live-only",)):
            page = heap(program, "--fork", *flags)
            assert page["walked"] == "copy" and counts(page)["Mine"] == 1
        for verb in (("heap", "refs", str(program.pid), "--class", "__main__.Mine"), ("gc", "cycles", str(program.pid))):
            done = genba(*verb, "--fork")
            assert done.returncode == 0, done.stderr
        # Who does ask is ended.
        assert program.end() == {"child": signal.SIGILL}


# Its walk has no end, as in tests/programs/heaped.py: a copy lives for as long as its memory allows it.
CLOSES = """
import ctypes, fcntl, gc, json, mmap, os, socket, sys, time
gc.disable()
class Plain: pass
kept = [Plain(), bytearray(b"x") * 150_000_000]
loop = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
loop.write(b"\\xeb\\xfe")
ctypes.c_void_p.from_address(id(Plain) + 184).value = ctypes.addressof(ctypes.c_char.from_buffer(loop))
one, other = socket.socketpair()
other.settimeout(60)
listening = socket.create_server(("127.0.0.1", 0))
address = listening.getsockname()
lock = open(sys.argv[0])
fcntl.flock(lock, fcntl.LOCK_EX)
print("ready", flush=True)
sys.stdin.readline()
for closed in (one, listening, lock):
    closed.close()
def free(take):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            take()
            return True
        except OSError:
            time.sleep(0.001)
    return False
again = open(sys.argv[0])
told = {
    "ended": other.recv(1) == b"",
    "lock": free(lambda: fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)),
    "port": free(lambda: socket.create_server(address)),
}
print(json.dumps(told), flush=True)
sys.stdin.readline()
os._exit(0)
"""


def test_what_the_program_closes_meanwhile_is_closed(workshop: Workshop) -> None:
    with started(workshop, workshop.write("closes.py", CLOSES)) as program, walking(program) as (_, copy):
        program.process.stdin.write("\n")
        program.process.stdin.flush()
        told = json.loads(program.process.stdout.readline())
        # A copy that kept them open would have given them back by its end only.
        assert not has_ended(copy)
        assert told == {"ended": True, "lock": True, "port": True}


def mapped(program: Program) -> dict[str, int]:
    return {"threads": program.status("Threads"), "resident": program.status("VmRSS"), "mapped": program.status("VmSize")}


@pytest.mark.measures
def test_memory_and_threads_after_many_looks(workshop: Workshop) -> None:
    """The same program runs beside it without genba: it is the measure of what its own threads take and give back."""
    command = [workshop.interpreter.path, workshop.program("tests/programs/heap_server.py")]
    # Each thread may come to an arena of 64 MB of its own, of which hardly a page is used.
    environment = workshop.place.environment({"MALLOC_ARENA_MAX": "1"})
    with running(workshop, command, env=environment) as looked_at, running(workshop, command, env=environment) as alone:
        for number in range(FIRST * 2):
            heap(looked_at, WAYS[number % 2])
        before, before_alone = mapped(looked_at), mapped(alone)
        for number in range(ROUNDS):
            heap(looked_at, WAYS[number % 2], *(["--live-only"] if number % 3 == 1 else []))
        # One of its own threads more, at this moment, has a stack of 8 MB.
        spare = {"threads": 0, "resident": 4_000, "mapped": 12_000}

        def grown_too_much() -> dict[str, int]:
            after, after_alone = mapped(looked_at), mapped(alone)
            grown = {key: after[key] - before[key] - max(after_alone[key] - before_alone[key], 0) for key in spare}
            return {key: more for key, more in grown.items() if more > spare[key]}

        assert until(lambda: not grown_too_much()), (before, grown_too_much())
        for program in (looked_at, alone):
            assert program.end()["wrong"] == []


TRACED = """
import json, sys, tracemalloc
class Mine: pass
if sys.argv[1] == "before":
    tracemalloc.start()
kept = [Mine() for _ in range(2_000)]
print("ready", flush=True)
sys.stdin.readline()
if sys.argv[1] == "after":
    tracemalloc.start()
    kept += [Mine() for _ in range(1_000)]
traced, _ = tracemalloc.get_traced_memory()
print("looked", flush=True)
sys.stdin.readline()
grown = tracemalloc.get_traced_memory()[0] - traced
print(json.dumps({"tracing": tracemalloc.is_tracing(), "is_enough": traced > 1_000 * 40, "grown": grown < 100_000, "kept": len(kept)}))
"""


def looked_at_while_it_traces(workshop: Workshop, program_file: str, when: str, counted: tuple[int, int], *more: str) -> dict:
    """Before and after the program's own tracer begins; so many objects of its class each time. What the program said in the end."""
    first, then = counted
    with started(workshop, program_file, when, *more) as program:
        for way in WAYS:
            assert counts(heap(program, way))["Mine"] == first
        program.process.stdin.write("\n")
        program.process.stdin.flush()
        assert program.process.stdout.readline() == "looked\n"
        for way in (*WAYS, "--live-only", "--collect"):
            assert counts(heap(program, way))["Mine"] == then
        return program.end()


OBJECTS = {"before": (2_000, 2_000), "after": (2_000, 3_000)}


def test_a_program_that_traces_its_own_memory(workshop: Workshop) -> None:
    program_file = workshop.write("traced.py", TRACED)
    for when, counted in OBJECTS.items():
        ended = looked_at_while_it_traces(workshop, program_file, when, counted)
        assert ended == {"tracing": True, "is_enough": True, "grown": True, "kept": counted[1]}


MEMRAYED = """
import json, sys
sys.path.insert(0, sys.argv[2])
import memray
class Mine: pass
tracker = memray.Tracker("memrayed.bin")
if sys.argv[1] == "before":
    tracker.__enter__()
kept = [Mine() for _ in range(2_000)]
print("ready", flush=True)
sys.stdin.readline()
if sys.argv[1] == "after":
    tracker.__enter__()
    kept += [Mine() for _ in range(1_000)]
print("looked", flush=True)
sys.stdin.readline()
large = [bytearray(100_000) for _ in range(50)]
tracker.__exit__(None, None, None)
records = memray.FileReader("memrayed.bin").get_high_watermark_allocation_records(merge_threads=True)
print(json.dumps({"told": sum(record.size for record in records) >= 5_000_000, "kept": len(kept)}))
"""


@on("3.13")
def test_a_program_that_memray_watches(workshop: Workshop) -> None:
    """memray puts its own functions in the place of malloc's, in each library, also those that are loaded later: genba's among them."""
    packages = package_folder(workshop, "memray")
    program_file = workshop.write("memrayed.py", MEMRAYED)
    for when, counted in OBJECTS.items():
        assert looked_at_while_it_traces(workshop, program_file, when, counted, packages) == {"told": True, "kept": counted[1]}
        (workshop.place.outside / "memrayed.bin").unlink()


@on("3.13")
def test_a_recording_of_allocations_beside_memray(workshop: Workshop) -> None:
    """The program's own bytes are in both."""
    packages = package_folder(workshop, "memray")
    program_file = workshop.write("memrayed.py", MEMRAYED)
    for when in OBJECTS:
        recording = workshop.place.outside / f"{when}.genba"
        command = [str(binary()), "run", "--alloc", "--gc", "-o", str(recording), workshop.interpreter.path, program_file, when, packages]
        done = subprocess.run(command, cwd=workshop.place.outside, input="\n\n", capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f'ready\nlooked\n{{"told": true, "kept": {OBJECTS[when][1]}}}\n'
        report = genba("report", "--weight", "allocated", str(recording))
        assert "bytearray(100_000)" in report.stdout, report
        assert genba("check", str(recording)).returncode == 0
        (workshop.place.outside / "memrayed.bin").unlink()
