"""Two recursions, 300 deep: the bottom is only ever reached with all 301 frames below it."""
# families: _a _b

import sys
from time import process_time


def bottom_a(count):  # depth: down_a=301
    total = 0
    for number in range(count):
        total += number
    return total


def down_a(left, count):
    if left == 0:
        return bottom_a(count)  # calls: bottom_a
    return down_a(left - 1, count)  # calls: down_a


def bottom_b(count):  # depth: down_b=301
    total = 0
    for number in range(count):
        total += number
    return total


def down_b(left, count):
    if left == 0:
        return bottom_b(count)  # calls: bottom_b
    return down_b(left - 1, count)  # calls: down_b


def main(cpu_seconds):
    while process_time() < cpu_seconds:
        down_a(300, 3000)  # calls: down_a
        down_b(300, 3000)  # calls: down_b


if __name__ == "__main__":
    main(float(sys.argv[1]))  # calls: main
