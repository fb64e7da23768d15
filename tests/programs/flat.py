"""Two equal call paths, side by side: main calls via_a and via_b in turn, a few microseconds each."""
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


def via_a(count):
    return work_a(count)  # calls: work_a


def via_b(count):
    return work_b(count)  # calls: work_b


def main(cpu_seconds):
    while process_time() < cpu_seconds:
        for _ in range(500):
            via_a(60)  # calls: via_a
            via_b(60)  # calls: via_b


if __name__ == "__main__":
    main(float(sys.argv[1]))  # calls: main
