"""A module that Cython made calls back: directly, and as a generator. argv: CPU seconds, folder of the built module."""
# families: _a _b

import sys
from time import process_time

sys.path.insert(0, sys.argv[2])
import cythonized


def work_a(count):
    total = 0
    for number in range(count):
        total += number
    return total


def direct_a(count):
    return cythonized.call(work_a, count)  # calls: work_a  # through: cythonized


def generated_a(count):
    total = 0
    for value in cythonized.generate(work_a, count):  # calls: work_a  # through: cythonized
        total += value
    return total


def work_b(count):
    total = 0
    for number in range(count):
        total += number
    return total


def direct_b(count):
    return cythonized.call(work_b, count)  # calls: work_b  # through: cythonized


def generated_b(count):
    total = 0
    for value in cythonized.generate(work_b, count):  # calls: work_b  # through: cythonized
        total += value
    return total



def main(cpu_seconds):
    while process_time() < cpu_seconds:
        for _ in range(100):
            direct_a(60)  # calls: direct_a
            generated_b(60)  # calls: generated_b
            direct_b(60)  # calls: direct_b
            generated_a(60)  # calls: generated_a


if __name__ == "__main__":
    main(float(sys.argv[1]))  # calls: main
