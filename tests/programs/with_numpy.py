"""Two equal call paths through numpy: C loops that call back, and C work of its own. argv: CPU seconds."""
# families: _a _b

import sys
from time import process_time

import numpy


def work_a(count):
    total = 0
    for number in range(count):
        total += number
    return total


called_a = numpy.frompyfunc(work_a, 1, 1)


def through_a_loop_a(counts):
    return called_a(counts).sum()  # calls: work_a  # through: umath


def of_its_own_a(values):
    total = numpy.sort(values)[0]
    total += (values * 2.0 + 1.0).sum()
    return total + work_a(100)  # calls: work_a


def work_b(count):
    total = 0
    for number in range(count):
        total += number
    return total


called_b = numpy.frompyfunc(work_b, 1, 1)


def through_a_loop_b(counts):
    return called_b(counts).sum()  # calls: work_b  # through: umath


def of_its_own_b(values):
    total = numpy.sort(values)[0]
    total += (values * 2.0 + 1.0).sum()
    return total + work_b(100)  # calls: work_b



def main(cpu_seconds):
    counts, values = numpy.full(20, 60), numpy.random.default_rng(1).random(5000)
    until = process_time() + cpu_seconds
    while process_time() < until:
        through_a_loop_a(counts)  # calls: through_a_loop_a
        of_its_own_b(values)  # calls: of_its_own_b
        through_a_loop_b(counts)  # calls: through_a_loop_b
        of_its_own_a(values)  # calls: of_its_own_a


if __name__ == "__main__":
    main(float(sys.argv[1]))  # calls: main
