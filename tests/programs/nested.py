"""Two equal call paths, four deep, with work on every level: each level's line tells which call is open."""
# families: _a _b

import sys
from time import process_time


def fourth_a(count):
    total = 0
    for number in range(count):
        total += number
    return total


def third_a(count):
    total = fourth_a(count)  # calls: fourth_a
    total += count
    return total + fourth_a(count)  # calls: fourth_a


def second_a(count):
    total = third_a(count)  # calls: third_a
    total -= fourth_a(count)  # calls: fourth_a
    return total


def first_a(count):
    return second_a(count) + third_a(count)  # calls: second_a, third_a


def fourth_b(count):
    total = 0
    for number in range(count):
        total += number
    return total


def third_b(count):
    total = fourth_b(count)  # calls: fourth_b
    total += count
    return total + fourth_b(count)  # calls: fourth_b


def second_b(count):
    total = third_b(count)  # calls: third_b
    total -= fourth_b(count)  # calls: fourth_b
    return total


def first_b(count):
    return second_b(count) + third_b(count)  # calls: second_b, third_b


def main(cpu_seconds):
    while process_time() < cpu_seconds:
        for _ in range(200):
            first_a(20)  # calls: first_a
            first_b(20)  # calls: first_b


if __name__ == "__main__":
    main(float(sys.argv[1]))  # calls: main
