"""One leaf under two wrappers: which branch of the leaf runs is decided by who called it."""

import sys
from time import process_time


def leaf(left, count):
    total = 0
    if left:
        for number in range(count):  # only-under: left_wrapper
            total += number  # only-under: left_wrapper
    else:
        for number in range(count):  # only-under: right_wrapper
            total -= number  # only-under: right_wrapper
    return total


def left_wrapper(count):
    return leaf(True, count)  # calls: leaf


def right_wrapper(count):
    return leaf(False, count)  # calls: leaf


def main(cpu_seconds):
    while process_time() < cpu_seconds:
        for _ in range(500):
            left_wrapper(60)  # calls: left_wrapper
            right_wrapper(60)  # calls: right_wrapper


if __name__ == "__main__":
    main(float(sys.argv[1]))  # calls: main
