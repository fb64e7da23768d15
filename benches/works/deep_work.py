"""The work on which the handler is measured: C and Python call each other until the C stack is about fifty frames deep, and up there
many kinds of C functions run. argv: the bench's library, how many runs, the seed."""

import ctypes
import functools
import json
import re
import sys

WORDS = [f"word{number * 7919 % 100}" for number in range(40)]
TREE = {"numbers": list(range(20)), "words": WORDS[:10], "deep": {"a": {"b": [None, True, 1.5]}}}
BLOCK = bytes(20_000)
PAIRS = re.compile(r"(\w)(\d+)")

library = ctypes.CDLL(sys.argv[1])
library.genba_bench_start.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
library.genba_bench_done.restype = ctypes.c_bool


def work():
    total = 0
    for number in range(60):
        total += len(WORDS) + abs(-number) + ord("x")
    sorted(WORDS, key=len)
    json.loads(json.dumps(TREE))
    PAIRS.sub(r"\2\1", "word17 word18")
    return total + len(BLOCK[1:])


def descend(left):
    if left == 0:
        while not library.genba_bench_done():
            for _ in range(50):
                work()
        return 0
    if left % 3 == 0:
        return sorted([left], key=lambda number: descend(number - 1))[0]
    if left % 3 == 1:
        return list(map(descend, [left - 1]))[0]
    return functools.reduce(lambda _, number: descend(number), [left - 1], 0) if left > 1 else descend(0)


for _ in range(100):
    work()
assert library.genba_bench_start(int(sys.argv[2]), int(sys.argv[3])) == 0
descend(int(sys.argv[4]))
sys.stdout.flush()
library.genba_bench_report()
