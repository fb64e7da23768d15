"""A C extension calls back: via_a → bounce.call → work_a, and the same for b. argv[2]: folder of the built extension."""
# families: _a _b

import sys
from time import process_time

sys.path.insert(0, sys.argv[2])
import bounce


def work_a(count):
    total = 0
    for number in range(count):
        total += number
    return total


def via_a(count):
    return bounce.call(work_a, count)  # calls: work_a  # through: bounce


def work_b(count):
    total = 0
    for number in range(count):
        total += number
    return total


def via_b(count):
    return bounce.call(work_b, count)  # calls: work_b  # through: bounce


def main(cpu_seconds):
    while process_time() < cpu_seconds:
        for _ in range(300):
            via_a(60)  # calls: via_a
            via_b(60)  # calls: via_b


if __name__ == "__main__":
    main(float(sys.argv[1]))  # calls: main
