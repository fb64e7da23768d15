"""Calls the functions MODULE.NAME … in turn, each until it has used MILLISECONDS of CPU in ROUNDS pieces, and genba has looked often enough in each.
argv: folder of the modules, MILLISECONDS, NAMES. Gives the modules something that keeps C busy for a tenth of a millisecond and more."""

import builtins
import importlib
import os
import sys
from time import thread_time_ns

builtins.sys = sys
builtins.NUMBERS = tuple(range(1_000_000, 1_020_000))
builtins.NUMBERS_LONG = tuple(range(1_000_000, 1_200_000))
builtins.NUMBERS_MANY = range(1_000_000, 1_004_000)
builtins.HUGE = 3**20_000
builtins.HUGE_BYTES = b"ab" * 1_000_000
builtins.FORMAT = "%r"
builtins.TEXT = "abcd" * 20_000


ROUNDS = 5
# In each round. An amount of CPU says nothing of that where the sampler gets none for as long.
LOOKS_MIN = 16


def finish(coroutine):
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise RuntimeError("it waits for something")


builtins.finish = finish


def sampler():
    """The file that tells how often genba's thread has had a CPU; none where there is no such thread."""
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm") as name:
            if name.read() == "genba\n":
                return os.open(f"/proc/self/task/{task}/schedstat", os.O_RDONLY)
    return None


def drive(function, cpu_ns, counts):
    """No function in Python is called from here but that one: each other one would be a case to who reads the stacks."""
    until_ns = thread_time_ns() + cpu_ns
    until_looks = 0 if counts is None else int(os.pread(counts, 100, 0).split()[2]) + LOOKS_MIN
    while thread_time_ns() < until_ns or until_looks and int(os.pread(counts, 100, 0).split()[2]) < until_looks:
        function(5)


def function_named(name):
    module, _, function = name.partition(".")
    return getattr(importlib.import_module(module), function)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    functions = list(map(function_named, sys.argv[3:]))
    counts = sampler()
    for _ in range(ROUNDS):
        for function in functions:
            drive(function, int(sys.argv[2]) * 1_000_000 // ROUNDS, counts)
