"""What python-build-standalone's own builds cannot bear, shown without genba (docs/limits.md)."""

import subprocess

import pytest

from interpreters import Interpreter

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
FUNCTIONS = {"_blake2.blake2b": -11, "_sha2.sha512": -11, "_sha2.sha256": -11, "_blake2.blake2s": 0, "_sha1.sha1": 0}


def test_a_build_dies_of_any_signal_in_a_few_functions(python: Interpreter) -> None:
    """When this fails, the build was mended: its words in docs/limits.md are out of date."""
    if not python.is_standalone or python.version != BROKEN:
        pytest.skip(f"a fault of python-build-standalone's CPython {BROKEN}")
    done = subprocess.run([python.path, "-c", PROGRAM, *FUNCTIONS], capture_output=True, text=True, timeout=120)
    ends = dict(zip(FUNCTIONS, map(int, done.stdout.split()), strict=True))
    assert ends == FUNCTIONS, done.stderr
