"""Goes through eight parts of equal length once a millisecond, by the clock, so as to stay in step with whoever samples it at 1 kHz.

Argument: rounds. Prints what it measured itself: CPU of each part, in nanoseconds.
"""

import json
import sys
from time import monotonic_ns, thread_time_ns

ROUND_NS = 1_000_000
PARTS = 8


def spin(until_ns):
    start_ns = thread_time_ns()
    while monotonic_ns() < until_ns:
        pass
    return thread_time_ns() - start_ns


def part_0(until_ns):
    return spin(until_ns)


def part_1(until_ns):
    return spin(until_ns)


def part_2(until_ns):
    return spin(until_ns)


def part_3(until_ns):
    return spin(until_ns)


def part_4(until_ns):
    return spin(until_ns)


def part_5(until_ns):
    return spin(until_ns)


def part_6(until_ns):
    return spin(until_ns)


def part_7(until_ns):
    return spin(until_ns)


if __name__ == "__main__":
    parts = [part_0, part_1, part_2, part_3, part_4, part_5, part_6, part_7]
    measured_ns = {part.__name__: 0 for part in parts}
    begin_ns = monotonic_ns()
    for count in range(int(sys.argv[1])):
        for index, part in enumerate(parts):
            measured_ns[part.__name__] += part(begin_ns + count * ROUND_NS + (index + 1) * ROUND_NS // PARTS)
    print(json.dumps(measured_ns))
