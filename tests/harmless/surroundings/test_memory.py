"""A program that has no memory to spare, or a limit of it: it does what it does without genba, and the recording says why it stopped.

`allocations_max` (a wrapper adds it to GENBA_SESSION) lets so many allocations of genba's succeed in each process and no more: stepped
from none upwards, each of them is once the first to fail, in the sampler, after a dlopen, before and in a forked child, before an exec; and
where `genba trace` counts.
"""


import marshal
import re
import subprocess
from pathlib import Path

import pytest

from both_ways import same_both_ways, without_genba, words_of
from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from recording import RUN_SECONDS_MAX, Run, Workshop
from runs_on import KINDS
from soak import SOAK

# What ends a process's part of the recording: no memory, or what ended it in truth; nothing, where an exec did.
ENDS = {"no memory", "exit"}
# The first sample comes after some 600 allocations and the whole program makes some 5,000: the first ones are the start's, later they are
# those of the samples, each like the one before. The agent makes them, so they hardly depend on the CPython: the CPythons of each kind share
# them. On the others the steps are wider. All end where nothing fails any more.
END = (8000, 12000, 20000, 50000)
EACH = [*range(1000), *range(1000, 6000, 25)]
WIDE = [*range(0, 1000, 7), *range(1000, 6000, 97), *END]
SHORT = [*range(0, 1500, 100), *range(1500, 6000, 900), *END]
SHORT_ON = "3.13"
FEW = [0, 40, 200, 700, 1400, 50000]
LIMITED = 'GENBA_SESSION="$GENBA_SESSION;allocations_max=$1"; export GENBA_SESSION; shift; exec "$@"'
PROGRAM = """
import os, sys, threading, time, warnings
warnings.simplefilter("ignore")  # a fork beside a thread
def work(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: sum(range(1000))
def fork(depth):
    pid = os.fork()
    if pid == 0:
        work(0.01)
        if depth: fork(depth - 1)
        os._exit(depth)
    print("child", depth, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
work(0.02)
import ctypes, sqlite3, ssl
work(0.02)
fork(1)
thread = threading.Thread(target=work, args=[0.02])
thread.start()
fork(0)
thread.join()
import decimal, hashlib, lzma
work(0.02)
print("done", flush=True)
os.execv(sys.executable, [sys.executable, "-c", "print('another')"])
"""


def limited(workshop: Workshop, program: str, allocations: int) -> Run:
    return workshop.run_target(["/bin/sh", "-c", LIMITED, "sh", str(allocations), workshop.interpreter.path, program], flags=("-q",))


def steps_on(version: str) -> list[int]:
    if SOAK:
        if version not in KINDS:
            return WIDE
        return [*EACH[KINDS.index(version) :: len(KINDS)], *END]
    return SHORT if version == SHORT_ON else FEW


@pytest.mark.timeout(3600 if SOAK else 300)
def test_each_allocation_fails_once(workshop: Workshop) -> None:
    program = workshop.write("program.py", PROGRAM)
    alone = without_genba(workshop, [workshop.interpreter.path, program])
    ended = set()
    for allocations in steps_on(workshop.interpreter.name):
        run = limited(workshop, program, allocations)
        assert run.stdout == alone.stdout, (allocations, run.stderr)
        # Where none of its processes had memory for a first block, the command says that there is no recording.
        if run.recording.exists():
            assert (run.exit_code, words_of(run.stderr)) == (alone.returncode, alone.stderr), allocations
            processes = run.profile()["processes"]
            ended |= {process["ended"] for process in processes if process["pid"] != processes[0]["pid"] or process["ended"]}
            assert ended <= ENDS, (allocations, run.profile().facts())
    assert ended == ENDS


LIMIT = """
import os, resource, sys, time
time.sleep(0.3)
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]), resource.RLIM_INFINITY))
"""
FORKS = LIMIT + """
def nest(depth):
    pid = os.fork()
    if pid == 0:
        if depth: nest(depth - 1)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    if status: print("depth", depth, "status", status, flush=True)
nest(8)
print("done")
"""
# A limit leaves the program less memory than without genba, so the program says what it could not do, and goes on. It calls `dlopen` and does
# not import: CPython up to 3.13 loops forever when an exception leaves a `with` block while not even 32 bytes are free, and imports have many.
LOADS = "import _ctypes" + LIMIT + """
def tried(words, call):
    try: call()
    except (OSError, MemoryError): words = "no " + words
    print(words, flush=True)
for name in sys.argv[2:]:
    tried(name, lambda: _ctypes.dlopen(name, 0))
    time.sleep(0.05)
tried("fork", lambda: os.fork() or os._exit(0))
"""


LIBRARIES = ("libcrypto", "libsqlite3", "libstdc++", "liblzma")


def libraries(workshop: Workshop) -> list[str]:
    """As the dynamic linker knows them, with the numbers of this system; the largest first."""
    listed = subprocess.run(workshop.place.command(["/sbin/ldconfig", "-p"]), capture_output=True, text=True, check=True).stdout
    paths = dict(re.findall(r"\s(\S+\.so\.\d+) \(libc6,x86-64[^)]*\) => (\S+)", listed))
    root = workshop.interpreter.root or Path("/")
    names = [name for name in paths if name.partition(".")[0] in LIBRARIES]
    return sorted(names, key=lambda name: -(root / paths[name].lstrip("/")).stat().st_size)


@pytest.mark.parametrize("room_bytes", [0, 1 << 18, 1 << 20, 1 << 22])
def test_children_of_a_program_with_a_limit(workshop: Workshop, room_bytes: int) -> None:
    same_both_ways(workshop, workshop.write("forks.py", FORKS), str(room_bytes))


@pytest.mark.parametrize("room_bytes", [1 << 19, 1 << 21, 3 << 21, 1 << 24, 1 << 28])
def test_libraries_of_a_program_with_a_limit(workshop: Workshop, room_bytes: int) -> None:
    names = libraries(workshop)
    assert len(names) >= 2, "of these libraries nearly none is on this system"
    run = workshop.run(workshop.write("loads.py", LOADS), str(room_bytes), *names, flags=("-q",))
    lines = run.stdout.splitlines()
    assert run.exit_code == 0, run.stderr
    assert [line.removeprefix("no ") for line in lines] == [*names, "fork"]
    # With the least room none of the larger ones fits, with the most all do.
    assert room_bytes > 1 << 19 or f"no {names[0]}" in lines
    assert room_bytes < 1 << 28 or not any(line.startswith("no ") for line in lines), lines
    # The interpreter itself may say that it has no memory.
    assert not re.search("panicked|memory allocation of|genba", words_of(run.stderr)), run.stderr


def test_calls_of_a_program_with_a_limit(inside: Inside) -> None:
    lines = inside.said(
        """
import resource
genba.start("app.genba")
before(50)
used = int(open("/proc/self/statm").read().split()[0]) * 4096
text, outcomes = "x" * 300_000, []
for room in (400_000, 0):
    resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
    for _ in range(20):
        outcomes.append(genba._agent.mark(text)[0])
        genba._agent.own_stack()
        during(5)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
was_active = genba.is_active()
if was_active:
    genba.stop()
written = outcomes.count(genba._agent.Outcome.DONE)
print("stop" if was_active else "no memory", written, sep="\\n")
"""
    )
    profile = inside.recording("app.genba").profile()
    (process,) = profile["processes"]
    # Each mark that the program was told of is there, whole.
    marks = sum(mark["text"] == "x" * 300_000 for mark in profile["marks"])
    assert [process["ended"], str(marks)] == lines
    assert "before" in inside.functions("app.genba")


COUNTED = """
import sys, threading
def again(): return len([])
text = "".join(f"def f{n}(): return abs({n})\\nf{n}()\\n" for n in range(200))
exec(compile(text, "many.py", "exec"))
threads = [threading.Thread(target=again) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for _ in range(3): again()
print("done", flush=True)
sys.exit(3)
"""
# Its functions take some hundreds of allocations, the file another few hundred.
COUNTED_SHORT = [*range(0, 1400, 100), 50000]
COUNTED_EACH = [*range(0, 2500, 7), 50000]


@pytest.mark.timeout(3600 if SOAK else 300)
def test_each_allocation_fails_once_while_calls_are_counted(workshop: Workshop) -> None:
    """Under `genba trace`: what was counted until then is in the file, and the command says why it is not more."""
    place, program = workshop.place, workshop.write("counted.py", COUNTED)
    is_told, calls = False, dict[str, int]()
    for allocations in COUNTED_EACH if SOAK else COUNTED_SHORT:
        name = f"counted-{allocations}.prof"
        target = ["/bin/sh", "-c", LIMITED, "sh", str(allocations), workshop.interpreter.path, program]
        done = subprocess.run(
            place.command([place.genba_inside, "trace", "-o", f"{place.inside}/{name}", *target]),
            cwd=place.outside, env=place.environment({}), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=RUN_SECONDS_MAX,
        )
        assert (done.returncode, done.stdout) == (3, "done\n"), (allocations, done.stderr)
        assert not re.search("panicked|memory allocation of", done.stderr), (allocations, done.stderr)
        is_told |= "there was no memory for more functions: the counts end early" in done.stderr
        if not (place.outside / name).exists():
            assert "nothing was traced" in done.stderr, (allocations, done.stderr)
            continue
        calls = {function: numbers[1] for (_, _, function), numbers in marshal.loads((place.outside / name).read_bytes()).items()}
        assert calls.get("again", 0) <= 11 and all(calls.get(f"f{number}", 0) <= 1 for number in range(200)), (allocations, calls)
    # The last one had all.
    assert calls["again"] == 11 and all(calls[f"f{number}"] == 1 for number in range(200))
    assert is_told, "no step ended the counts"
