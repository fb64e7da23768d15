"""Two tasks of gevent take turns. argv: CPU seconds."""
# families: _a _b

import sys
from time import process_time

import gevent


def work_a(count):
    total = 0
    for number in range(count):
        total += number
    return total


def inner_a(count):
    total = work_a(count)  # calls: work_a
    gevent.sleep(0)
    return total + work_a(count)  # calls: work_a


def run_a(until):  # first
    while process_time() < until:
        inner_a(60)  # calls: inner_a


def work_b(count):
    total = 0
    for number in range(count):
        total += number
    return total


def inner_b(count):
    total = work_b(count)  # calls: work_b
    gevent.sleep(0)
    return total + work_b(count)  # calls: work_b


def run_b(until):  # first
    while process_time() < until:
        inner_b(60)  # calls: inner_b



def main(cpu_seconds):
    until = process_time() + cpu_seconds
    gevent.joinall([gevent.spawn(run_a, until), gevent.spawn(run_b, until)])


if __name__ == "__main__":
    main(float(sys.argv[1]))  # calls: main
