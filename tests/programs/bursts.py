"""Works for a millisecond and sleeps for three, again and again, as a server does between requests. Each burst has four parts.

Arguments: bursts; `pinned` to do it on one CPU, with all of its threads, or `free`. Prints what it measured itself: CPU of each part, in nanoseconds.
"""

import json
import os
import sys
from time import sleep, thread_time_ns


def work(cpu_ns):
    start_ns = thread_time_ns()
    while thread_time_ns() - start_ns < cpu_ns:
        pass
    return thread_time_ns() - start_ns


def first():
    return work(50_000)


def second():
    return work(200_000)


def third():
    return work(250_000)


def last():
    return work(500_000)


def pin():
    """One CPU for everybody in this process, whoever looks at it included."""
    one = min(os.sched_getaffinity(0))
    for tid in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(tid), {one})


if __name__ == "__main__":
    if "pinned" in sys.argv:
        pin()
    measured_ns = dict.fromkeys(("first", "second", "third", "last"), 0)
    for _ in range(int(sys.argv[1])):
        sleep(0.003)
        for part in (first, second, third, last):
            measured_ns[part.__name__] += part()
    print(json.dumps(measured_ns))
