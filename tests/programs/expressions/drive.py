"""Calls the functions MODULE.NAME … in turn, each until it has used MILLISECONDS of CPU in ROUNDS pieces.
argv: folder of the modules, MILLISECONDS, NAMES. Gives the modules something that keeps C busy for a tenth of a millisecond and more."""

import builtins
import importlib
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


def finish(coroutine):
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise RuntimeError("it waits for something")


builtins.finish = finish


def drive(function, cpu_ns):
    until_ns = thread_time_ns() + cpu_ns
    while thread_time_ns() < until_ns:
        function(5)


def function_named(name):
    module, _, function = name.partition(".")
    return getattr(importlib.import_module(module), function)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    functions = list(map(function_named, sys.argv[3:]))
    for _ in range(ROUNDS):
        for function in functions:
            drive(function, int(sys.argv[2]) * 1_000_000 // ROUNDS)
