"""`genba attach` to programs in awkward states: locks held, handlers, small stacks, filters, namespaces. The program is never harmed, and what cannot be
recorded is refused with a hint.

Owns: the programs that it attaches to. A program's last line proves that it was not disturbed; its threads, descriptors and handlers are compared
with those before.
"""

import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from entered import COUNTED, few, newest, on, refused, running, state
from interpreters import Interpreter
from recording import REPOSITORY, Place, Run, Workshop, binary, genba
from running_program import Program, until
from test_dump_refusals import NOBODY, needs_root
from jit import JIT, jitted  # noqa: F401  (fixture)


PROGRAMS = REPOSITORY / "tests/programs"
DIGEST = b"held"
for _ in range(1000):
    DIGEST = hashlib.sha256(DIGEST).digest()
UNDISTURBED = {"wrong": [], "digest": DIGEST.hex()}


@pytest.fixture(scope="session")
def held(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """held.c; and the same as a library that takes 0.15 s to load."""
    built = {}
    for name, flags in (("held", []), ("slow", ["-DNAP_MS=150"])):
        built[name] = tmp_path_factory.mktemp("held") / f"{name}.so"
        subprocess.run(["cc", "-O1", "-w", "-shared", "-fPIC", *flags, str(PROGRAMS / "held.c"), "-o", str(built[name])], check=True)
    return built


@contextmanager
def holding(workshop: Workshop, held: dict[str, Path], name: str, ms: int, threads: int = 1, how: str = "computes", **more: str) -> Iterator[Program]:
    library = workshop.take(held["slow" if name == "load" else "held"])
    command = [workshop.interpreter.path, workshop.program("tests/programs/holds.py"), library, name, str(ms), str(threads), how]
    with running(workshop, command, env=workshop.place.environment(more)) as program:
        yield program


@few
@pytest.mark.parametrize("name", ["in_loader", "load", "in_stdio", "in_malloc"])
def test_another_thread_holds_a_lock(workshop: Workshop, held: dict[str, Path], name: str) -> None:
    """The linker's in a callback and in a constructor, stdio's, malloc's all the time in its only arena."""
    with holding(workshop, held, name, 150, 2 if name == "in_malloc" else 1, MALLOC_ARENA_MAX="1") as program:
        # What loads a library again and again has its file open for a moment each time.
        before = min((state(program) for _ in range(20)), key=lambda one: len(one[2]))
        program.recorded("first.genba", "--duration", "600ms", "--quiet")
        mapped = program.mapped_files()
        run = program.recorded("second.genba", "--duration", "600ms", "--quiet")
        assert until(lambda: state(program) == before), (state(program), before)
        # A library that takes its time to load comes and goes by itself.
        assert name == "load" or program.mapped_files() == mapped
        assert program.end() == UNDISTURBED
    names = {frame.name.rpartition(".")[2] for stack in run.collapsed("--weight", "wall") for frame in stack.frames}
    # On a busy machine the computing itself may be in no sample.
    assert names & {"digest_of", "main", "hold"}, run.report()


@few
@pytest.mark.parametrize("name", ["in_loader", "load", "in_stdio"])
def test_the_only_usable_thread_holds_the_lock(workshop: Workshop, held: dict[str, Path], name: str) -> None:
    """It sleeps inside of the C library's callback or the loader: the new thread waits until it is through."""
    with holding(workshop, held, name, 150, how="waits") as program:
        program.recorded("held.genba", "--duration", "500ms", "--quiet")
        assert until(lambda: not program.has_genba_thread())
        os.kill(program.pid, signal.SIGRTMIN)
        assert program.end() == UNDISTURBED


@few
def test_only_threads_that_are_in_malloc(workshop: Workshop, held: dict[str, Path]) -> None:
    """genba enters between two calls of it, or says that it found no moment."""
    with holding(workshop, held, "in_malloc", 300, 2, how="waits", MALLOC_ARENA_MAX="1") as program:
        done = program.attach("malloc.genba", "--duration", "300ms", "--quiet")
        assert done.returncode == 0 or "hint: " in done.stderr, done.stderr
        assert until(lambda: not program.has_genba_thread())
        os.kill(program.pid, signal.SIGRTMIN)
        assert program.end() == UNDISTURBED


@few
def test_a_handler_that_waits_over_malloc(workshop: Workshop, held: dict[str, Path]) -> None:
    with holding(workshop, held, "in_handler", 300, how="waits") as program:
        for number in range(4):
            done = program.attach(f"handler-{number}.genba", "--duration", "50ms", "--quiet")
            assert done.returncode == 0 or "hint: " in done.stderr, done.stderr
            assert "its dynamic linker has not loaded" not in done.stderr, done.stderr
        assert until(lambda: not program.has_genba_thread())
        os.kill(program.pid, signal.SIGRTMIN)
        assert program.end() == UNDISTURBED


@few
@pytest.mark.parametrize("children", ["--children", "--no-children"])
def test_a_process_that_becomes_another_program_is_recorded_on(workshop: Workshop, children: str) -> None:
    again = workshop.write("again.py", "import select, sys\nwhile not select.select([sys.stdin], [], [], 0)[0]:\n    sum(range(1000))\nprint('{}')\n")
    program_file = workshop.write("becomes.py", f"import os, sys\nprint('ready', flush=True)\nos.read(0, 1)\nos.execv(sys.executable, [sys.executable, {again!r}])\n")
    with running(workshop, [workshop.interpreter.path, program_file]) as program:
        recording = workshop.place.outside / "becomes.genba"
        command = [str(binary()), "attach", str(program.pid), "-o", str(recording), children]
        environment = {**os.environ, **workshop.place.environment({})}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as attaching:
            first = attaching.stderr.readline()
            if not first.startswith("recording process"):
                attaching.kill()
            assert first.startswith("recording process"), first
            program.process.stdin.write("x")
            program.process.stdin.flush()
            is_seen = until(lambda: "again.py" in genba("report", recording).stdout, every_seconds=0.2)
            attaching.send_signal(signal.SIGINT)
            said = attaching.communicate(timeout=60)[1]
        assert (is_seen, attaching.returncode) == (True, 0), said
        assert program.end() == {}


@few
@pytest.mark.parametrize("name", ["libhoard.so", "libownalloc.so"])
def test_a_thread_that_an_allocator_has_called(workshop: Workshop, tmp_path: Path, name: str) -> None:
    """It waits in a call as any other thread does, and holds what the allocator holds. Nobody enters it, under whatever name its functions go. A
    name that genba does not know counts where the file exports `malloc`."""
    source, library = tmp_path / "waits.c", tmp_path / name
    malloc = "void *malloc(size_t bytes) { return 0; }\n" if name == "libownalloc.so" else ""
    source.write_text(f"#include <unistd.h>\nint wait_inside(void) {{ char c = 0; return read(0, &c, 1) == 1 ? c : -1; }}\n{malloc}")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    text = f"import ctypes\nlibrary = ctypes.CDLL({workshop.take(library)!r})\nprint('ready', flush=True)\nprint(library.wait_inside())\n"
    with running(workshop, [workshop.interpreter.path, workshop.write("inside.py", text)]) as program:
        assert until(lambda: Path(f"/proc/{program.pid}/syscall").read_text().startswith("0 0x0 "))
        done = program.attach("inside.genba", "--duration", "100ms", "--quiet")
        assert (done.returncode, "hint: " in done.stderr) == (1, True), done.stderr
        assert not [name for name in program.mapped_files() if "genba-agent" in name]
        stdout, stderr = program.process.communicate("x", timeout=60)
    assert (program.process.returncode, stdout) == (0, f"{ord('x')}\n"), stderr


@few
@pytest.mark.parametrize("name", ["spinning_on_small_stack", "sleeping_on_small_stack"])
def test_a_stack_in_the_heap(workshop: Workshop, held: dict[str, Path], name: str) -> None:
    library = workshop.take(held["held"])
    text = f"import ctypes\nheld = ctypes.CDLL({library!r})\nprint('ready', flush=True)\nprint(held.{name}(ctypes.c_long(1000)))\n"
    with running(workshop, [workshop.interpreter.path, workshop.write("stack.py", text)]) as program:
        done = program.attach("stack.genba", "--duration", "100ms", "--quiet")
        assert done.returncode == 0 or "hint: " in done.stderr, done.stderr
        stdout, stderr = program.process.communicate(timeout=60)
    # The bytes around the stack that it overwrote.
    assert (program.process.returncode, stdout) == (0, "0\n"), stderr


@few
def test_the_child_of_a_vfork_is_left_alone(workshop: Workshop, held: dict[str, Path]) -> None:
    with holding(workshop, held, "in_vfork", 250) as program:
        before = state(program)
        for number in range(2):
            program.recorded(f"vfork-{number}.genba", "--duration", "800ms", "--quiet")
        assert until(lambda: state(program) == before), (state(program), before)
        assert program.end() == UNDISTURBED


HAS_TWO = """\
import ctypes, subprocess, sys
held = ctypes.CDLL(sys.argv[1])
with subprocess.Popen([sys.executable, "-c", "print('ready', flush=True)\\nwhile True: pass"], stdout=subprocess.PIPE, text=True) as child:
    print(child.stdout.readline(), end="", flush=True)
    held.in_vfork(ctypes.c_long(10_000))
"""


@newest
def test_a_process_whose_parent_makes_another_child(workshop: Workshop, held: dict[str, Path]) -> None:
    """The parent is in vfork for the whole time, but not for this process, which has memory of its own."""
    with running(workshop, [workshop.interpreter.path, workshop.write("two.py", HAS_TWO), workshop.take(held["held"])]) as program:
        assert until(lambda: state_of(program) == "D")
        first, _ = map(int, Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split())
        try:
            done = program.attach("first.genba", "--duration", "100ms", "--quiet", pid=first)
            assert (done.returncode, state_of(program)) == (0, "D"), done.stderr
        finally:
            os.kill(first, signal.SIGKILL)


SUBPROCESSES = """\
import json, select, subprocess, sys
print("ready", flush=True)
codes = []
while len(codes) <= 4 or not select.select([sys.stdin], [], [], 0)[0]:
    codes.append(subprocess.run(["/bin/true"], stdout=subprocess.DEVNULL).returncode)
    codes.append(subprocess.run([sys.executable, "-Sc", "import _ctypes, zlib"], stdout=subprocess.DEVNULL).returncode)
print(json.dumps({"bad": sum(code != 0 for code in codes)}))
"""


@few
def test_subprocesses_in_a_loop(workshop: Workshop) -> None:
    with running(workshop, [workshop.interpreter.path, workshop.write("subprocesses.py", SUBPROCESSES)]) as program:
        for number in range(2):
            program.recorded(f"subprocesses-{number}.genba", "--duration", "600ms", "--quiet")
        assert program.end() == {"bad": 0}


FAULTHANDLER = """\
import faulthandler, json, select, sys, threading
faulthandler.enable()
dumps = open("dumps.txt", "w")
faulthandler.dump_traceback_later(0.02, repeat=True, file=dumps)
print("ready", flush=True)
total = sum(number * number for number in range(10_000))
# It waits in one place: CPython 3.13.0 itself ends when its watchdog dumps frames that change.
select.select([sys.stdin], [], [])
faulthandler.cancel_dump_traceback_later()
print(json.dumps({"total": total, "traceback_of": [threading.current_thread().name]}), flush=True)
sys.stdin.readline()
if sys.stdin.readline() == "die\\n":
    faulthandler._sigabrt()
"""


@few
def test_faulthandler(workshop: Workshop) -> None:
    """Its watchdog's tracebacks go on while genba is there, and so does its handler of fatal signals after it."""
    with running(workshop, [workshop.interpreter.path, workshop.write("faults.py", FAULTHANDLER)]) as program:
        before = state(program)
        for number in range(3):
            program.recorded(f"faults-{number}.genba", "--duration", "200ms", "--quiet")
        assert until(lambda: state(program) == before), (state(program), before)
        dumps = workshop.place.outside / "dumps.txt"
        assert until(lambda: dumps.read_text().count("Timeout (") > 5)
        stdout, stderr = program.process.communicate("\ndie\n", timeout=60)
    assert json.loads(stdout.splitlines()[-1])["total"] == sum(number * number for number in range(10_000))
    assert program.process.returncode == -signal.SIGABRT and "Fatal Python error: Aborted" in stderr, stderr
    assert "faults.py" in stderr, stderr
    dumped = dumps.read_text()
    # A dump of one thread: whose line is in the program, whatever its number.
    assert dumped.count('faults.py", line') >= dumped.count("Timeout ("), dumped[-2000:]


def test_code_of_the_jit(jitted: Workshop) -> None:  # noqa: F811
    environment = jitted.place.environment(JIT)
    with running(jitted, [jitted.interpreter.path, jitted.program("tests/programs/attached.py")], env=environment) as program:
        before = state(program)
        for number in range(2):
            run = program.recorded(f"jit-{number}.genba", "--duration", "1s", "--quiet")
        assert until(lambda: state(program) == before), (state(program), before)
        assert program.end()["total"] == sum(number * number for number in range(20_000))
    assert "squares" in run.collapsed_text(), run.report()


COUNTS = """\
import json, select, sys
print("ready", flush=True)
def expected():
    return sum(number * number for number in range(5000))
while not select.select([sys.stdin], [], [], 0)[0]:
    total = expected()
print(json.dumps({"total": total}))
"""


@newest
def test_a_process_that_is_stopped_stays_stopped(workshop: Workshop) -> None:
    """Before the recording and during it."""
    with running(workshop, [workshop.interpreter.path, workshop.write("counts.py", COUNTS)]) as program:
        before = state(program)
        program.process.send_signal(signal.SIGSTOP)
        assert until(lambda: state_of(program) == "T")
        refused(program, f"process {program.pid} is stopped", f"kill -CONT {program.pid}")
        assert state_of(program) == "T"
        program.process.send_signal(signal.SIGCONT)
        command = [str(binary()), "attach", str(program.pid), "-o", str(workshop.place.outside / "stopped.genba"), "--duration", "500ms"]
        environment = {**os.environ, **workshop.place.environment({})}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as genba:
            assert genba.stderr.readline().startswith("recording process")
            program.process.send_signal(signal.SIGSTOP)
            said = genba.communicate(timeout=60)[1]
        assert genba.returncode == 0, said
        assert state_of(program) == "T", said
        program.process.send_signal(signal.SIGCONT)
        assert until(lambda: state(program) == before), (state(program), before)
        assert program.end() == COUNTED


def state_of(program: Program) -> str:
    return Path(f"/proc/{program.pid}/stat").read_text().rpartition(") ")[2][0]


@few
def test_stopped_and_continued_at_any_moment_of_the_entry(workshop: Workshop) -> None:
    chance = random.Random(11)
    with running(workshop, [workshop.interpreter.path, workshop.write("counts.py", COUNTS)]) as program:
        before = state(program)
        environment = {**os.environ, **workshop.place.environment({})}
        for number in range(8):
            recording = workshop.place.outside / f"moment-{number}.genba"
            command = [str(binary()), "attach", str(program.pid), "-o", str(recording), "--duration", "50ms", "--quiet"]
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as genba:
                time.sleep(chance.uniform(0, 0.05))
                program.process.send_signal(signal.SIGSTOP)
                time.sleep(0.1)
                program.process.send_signal(signal.SIGCONT)
                said = genba.communicate(timeout=60)[1]
            assert genba.returncode == 0 or (genba.returncode == 1 and "hint: " in said), said
        assert until(lambda: state(program) == before), (state(program), before)
        assert program.end() == COUNTED


@few
def test_a_process_that_ends_at_any_moment(workshop: Workshop) -> None:
    """It ends as it would alone, and genba says so or has recorded it."""
    chance = random.Random(13)
    text = "import sys, time\nprint('ready', flush=True)\nend = time.monotonic() + float(sys.argv[1])\nwhile time.monotonic() < end: pass\nprint('over')\nsys.exit(7)\n"
    program_file = workshop.write("ends.py", text)
    for number in range(12):
        with running(workshop, [workshop.interpreter.path, program_file, str(chance.uniform(0, 0.08))]) as program:
            done = program.attach(f"ends-{number}.genba", "--quiet")
            stdout, stderr = program.process.communicate(timeout=60)
        assert (program.process.returncode, stdout, stderr) == (7, "over\n", "")
        exists = (workshop.place.outside / f"ends-{number}.genba").exists()
        assert (done.returncode, "hint: " in done.stderr, exists) in ((0, False, True), (1, True, False)), done
        assert "panic" not in done.stderr, done.stderr


@few
def test_a_read_of_a_named_pipe(workshop: Workshop) -> None:
    os.mkfifo(workshop.place.outside / "pipe")
    program_file = workshop.write("pipe.py", "import sys\nprint('ready', flush=True)\nprint(open('pipe').read(), flush=True)\nsys.stdin.readline()\nprint('{}')\n")
    with running(workshop, [workshop.interpreter.path, program_file]) as program, open(workshop.place.outside / "pipe", "w") as pipe:
        run = program.recorded("pipe.genba", "--duration", "300ms", "--quiet")
        pipe.write("words")
        pipe.close()
        assert program.process.stdout.readline() == "words\n"
        assert program.end() == {}
    assert "pipe.py" in run.report("--weight", "wall")


@newest
def test_uninterruptible_sleep(workshop: Workshop, held: dict[str, Path]) -> None:
    """The kernel keeps a thread in it while its vfork's child lives."""
    library = workshop.take(held["held"])
    text = f"import ctypes\nheld = ctypes.CDLL({library!r})\nprint('ready', flush=True)\nprint(held.in_vfork(ctypes.c_long(4000)))\n"
    with running(workshop, [workshop.interpreter.path, workshop.write("sleeps.py", text)]) as program:
        assert until(lambda: state_of(program) == "D")
        refused(program, "uninterruptible sleep")
        assert program.process.communicate(timeout=60) == ("0\n", "")
        assert program.process.returncode == 0


@newest
def test_gdb(workshop: Workshop) -> None:
    if shutil.which("gdb") is None:
        pytest.skip("no gdb (make prepare, as root)")
    with running(workshop, [workshop.interpreter.path, workshop.write("counts.py", COUNTS)]) as program:
        with subprocess.Popen(["gdb", "-q", "-nx", "-p", str(program.pid)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True) as gdb:
            assert until(lambda: program.status("TracerPid") == gdb.pid)
            try:
                refused(program, f"process {program.pid} is traced by process {gdb.pid}")
            finally:
                gdb.communicate("detach\nquit\n", timeout=60)
        assert until(lambda: state_of(program) in "RS")
        program.recorded("after.genba", "--duration", "100ms", "--quiet")
        assert program.end() == COUNTED


@few
def test_a_tracer_of_another_thread_is_named(workshop: Workshop) -> None:
    text = "import threading\ndone = threading.Event()\nthread = threading.Thread(target=done.wait)\nthread.start()\nprint('ready', thread.native_id, flush=True)\ninput()\ndone.set()\nthread.join()\nprint('{}')\n"
    with running(workshop, [workshop.interpreter.path, workshop.write("threads.py", text)]) as program:
        (thread,) = set(os.listdir(f"/proc/{program.pid}/task")) - {str(program.pid)}
        with subprocess.Popen(["strace", "-q", "-e", "none", "-p", thread], stderr=subprocess.DEVNULL) as strace:
            assert until(lambda: f"TracerPid:\t{strace.pid}\n" in Path(f"/proc/{program.pid}/task/{thread}/status").read_text())
            try:
                refused(program, f"traced by process {strace.pid}")
            finally:
                strace.terminate()
        program.recorded("after.genba", "--duration", "100ms", "--quiet")
        assert program.end() == {}


# What is in a namespace of its own, and whether that hides the test's files from it.
PRIVATE = 'mount -t tmpfs tmpfs /tmp && exec "$0" "$@"'
SPACES = {
    "mount": ["--mount"],
    "pid": ["--pid", "--fork", "--mount-proc"],
    "net": ["--net"],
    "user": ["--user", "--map-root-user"],
    "all": ["--mount", "--pid", "--fork", "--mount-proc", "--net", "--user", "--map-root-user", "--ipc", "--uts", "--cgroup"],
}


@pytest.fixture
def outside(python: Interpreter, tmp_path: Path) -> Iterator[Workshop]:
    """A workshop whose interpreter is in no chroot: unshare makes its own place."""
    made = Workshop(Place(python, tmp_path, str(tmp_path), str(binary()), str(REPOSITORY)))
    yield made
    made.check_laws()


def inner(process: int) -> int:
    """`unshare --fork` has a child."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return int(children[0]) if children else process


@needs_root
@on("3.11", "3.13")
@pytest.mark.parametrize("space", SPACES)
def test_a_namespace(outside: Workshop, space: str) -> None:
    flags = SPACES[space]
    has_own_files = any(flag.startswith("--mount") for flag in flags)
    shell = ["sh", "-c", PRIVATE] if has_own_files else []
    command = ["unshare", *flags, *shell, outside.interpreter.path, "-c", COUNTS]
    if subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode:
        pytest.skip(f"this kernel makes no namespaces of these kinds: {' '.join(flags)}")
    with running(outside, command) as program:
        pid = inner(program.pid)
        descriptors = set(os.listdir(f"/proc/{pid}/fd"))
        run = recorded_of(program, "first.genba", pid)
        again = recorded_of(program, "second.genba", pid)
        assert until(lambda: set(os.listdir(f"/proc/{pid}/fd")) == descriptors)
        left = os.listdir(f"/proc/{pid}/root/tmp") if has_own_files else []
        assert program.end() == COUNTED
    for one in (run, again):
        assert "expected" in one.report("--limit", "0", "--min-share", "0"), one.report()
        assert one.check().returncode == 0
    assert left == []


def recorded_of(program: Program, name: str, pid: int) -> Run:
    done = program.attach(name, "--duration", "300ms", pid=pid)
    assert done.returncode == 0, done.stderr
    return program.workshop.runs[-1]


@needs_root
@newest
def test_another_user_in_a_root_of_its_own(workshop: Workshop) -> None:
    """As a service in a container: a chroot, no rights, and a user who may not read genba's files."""
    user = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    before = set(os.listdir(workshop.interpreter.root / "tmp"))
    with running(workshop, [*user, workshop.interpreter.path, "-c", COUNTS]) as program:
        run = recorded_of(program, "user.genba", program.pid)
        assert program.end() == COUNTED
    assert "expected" in run.report("--limit", "0", "--min-share", "0")

    def left() -> set[str]:
        return {name for name in set(os.listdir(workshop.interpreter.root / "tmp")) - before if re.fullmatch("genba-[0-9a-f]{16}", name)}

    # Another test may have one there, for a moment.
    assert until(lambda: not left()), left()
