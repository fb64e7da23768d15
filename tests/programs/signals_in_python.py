"""Two equal call paths that signals with a handler in Python interrupt anywhere, a thousand times a second. argv: CPU seconds."""
# families: _a _b

import signal
import sys
from time import process_time


def handle(number, frame):  # anywhere
    handled(40)  # calls: handled


def handled(count):
    total = 0
    for number in range(count):
        total += number
    return total


def work_a(count):
    total = 0
    for number in range(count):
        total += number
    return total


def inner_a(count):
    total = work_a(count)  # calls: work_a
    return total + work_a(count)  # calls: work_a


def outer_a(count):
    return inner_a(count)  # calls: inner_a


def work_b(count):
    total = 0
    for number in range(count):
        total += number
    return total


def inner_b(count):
    total = work_b(count)  # calls: work_b
    return total + work_b(count)  # calls: work_b


def outer_b(count):
    return inner_b(count)  # calls: inner_b



def main(cpu_seconds):
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    while process_time() < cpu_seconds:
        for _ in range(100):
            outer_a(30)  # calls: outer_a
            outer_b(30)  # calls: outer_b
    signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main(float(sys.argv[1]))  # calls: main
