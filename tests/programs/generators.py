"""One generator function, two generators of it alive at once, advanced in turn by two drivers."""
# families: _a _b

import sys
from time import process_time


def work_a(count):
    total = 0
    for number in range(count):
        total += number
    return total


def work_b(count):
    total = 0
    for number in range(count):
        total += number
    return total


def steps(work, count):
    while True:
        yield work(count)  # calls: work_a, work_b


def delegate(work, count):
    yield from steps(work, count)  # calls: steps


def drive_a(generator):
    return next(generator)  # calls: steps, delegate


def drive_b(generator):
    for value in generator:  # calls: steps, delegate
        return value


def main(cpu_seconds):
    plain_a, plain_b = steps(work_a, 60), steps(work_b, 60)  # calls: steps
    nested_a, nested_b = delegate(work_a, 60), delegate(work_b, 60)  # calls: delegate
    while process_time() < cpu_seconds:
        for _ in range(300):
            drive_a(plain_a)  # calls: drive_a
            drive_b(plain_b)  # calls: drive_b
            drive_a(nested_a)  # calls: drive_a
            drive_b(nested_b)  # calls: drive_b


if __name__ == "__main__":
    # At the end the generators are closed where they stand.
    main(float(sys.argv[1]))  # calls: main, delegate, steps
