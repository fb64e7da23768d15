"""genba is a guest: what once ended or changed a program, each with the program that showed it."""

import subprocess
from pathlib import Path

import pytest

import interpreters
from built import PROGRAMS
from recording import Workshop


@pytest.fixture(scope="session")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("guest") / "guest.so"
    source = str(PROGRAMS / "guest.c")
    subprocess.run(["cc", "-O1", "-w", "-shared", "-fPIC", source, "-o", str(built)], check=True)
    return built


def test_forks_of_c_threads(workshop: Workshop, guest: Path) -> None:
    """Several threads fork at once, without the interpreter's lock: each child ends."""
    text = (
        "import ctypes, sys, threading\nlibrary = ctypes.CDLL(sys.argv[1])\nbad = []\n"
        "def fork(): bad.append(library.forks(ctypes.c_long(60)))\n"
        "threads = [threading.Thread(target=fork) for _ in range(4)]\n"
        "[thread.start() for thread in threads]\n[thread.join() for thread in threads]\nprint(bad)\n"
    )
    run = workshop.run(workshop.write("forks.py", text), workshop.take(guest))
    assert run.answer() == [0, 0, 0, 0], run.stderr


def test_a_handler_gets_no_signal_that_was_pending(workshop: Workshop, guest: Path) -> None:
    """Threads that stay long in C have genba's signal pending when the program installs its own handler."""
    text = (
        "import ctypes, hashlib, sys, threading, time\nlibrary = ctypes.CDLL(sys.argv[1])\ndata = b'x' * 3_000_000\n"
        "until = time.monotonic() + 2\n"
        "def work():\n    while time.monotonic() < until: hashlib.sha256(data).digest()\n"
        "threads = [threading.Thread(target=work) for _ in range(6)]\n[thread.start() for thread in threads]\n"
        "while time.monotonic() < until:\n    library.urgent_handler(1)\n    time.sleep(0.01)\n"
        "    library.urgent_handler(0)\n    time.sleep(0.02)\n"
        "[thread.join() for thread in threads]\nprint(library.urgent_handler(0))\n"
    )
    run = workshop.run(workshop.write("urgent.py", text), workshop.take(guest))
    assert run.answer() == 0, run.stderr


def test_no_memory_ends_the_recording_and_not_the_program(workshop: Workshop) -> None:
    text = (
        "import random, resource, sys, time\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (12 << 20),) * 2)\n"
        "sys.setrecursionlimit(5000)\nchoose = random.Random(1).random\n"
        "def down(depth):\n    if depth == 0:\n        return sum(range(2000))\n"
        "    if choose() < 0.5: return down(depth - 1)\n    return 1 + down(depth - 1)\n"
        "while time.process_time() < 1.5: down(400)\nprint(1)\n"
    )
    run = workshop.run(workshop.write("tight.py", text), flags=("--rate", "2000"))
    assert (run.exit_code, run.answer()) == (0, 1), run.stderr


def test_a_library_that_was_cut_short(workshop: Workshop, guest: Path) -> None:
    """What lies behind the new end of the file cannot be read any more: the sampler must not try it raw."""
    text = (
        "import ctypes, os, sys, time\nctypes.CDLL(sys.argv[1])\nos.truncate(sys.argv[1], 4096)\n"
        "while time.process_time() < 0.5: sum(range(100))\nprint(1, flush=True)\nos._exit(0)\n"
    )
    run = workshop.run(workshop.write("cut.py", text), workshop.take(guest))
    assert (run.exit_code, run.answer()) == (0, 1), run.stderr


def test_ignored_faults_stay_ignored_over_exec(workshop: Workshop) -> None:
    text = (
        "import signal, subprocess\nsignal.signal(signal.SIGBUS, signal.SIG_IGN)\n"
        "done = subprocess.run(['sh', '-c', 'kill -BUS $$; echo 1'], restore_signals=False, capture_output=True)\n"
        "print(done.stdout.decode().strip() or 0)\n"
    )
    run = workshop.run(workshop.write("ignores.py", text))
    assert run.answer() == 1, run.stderr


def test_a_file_size_limit_in_the_program_and_its_children(workshop: Workshop) -> None:
    text = (
        "import resource, subprocess, sys, time\n"
        "limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "child = [sys.executable, '-c', 'import time\\nwhile time.process_time() < 0.4: sum(range(100))']\n"
        "print(subprocess.run(child, preexec_fn=limit).returncode)\n"
    )
    run = workshop.run(workshop.write("limits.py", text))
    assert run.answer() == 0, run.stderr


EMBEDDED = """
#include <Python.h>
#include <sys/wait.h>
#include <unistd.h>
static void fork_once(void) { int status; pid_t child = fork(); if (child == 0) _exit(0); waitpid(child, &status, 0); }
int main(void) {
    fork_once();
    Py_Initialize();
    PyRun_SimpleString("sum(range(1000))");
    Py_FinalizeEx();
    fork_once();
    puts("1");
    return 0;
}
"""


def test_an_embedded_interpreter_that_is_not_there_yet_or_any_more(workshop: Workshop, tmp_path: Path) -> None:
    """A program forks before Py_Initialize and after Py_Finalize."""
    if workshop.interpreter.root is not None:
        pytest.skip("there is no compiler in the Debian sid")
    assert isinstance(workshop.interpreter, interpreters.Interpreter)
    home = Path(workshop.interpreter.path).parents[1]
    minor = workshop.interpreter.minor
    if not (home / f"include/python{minor}/Python.h").exists():
        pytest.skip(f"no headers in {home} to embed this CPython with")
    (tmp_path / "embedded.c").write_text(EMBEDDED)
    program = workshop.place.outside / "embedded"
    library = [f"-L{home}/lib", f"-Wl,-rpath,{home}/lib", f"-lpython{minor}"]
    include = f"-I{home}/include/python{minor}"
    subprocess.run(["cc", include, str(tmp_path / "embedded.c"), "-o", str(program), *library], check=True)
    run = workshop.run_target([str(program)])
    assert (run.exit_code, run.answer()) == (0, 1), run.stderr
