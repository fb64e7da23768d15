"""What python-build-standalone's own builds cannot bear, shown without genba (docs/limits.md), and that genba does them no harm."""

import ctypes
import subprocess

import pytest

from interpreters import Interpreter
from recording import Workshop
from runs_on import EVERYWHERE
from soak import SOAK

BROKEN = "3.14.6"
# A child for each hash: a signal every 0.3 ms, for a second of CPU.
PROGRAM = """
import importlib, os, signal, sys, time
def work(module, function):
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
    make = getattr(importlib.import_module(module), function)
    while time.process_time() < 1: make(b'x' * 100_000)
for name in sys.argv[1:]:
    if (pid := os.fork()) == 0:
        try: work(*name.split('.'))
        finally: os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
# What the kernel says that a signal's frame needs (AT_MINSIGSTKSZ). Up to this size it has no room for the registers of AVX-512. With such room, which stays
# unwritten while nothing uses them, most frames have a hole where these functions keep their data.
FRAME_WITHOUT_HOLE_BYTES_MAX = 2_700
FUNCTIONS = {"_blake2.blake2b": -11, "_sha2.sha512": -11, "_sha2.sha256": -11, "_blake2.blake2s": 0, "_sha1.sha1": 0}


@pytest.mark.measures
@pytest.mark.skipif(not SOAK, reason="make soak: it asks nothing of genba")
def test_a_build_dies_of_any_signal_in_a_few_functions(python: Interpreter) -> None:
    """When this fails, the build was mended: its words in docs/limits.md are out of date."""
    if not python.is_standalone or python.version != BROKEN:
        pytest.skip(f"a fault of python-build-standalone's CPython {BROKEN}")
    if (frame_bytes := ctypes.CDLL(None).getauxval(51)) > FRAME_WITHOUT_HOLE_BYTES_MAX:
        pytest.skip(f"this CPU's signal frames of {frame_bytes} bytes have a hole where these functions keep their data")
    done = subprocess.run([python.path, "-c", PROGRAM, *FUNCTIONS], capture_output=True, text=True, timeout=120)
    ends = dict(zip(FUNCTIONS, map(int, done.stdout.split()), strict=True))
    assert ends == FUNCTIONS, done.stderr


# What a look does is the same at each rate: `make test` looks often.
RATES = ["1000", "10000"] if EVERYWHERE else ["10000"]
# The same functions, on the first thread and on others, with stacks of two sizes.
RECORDED = """
import importlib, sys, threading, time
def work(make, seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until: make(b'x' * 100_000)
makes = [getattr(importlib.import_module(module), function) for module, function in (name.split('.') for name in sys.argv[2:])]
seconds = float(sys.argv[1])
for make in makes:
    work(make, seconds)
    for bytes_of_stack in (0, 1 << 20):
        threading.stack_size(bytes_of_stack)
        threads = [threading.Thread(target=work, args=[make, seconds / 2]) for _ in range(2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
print("whole")
"""


@pytest.mark.parametrize("rate", RATES)
def test_genba_does_not_end_it(python: Interpreter, workshop: Workshop, rate: str) -> None:
    if not python.is_standalone or python.version != BROKEN:
        pytest.skip(f"a fault of python-build-standalone's CPython {BROKEN}")
    run = workshop.run(workshop.write("hashes.py", RECORDED), "0.3", *FUNCTIONS, flags=("--rate", rate))
    assert (run.exit_code, run.stdout) == (0, "whole\n"), run.stderr
    row = run.report_json("--by", "function")["rows"][0]
    assert row["function"] == "work", row
    assert run.profile()["accounting"]["sampled"] > 100


# An alternate stack that genba's handler might not fit on, one given back, one of another thread, and none.
ALTERNATES = """
import ctypes, sys, threading, time, _blake2
class Stack(ctypes.Structure): _fields_ = [('lowest', ctypes.c_void_p), ('flags', ctypes.c_int), ('bytes', ctypes.c_size_t)]
libc = ctypes.CDLL(None)
kept = []
def give(size):
    kept.append(ctypes.create_string_buffer(size))
    assert libc.sigaltstack(ctypes.byref(Stack(ctypes.addressof(kept[-1]), 0, size)), None) == 0
def take_back():
    assert libc.sigaltstack(ctypes.byref(Stack(None, 2, 0)), None) == 0
def work():
    until = time.thread_time() + 0.4
    while time.thread_time() < until: _blake2.blake2b(b'x' * 100_000)
def case(name):
    if name == 'small': give(8192)
    if name == 'small, given back': give(8192); take_back()
    if name == 'large, given back': give(65536); take_back()
    if name == 'disabled': take_back()
    if name == 'faulthandler': __import__('faulthandler').enable()
    if name == 'of another thread':
        told = threading.Event()
        other = threading.Thread(target=lambda: (give(8192), told.set(), work(), take_back()))
        other.start(); told.wait()
    work()
case(sys.argv[1])
thread = threading.Thread(target=case, args=[sys.argv[1]])
thread.start(); thread.join()
print("whole")
"""
CASES = ["small", "small, given back", "large, given back", "disabled", "faulthandler", "of another thread"]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("case", CASES)
def test_whatever_alternate_stacks_the_program_has(python: Interpreter, workshop: Workshop, case: str, rate: str) -> None:
    if not python.is_standalone or python.version != BROKEN:
        pytest.skip(f"a fault of python-build-standalone's CPython {BROKEN}")
    run = workshop.run(workshop.write("alternates.py", ALTERNATES), case, flags=("--rate", rate))
    assert (run.exit_code, run.stdout) == (0, "whole\n"), run.stderr
    assert run.profile()["accounting"]["sampled"] > 100
