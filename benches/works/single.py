"""Works that each do one kind of thing: loops, calls into C, many threads, deep recursion, an import.

Owns: the works. Amounts are the same in every run, so that times can be divided. Never: measures.
"""

import runpy
import threading
from math import sqrt
from pathlib import Path

from works.real import at_once

RECURSION_DEPTH = 400


def pure_python():
    """Calls and loops of the interpreter alone, stacks about ten deep."""

    def fall(left, count):
        if left:
            return fall(left - 1, count) + 1
        total = 0
        for number in range(count):
            total += number ^ left
        return total

    for _ in range(36_000):
        fall(8, 400)


def bytes_slice():
    """casebook/bytes-slice: nearly all time in one memmove."""
    slow = Path(__file__).resolve().parent.parent.parent / "casebook/bytes-slice/slow.py"
    runpy.run_path(str(slow))["before"](bytes(260_000))


def small_c_calls():
    """Many C functions of less than a microsecond."""
    names = {"one": 1, "two": 2}
    total = 0.0
    for number in range(2_400_000):
        total += sqrt(number) + len("word") + names.get("two", 0) + ord("x") + abs(-number)


def spin(count):
    total = 0
    for number in range(count):
        total += number * number
    return total


def threads_8():
    """Eight threads that all want the interpreter."""
    at_once([threading.Thread(target=spin, args=(1_200_000,)) for _ in range(8)])


def sleeping_100():
    """One thread works, a hundred wait."""
    with waiting(100):
        spin(10_000_000)


def idle_200():
    """Two hundred threads wait, and so does the main thread, as in a server that nobody calls."""
    with waiting(200):
        threading.Event().wait(5)


def threads_1000():
    """A thousand threads hand on the turn to work; one works, the others wait."""
    turns = [threading.Lock() for _ in range(1000)]
    for turn in turns:
        turn.acquire()

    def worker(number):
        for _ in range(2):
            turns[number].acquire()
            spin(4_500)
            turns[(number + 1) % len(turns)].release()

    threads = [threading.Thread(target=worker, args=(number,)) for number in range(len(turns))]
    for thread in threads:
        thread.start()
    turns[0].release()
    for thread in threads:
        thread.join()


def deep_recursion():
    """Python and C in turn, some 400 calls deep, working at the bottom."""

    def fall(left):
        if left:
            return sum(map(fall, (left - 1,)))
        return spin(2_500_000)

    for _ in range(4):
        fall(RECURSION_DEPTH // 2)


def imports():
    """A large package and all that it needs."""
    import sympy  # noqa: F401  (on PYTHONPATH: make/prepare.sh peers)


class waiting:
    """`count` threads that wait until the block ends."""

    def __init__(self, count):
        self.end = threading.Event()
        self.threads = [threading.Thread(target=self.end.wait) for _ in range(count)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_):
        self.end.set()
        for thread in self.threads:
            thread.join()


WORKS = {
    work.__name__: work
    for work in (pure_python, bytes_slice, small_c_calls, threads_8, sleeping_100, threads_1000, deep_recursion, imports, idle_200)
}
