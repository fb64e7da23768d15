"""Asks for a known number of bytes, in a function of the kind's name: `allocations.py KIND`.

Prints {"bytes": what that function asks for}. `elsewhere` makes objects that CPython's free lists serve.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from itertools import repeat
from pathlib import Path

# What CPython asks for beside the content of a bytes object.
HEAD = sys.getsizeof(b"")
SMALL = 400
LARGE = 10_000
HUGE = 64 << 20


def of_small(times=2_000_000):
    """Up to 512 bytes: CPython's own allocator serves them."""
    for _ in repeat(None, times):
        bytes(SMALL)
    return times * (HEAD + SMALL)


def of_large(times=80_000):
    """Three allocators pass each of them on, and malloc or calloc serves it."""
    for _ in repeat(None, times):
        bytes(LARGE)
    return times * (HEAD + LARGE)


def of_huge(times=20):
    for _ in repeat(None, times):
        bytes(HUGE)
    return times * (HEAD + HUGE)


def of_family():
    """malloc and its family, by name."""
    libc = ctypes.CDLL(None)
    block = ctypes.c_void_p()
    libc.malloc.restype = libc.calloc.restype = libc.realloc.restype = libc.aligned_alloc.restype = ctypes.c_void_p
    libc.realloc.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    libc.free.argtypes = (ctypes.c_void_p,)
    times = 2_000
    for _ in repeat(None, times):
        libc.free(libc.realloc(libc.malloc(100_000), 200_000))
        libc.free(libc.calloc(1_000, 100))
        libc.free(libc.aligned_alloc(64, 64 * 1_000))
        libc.posix_memalign(ctypes.byref(block), 64, 50_000)
        libc.free(block)
        # More than there is: it fails, and is not counted.
        libc.malloc(ctypes.c_size_t(1 << 60))
    return times * (100_000 + 200_000 + 100_000 + 64_000 + 50_000)


def of_grown(times=40):
    """Lists that grow by realloc, from small to large: what that asks for is what sys.getsizeof tells at each step."""
    known, size, items = 0, sys.getsizeof([]), []
    for _ in repeat(None, 100_000):
        items.append(None)
        if sys.getsizeof(items) != size:
            size = sys.getsizeof(items)
            known += size - sys.getsizeof([])
    for _ in repeat(None, times):
        grow()
    return times * known


def grow():
    items = []
    for _ in repeat(None, 100_000):
        items.append(None)


def of_mixed():
    """A third by small objects, two thirds by large ones: half of these from one line and half from another."""
    times = 400_000
    for _ in repeat(None, times):
        bytes(SMALL)
    several = times * (HEAD + SMALL) // (HEAD + LARGE)
    for _ in repeat(None, several):
        bytes(LARGE)
        bytes(LARGE + 0)
    return times * (HEAD + SMALL) + 2 * several * (HEAD + LARGE)


def of_elsewhere():
    """Floats come from a free list: no allocator is asked."""
    x = 1.5
    for _ in repeat(None, 3_000_000):
        x = x * 1.000001
    return 0


def of_threads():
    """Many threads one after another, and some at once; the last ones on the smallest stacks."""
    for _ in range(100):
        thread = threading.Thread(target=of_small, args=(10_000,))
        thread.start()
        thread.join()
    threading.stack_size(65_536)
    several = [threading.Thread(target=of_large, args=(10_000,)) for _ in range(4)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()
    return 1_000_000 * (HEAD + SMALL) + 40_000 * (HEAD + LARGE)


def of_forks():
    for _ in range(3):
        child = os.fork()
        if child == 0:
            of_large(20_000)
            os._exit(0)
        os.waitpid(child, 0)
        of_large(20_000)
        subprocess.run(["true"], check=True)
    return 120_000 * (HEAD + LARGE)


def of_interpreters():
    """Each in a thread of its own."""
    try:
        import _interpreters
    except ImportError:
        import _xxsubinterpreters as _interpreters
    do = getattr(_interpreters, "exec", _interpreters.run_string)
    work = f"def of_inside():\n    for _ in range(50_000): bytes({SMALL}); bytes({LARGE})\nof_inside()"
    threads = [threading.Thread(target=do, args=(_interpreters.create(), work)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 2 * 50_000 * (2 * HEAD + SMALL + LARGE)


def of_handlers():
    """A signal handler in Python that allocates, between the program's own allocations."""
    answered = [0]

    def on_alarm(_number, _frame):
        answered[0] += 1
        of_large(1)

    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    known = of_large(60_000)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return known + answered[0] * (HEAD + LARGE)


def waits_for_genba():
    """Its thread has slept between many ticks: it has found the interpreter, and counts small objects. Alone the program goes on at once."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        for task in os.listdir("/proc/self/task"):
            if Path(f"/proc/self/task/{task}/comm").read_text() == "genba\n":
                status = Path(f"/proc/self/task/{task}/status").read_text()
                break
        else:
            return
        if int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0]) >= 60:
            return
        # Runs on, so that there are ticks, and asks for nothing.
        for _ in repeat(None, 300_000):
            pass


if __name__ == "__main__":
    waits_for_genba()
    print(json.dumps({"bytes": globals()[f"of_{sys.argv[1]}"]()}))
