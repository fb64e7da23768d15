"""Threads that live for a piece of work each, one after another: `THREADS` of each of two functions, whose work is `LONG_US` and `SHORT_US` of CPU.

Says how much CPU each function used, by the threads' own clocks, and how much all of them used from their start until they ended.
"""

import json
import sys
import threading
import time

threads, long_us, short_us = (int(word) for word in sys.argv[1:4])
used_ns = {"long_work": 0, "short_work": 0}


def work(microseconds: int) -> None:
    end_ns = time.thread_time_ns() + microseconds * 1000
    while time.thread_time_ns() < end_ns:
        sum(range(50))


def long_work() -> None:
    begin_ns = time.thread_time_ns()
    work(long_us)
    used_ns["long_work"] += time.thread_time_ns() - begin_ns


def short_work() -> None:
    begin_ns = time.thread_time_ns()
    work(short_us)
    used_ns["short_work"] += time.thread_time_ns() - begin_ns


whole_ns = time.process_time_ns()
for _ in range(threads):
    for function in (long_work, short_work):
        thread = threading.Thread(target=function)
        thread.start()
        thread.join()
print(json.dumps({**used_ns, "whole_ns": time.process_time_ns() - whole_ns}))
