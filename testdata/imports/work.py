"""The program that the recordings beside it were made of: `python work.py OUT [memory] [lines] [native] [real] [threads]`."""
import _thread
import os
import sys
import time

import vmprof


def inner(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def first():
    return inner(30_000)


def second(held):
    held.append(bytearray(1_000_000))
    return sorted(range(60_000), key=lambda i: -i)


def work(until_s):
    held = []
    end = time.process_time() + until_s
    while time.process_time() < end:
        first()
        second(held)
        if len(held) > 20:
            held.clear()


def beside(done, is_real):
    if is_real:
        vmprof.insert_real_time_thread()
    work(0.1)
    done.release()


def main(out, words):
    descriptor = os.open(out, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    switches = {word: word in words for word in ("memory", "lines", "native")}
    vmprof.enable(descriptor, 0.00499, real_time="real" in words, **switches)
    if "threads" in words:
        done = _thread.allocate_lock()
        done.acquire()
        _thread.start_new_thread(beside, (done, "real" in words))
        work(0.1)
        done.acquire()
    else:
        work(0.2)
    if "killed" in words:
        os._exit(9)
    vmprof.disable()


main(sys.argv[1], sys.argv[2:])
