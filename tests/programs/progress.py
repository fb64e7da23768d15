"""Works until it is killed, and says every ten milliseconds of CPU how far it came: pid, number, process CPU in ns."""

import os
import sys
from time import process_time_ns


def work(until_ns):
    total = 0
    while process_time_ns() < until_ns:
        for number in range(200):
            total += number
    return total


if __name__ == "__main__":
    number = 0
    while True:
        number += 1
        work(number * 10_000_000)
        sys.stdout.write(f"{os.getpid()} {number} {process_time_ns()}\n")
        sys.stdout.flush()
