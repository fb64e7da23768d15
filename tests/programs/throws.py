"""C++ that throws through many of its own frames and calls back while it unwinds. argv: CPU seconds, the built library."""
# families: _a _b

import ctypes
import sys
from time import process_time

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)


def work_a(count):
    total = 0
    for number in range(count):
        total += number
    return total


def via_a(library, callback):
    return library.throw_through(callback, 40)  # calls: work_a  # through: throws


def work_b(count):
    total = 0
    for number in range(count):
        total += number
    return total


def via_b(library, callback):
    return library.throw_through(callback, 40)  # calls: work_b  # through: throws



def main(cpu_seconds, path):
    library = ctypes.CDLL(path)
    library.throw_through.argtypes = [CALLBACK, ctypes.c_long]
    first, second = CALLBACK(work_a), CALLBACK(work_b)
    while process_time() < cpu_seconds:
        via_a(library, first)  # calls: via_a
        via_b(library, second)  # calls: via_b


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2])  # calls: main
