"""Programs that use up what a process has: threads, descriptors, libraries with thread-local storage, other preloaded libraries.

Each does under genba what it does alone: the same output, the same exit code.
"""

import subprocess
from pathlib import Path

import pytest

from built import PROGRAMS
from recording import Workshop
from soak import SOAK


MANY, SHORT_LIVED = (1000, 5000) if SOAK else (300, 1000)
LIBRARIES = 60
ALLOCATORS = ("libjemalloc.so.2", "libtcmalloc_minimal.so.4")


def same_as_alone(
    workshop: Workshop, text: str, *arguments: str, flags: tuple[str, ...] = (), environment: dict[str, str] | None = None
) -> None:
    target = [workshop.interpreter.path, workshop.write("program.py", text), *arguments]
    alone = subprocess.run(
        workshop.place.command(target),
        cwd=workshop.place.outside,
        env=workshop.place.environment(environment or {}),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert alone.returncode == 0 and alone.stdout, alone.stderr
    run = workshop.run_target(target, flags=("-q", *flags), environment=environment)
    # The counting of threads and variables aside, which the programs leave out, nothing differs.
    assert (run.exit_code, run.stdout) == (alone.returncode, alone.stdout), (alone.stderr, run.stderr)


def test_many_threads_at_once(workshop: Workshop) -> None:
    text = f"""
import threading, time
barrier, done = threading.Barrier({MANY} + 1), []
def work():
    barrier.wait()
    done.append(sum(range(2000)))
threading.stack_size(128 * 1024)
threads = [threading.Thread(target=work) for _ in range({MANY})]
[thread.start() for thread in threads]
barrier.wait()
[thread.join() for thread in threads]
print(len(done), sum(done))
"""
    same_as_alone(workshop, text)


def test_many_short_lived_threads(workshop: Workshop) -> None:
    text = f"""
import threading
done = []
for _ in range({SHORT_LIVED}):
    thread = threading.Thread(target=done.append, args=[1])
    thread.start()
    thread.join()
print(len(done))
"""
    same_as_alone(workshop, text, flags=("--rate", "5000"))


def test_running_threads_that_block_every_signal(workshop: Workshop) -> None:
    text = """
import hashlib, signal, threading
data, done = b"x" * 100_000, []
def work():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    for _ in range(20): hashlib.sha256(data).digest()
    done.append(1)
threads = [threading.Thread(target=work) for _ in range(100)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(done))
"""
    same_as_alone(workshop, text, flags=("--rate", "5000"))


def test_no_free_buffer(workshop: Workshop) -> None:
    """One question at a time (a wrapper says so in GENBA_SESSION): the other running thread's looks are dropped and counted."""
    wrapper = "import os, sys\nos.environ['GENBA_SESSION'] += ';questions_max=1'\nos.execv(sys.argv[1], sys.argv[1:])\n"
    text = """
import ctypes, hashlib, threading
SYS_rt_sigprocmask, SIG_BLOCK = 14, 0
data, done = b"x" * 3_000_000, []
def work(blocked):
    if blocked: ctypes.CDLL(None).syscall(SYS_rt_sigprocmask, SIG_BLOCK, ctypes.byref(ctypes.c_uint64(2**31 - 1)), None, 8)
    for _ in range(60): hashlib.sha256(data).digest()
    done.append(1)
threads = [threading.Thread(target=work, args=[number % 2]) for number in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(done))
"""
    python, program = workshop.interpreter.path, workshop.write("program.py", text)
    target = [python, workshop.write("wrapper.py", wrapper), python, program]
    run = workshop.run_target(target, flags=("-q", "--rate", "5000"))
    assert run.answer() == 4, run.stderr
    assert sum(process["accounting"]["dropped"].get("no buffer", 0) for process in run.profile()["processes"]) > 0


def test_descriptors_are_the_programs(workshop: Workshop) -> None:
    """It counts them, closes all it can, lives with a limit of few, and opens the lowest number again."""
    text = """
import os, resource, time
def work():
    until = time.process_time() + 0.2
    while time.process_time() < until: sum(range(1000))
def table():
    return sorted(int(name) for name in os.listdir("/proc/self/fd"))
print(table())
work()
out = os.dup2(1, 100)
os.closerange(3, 100)
os.closerange(101, 1 << 16)
print(table())
resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))
opened = []
try:
    while True: opened.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    print(error.errno, opened)
work()
os.closerange(3, 8)
work()
child = os.fork()
if child == 0:
    work()
    os._exit(len(opened))
print(os.waitpid(child, 0)[1] >> 8, os.open("/dev/null", os.O_RDONLY))
os.chdir("/")
work()
print(os.getcwd())
"""
    same_as_alone(workshop, text)


@pytest.mark.parametrize("model", ["global-dynamic", "initial-exec"])
def test_libraries_with_thread_local_storage(workshop: Workshop, tmp_path: Path, model: str) -> None:
    """Opened, used in two threads, closed, in three rounds."""
    source = str(PROGRAMS / "tls_library.c")
    built = tmp_path / "tls.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", f'-DMODEL="{model}"', source, "-o", str(built)], check=True)
    for number in range(LIBRARIES):
        (workshop.place.outside / f"tls{number}.so").write_bytes(built.read_bytes())
    text = f"""
import _ctypes, ctypes, sys, threading
refused, counted = 0, []
def use(library): counted.append(library.count(100_000))
for _ in range(3):
    libraries = []
    for number in range({LIBRARIES}):
        try: libraries.append(ctypes.CDLL(f"{{sys.argv[1]}}/tls{{number}}.so"))
        except OSError: refused += 1
    for library in libraries:
        thread = threading.Thread(target=use, args=[library])
        thread.start()
        use(library)
        thread.join()
    for library in libraries: _ctypes.dlclose(library._handle)
print(len(counted), sum(counted), refused)
"""
    same_as_alone(workshop, text, workshop.place.inside)


@pytest.mark.parametrize("library", ALLOCATORS)
def test_another_allocator_is_preloaded(workshop: Workshop, library: str) -> None:
    folder = Path("/usr/lib/x86_64-linux-gnu")
    root = workshop.interpreter.root or Path("/")
    if not (root / folder.relative_to("/") / library).exists():
        pytest.skip(f"no {library} in {root} (make prepare, as root)")
    text = """
import json, os, threading
def work():
    for _ in range(200): json.loads(json.dumps({str(n): [n] * 10 for n in range(100)}))
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
loaded = {line.split("/")[-1].strip() for line in open("/proc/self/maps") if "malloc" in line}
child = os.fork()
if child == 0: work(); os._exit(0)
print(sorted(loaded), os.waitpid(child, 0)[1])
"""
    same_as_alone(workshop, text, environment={"LD_PRELOAD": str(folder / library)})
