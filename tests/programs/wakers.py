"""Threads that sleep long and then run once, one after the other; prints for each one's number how long it ran, in ns of the wall
clock. argv: the library of spin.c, threads, CPU milliseconds of each, wall milliseconds between two."""

import ctypes
import json
import sys
import threading
import time

FIRST_MS = 300


def burst(library, cpu_ns):
    start_ns = time.monotonic_ns()
    library.errno_changes(ctypes.c_longlong(cpu_ns))
    return time.monotonic_ns() - start_ns


def sleep_then_run(library, wakes_at, cpu_ns, ran):
    time.sleep(max(0, wakes_at - time.monotonic()))
    ran[threading.get_native_id()] = burst(library, cpu_ns)


def main(path, threads, cpu_ms, between_ms):
    library, ran, crowd = ctypes.CDLL(path), {}, []
    start = time.monotonic()
    for number in range(threads):
        wakes_at = start + (FIRST_MS + number * between_ms) / 1000
        crowd.append(threading.Thread(target=sleep_then_run, args=(library, wakes_at, cpu_ms * 1_000_000, ran)))
        crowd[-1].start()
    for thread in crowd:
        thread.join()
    print(json.dumps(ran))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
