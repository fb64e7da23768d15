"""Two greenlets hand over to each other after a few microseconds, from different depths of C. argv: CPU seconds."""
# families: _a _b

import sys
from time import process_time

from greenlet import greenlet


def work_a(count):
    total = 0
    for number in range(count):
        total += number
    return total


def inner_a(count):
    total = work_a(count)  # calls: work_a
    other_a.switch()
    return total + work_a(count)  # calls: work_a


def key_a(count):
    return inner_a(count)  # calls: inner_a


def run_a():  # first
    while process_time() < until:
        inner_a(60)  # calls: inner_a
        sorted((60, 61), key=key_a)  # calls: key_a


def work_b(count):
    total = 0
    for number in range(count):
        total += number
    return total


def inner_b(count):
    total = work_b(count)  # calls: work_b
    other_b.switch()
    return total + work_b(count)  # calls: work_b


def key_b(count):
    return inner_b(count)  # calls: inner_b


def run_b():  # first
    while process_time() < until:
        inner_b(60)  # calls: inner_b
        sorted((60, 61), key=key_b)  # calls: key_b



def main(cpu_seconds):
    global other_a, other_b, until
    until = process_time() + cpu_seconds
    other_b, other_a = greenlet(run_a), greenlet(run_b)
    other_b.switch()


if __name__ == "__main__":
    main(float(sys.argv[1]))  # calls: main
