"""Handlers of the program's own for genba's three signals, however set; the stacks that signals run on; foreign signals."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from both_ways import built, same_both_ways, without_genba
from built import PROGRAMS
from recording import REPOSITORY, Workshop
from soak import SOAK


FAST = ("--rate", "10000")


@pytest.fixture(scope="session")
def handlers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("handlers", tmp_path_factory)


def test_the_program_sees_its_own_handlers(workshop: Workshop, handlers: Path) -> None:
    """signal, bsd_signal, sysv_signal, sigset, sigignore, siginterrupt, sigaction: handler, flags and mask as without genba."""
    text = (
        "import ctypes, sys\nlibrary = ctypes.CDLL(sys.argv[1])\n"
        "for number in (23, 11, 7, 10): library.views(number)\n"
    )
    run = same_both_ways(workshop, workshop.write("views.py", text), workshop.take(handlers), flags=FAST)
    assert run.stdout.count("strange") == 0 and run.stdout.count("\n") > 80


def test_alternate_and_thread_stacks_as_small_as_they_may_be(workshop: Workshop, handlers: Path) -> None:
    """2 kB is the smallest alternate stack that the kernel takes, 16 kB the smallest stack of a thread. A sample's frame alone
    takes up to 3.4 kB."""
    text = (
        "import ctypes, sys\nlibrary = ctypes.CDLL(sys.argv[1])\n"
        "for function in (library.alternate_stack, library.small_thread):\n"
        "    function.argtypes = [ctypes.c_long, ctypes.c_double]\n"
        "print([library.small_thread(size, 0.1) for size in (16384, 65536)])\n"
        "print([library.alternate_stack(size, 0.1) for size in (65536, 16384, 2048, 4096, 8192)])\n"
        "print([library.small_thread(16384, 0.1)])\n"
    )
    run = same_both_ways(workshop, workshop.write("stacks.py", text), workshop.take(handlers), flags=FAST)
    assert run.stdout.splitlines() == ["[0, 0]", "[0, 0, 0, 0, 0]", "[0]"]


def test_signals_that_look_like_genba_s(workshop: Workshop, handlers: Path) -> None:
    text = (
        "import ctypes, sys\nlibrary = ctypes.CDLL(sys.argv[1])\n"
        f"library.strange(ctypes.c_long({20_000 if SOAK else 2_000}))\nprint('done')\n"
    )
    same_both_ways(workshop, workshop.write("strange.py", text), workshop.take(handlers), flags=FAST)


def test_signals_to_a_thread_that_was_made_without_libc(workshop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> None:
    """genba asks what such a thread believes to be blocked, where libc's threads have a word for that."""
    library = workshop.take(built("raw_thread", tmp_path_factory))
    text = "import ctypes, sys\nprint(ctypes.CDLL(sys.argv[1]).urge(50))\n"
    run = same_both_ways(workshop, workshop.write("urge.py", text), library)
    assert run.stdout == "1\n"


def test_signals_from_another_process(workshop: Workshop) -> None:
    """kill -URG from outside: by default nothing happens."""
    text = "import os\nprint(os.getpid(), flush=True)\nfor _ in range(400): sum(range(20_000))\nprint('done')\n"
    program = workshop.write("killed.py", text)
    process = workshop.start([workshop.interpreter.path, program], ["-q", "-o", f"{workshop.place.inside}/urged.genba", *FAST], {})
    pid = int(process.stdout.readline())
    for _ in range(500):
        try:
            os.kill(pid, signal.SIGURG)
        except ProcessLookupError:
            break
    run = workshop.finish(process, "urged.genba")
    assert (run.exit_code, run.stdout) == (0, "done\n"), run.stderr


PYTHON_S = """
import faulthandler, os, signal, sys, time
number = getattr(signal, sys.argv[1])
came = []
def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(100))
if sys.argv[2] == "later": work(0.2)
print(signal.getsignal(number))
print(signal.signal(number, lambda *_: came.append(number)))
work(0.2)
print(len(came))
for turn in range(1, 51):
    os.kill(os.getpid(), number)
    while len(came) < turn: work(0.0001)
print(len(came))
signal.signal(number, signal.SIG_IGN)
os.kill(os.getpid(), number)
work(0.1)
print(len(came), signal.signal(number, signal.SIG_DFL))
work(0.1)
print(len(came), signal.getsignal(number))
"""


@pytest.mark.parametrize("number", ["SIGURG", "SIGSEGV", "SIGBUS"])
@pytest.mark.parametrize("when", ["before", "later"])
def test_python_s_own_handler(workshop: Workshop, number: str, when: str) -> None:
    same_both_ways(workshop, workshop.write("own.py", PYTHON_S), number, when, flags=FAST)


FAULTHANDLER = """
import faulthandler, sys, time
def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(100))
for turn in range(40):
    faulthandler.enable()
    work(0.004)
    faulthandler.disable()
    work(0.004)
if sys.argv[1] == "on": faulthandler.enable()
print("now", flush=True)
faulthandler._sigsegv()
"""


@pytest.mark.parametrize("last", ["on", "off"])
def test_faulthandler_on_and_off_and_on_again(workshop: Workshop, last: str) -> None:
    """Then the program faults: it ends as it would have, with faulthandler's words or without."""
    program = workshop.write("faults.py", FAULTHANDLER)
    alone = without_genba(workshop, [workshop.interpreter.path, program, last])
    run = workshop.run(program, last, flags=("--quiet", *FAST))
    assert (run.exit_code, run.stdout, alone.stdout) == (128 + signal.SIGSEGV, "now\n", "now\n"), run.stderr
    assert alone.returncode == -signal.SIGSEGV
    for stderr in (run.stderr, alone.stderr):
        assert ("Fatal Python error: Segmentation fault" in stderr) == (last == "on"), stderr


@pytest.fixture(scope="session")
def go_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    go = shutil.which("go") or next((str(path) for path in [Path("/usr/local/go/bin/go")] if path.exists()), None)
    if go is None:
        pytest.skip("no Go toolchain on this machine")
    library = tmp_path_factory.mktemp("go") / "busy.so"
    subprocess.run(
        [go, "build", "-buildmode=c-shared", "-o", str(library), str(PROGRAMS / "busy.go")],
        check=True, env={**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "GOCACHE": str(REPOSITORY / "build/go"), "GOTOOLCHAIN": "local"},
    )
    return library


def test_a_go_library(workshop: Workshop, go_library: Path) -> None:
    """Go installs its own handlers by raw system calls, has small stacks without guard pages, and sends itself SIGURG."""
    text = (
        "import ctypes, sys, time\n"
        "def work(seconds):\n    until = time.process_time() + seconds\n    while time.process_time() < until: sum(range(100))\n"
        "work(0.1)\nlibrary = ctypes.CDLL(sys.argv[1])\nlibrary.Busy.restype = ctypes.c_longlong\n"
        "for turn in range(3):\n    print(library.Busy(ctypes.c_longlong(200)))\n    work(0.05)\n"
        "print(library.Faults())\n"
    )
    same_both_ways(workshop, workshop.write("goes.py", text), workshop.take(go_library), flags=FAST)


@pytest.fixture(scope="session")
def jumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("jumps", tmp_path_factory)


JUMPS = """
import ctypes, os, sys, time
def work():
    until = time.process_time() + 0.05
    while time.process_time() < until: sum(range(1000))
work()
print(ctypes.CDLL(sys.argv[1]).run(100))
child = os.fork()
work()
if child == 0: os._exit(0)
print(os.waitpid(child, 0)[1])
"""


def test_a_handler_leaves_a_call_that_waits_for_the_sampler(workshop: Workshop, jumps: Path) -> None:
    """By siglongjmp, out of `execve`. What comes after finds the sampler as if the call had returned: the fork need not do without it."""
    run = same_both_ways(workshop, workshop.write("jumps.py", JUMPS), workshop.take(jumps))
    profile = run.profile()
    assert [mark["text"] for mark in profile["marks"] if mark["kind"] == "note"] == []
    assert [process["ended"] for process in profile["processes"]] == ["exit", "exit"]
