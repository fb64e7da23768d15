"""Two equal call paths that load and unload shared libraries all the time: the tables that name native code are replaced
under the handler's feet. argv: CPU seconds, a shared library."""
# families: _a _b

import _ctypes
import ctypes
import shutil
import sys
from time import process_time


def work_a(count):
    total = 0
    for number in range(count):
        total += number
    return total


def via_a(path, count):
    handle = _ctypes.dlopen(path, 0)
    total = work_a(count)  # calls: work_a
    _ctypes.dlclose(handle)
    return total


def work_b(count):
    total = 0
    for number in range(count):
        total += number
    return total


def via_b(path, count):
    library = ctypes.CDLL(path)  # calls: nothing
    spun = library.errno_changes(ctypes.c_longlong(3_000_000))  # some ticks long
    total = work_b(count)  # calls: work_b
    _ctypes.dlclose(library._handle)
    return total + spun


def main(cpu_seconds, library):
    # No comprehension: it would be a function of its own on 3.11.
    paths = []
    for number in range(8):
        paths.append(f"{library}.{number}")
        shutil.copyfile(library, paths[-1])
    turn = 0
    while process_time() < cpu_seconds:
        turn += 1
        via_a(paths[turn % 8], 2000)  # calls: via_a
        via_b(paths[turn % 5], 2000)  # calls: via_b


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2])  # calls: main
