"""A fixed amount of work, and what it cost: prints the CPU time of the whole process, start-up and genba's thread included.

argv: one of the names below. The amounts are the same in every run, so that CPU times can be divided."""

import runpy
import sys
from math import sqrt
from pathlib import Path
from time import process_time_ns


def bytes_slice():
    """casebook/bytes-slice: nearly all time in one memmove."""
    slow = Path(__file__).resolve().parent.parent / "casebook/bytes-slice/slow.py"
    runpy.run_path(str(slow))["before"](bytes(400_000))


def pure_python():
    """Calls and loops of the interpreter alone, stacks about ten deep."""

    def fall(left, count):
        if left:
            return fall(left - 1, count) + 1
        total = 0
        for number in range(count):
            total += number ^ left
        return total

    for _ in range(60_000):
        fall(8, 400)


def small_c_calls():
    """Many C functions of less than a microsecond."""
    names = {"one": 1, "two": 2}
    total = 0.0
    for number in range(4_000_000):
        total += sqrt(number) + len("word") + names.get("two", 0) + ord("x") + abs(-number)


WORK = {work.__name__: work for work in (bytes_slice, pure_python, small_c_calls)}

if __name__ == "__main__":
    WORK[sys.argv[1]]()
    print(process_time_ns())
