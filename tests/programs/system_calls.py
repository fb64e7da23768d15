"""Makes a short system call every few microseconds between other work, and the same calls one after another.

argv: `getppid` or `process_time`; rounds. Prints the CPU nanoseconds of both: {"mixed": 4700, "alone": 170}.
"""

import json
import os
import sys
import time

CALLS = 1_000
WORK = range(500)


def mixed(call):
    for _ in range(CALLS):
        call()
        sum(WORK)


def alone(call):
    for _ in range(CALLS):
        call()


if __name__ == "__main__":
    call = {"getppid": os.getppid, "process_time": time.process_time}[sys.argv[1]]
    measured_ns = {"mixed": 0, "alone": 0}
    for _ in range(int(sys.argv[2])):
        began_ns = time.thread_time_ns()
        mixed(call)
        between_ns = time.thread_time_ns()
        alone(call)
        measured_ns["mixed"] += between_ns - began_ns
        measured_ns["alone"] += time.thread_time_ns() - between_ns
    print(json.dumps(measured_ns))
