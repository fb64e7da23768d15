"""Threads compute in Python, where only one runs at a time."""

import sys
from concurrent.futures import ThreadPoolExecutor


def digits(start):
    found = 0
    for number in range(start, start + 100_000):
        found += len(str(number)) * (number % 7)
    return found


if __name__ == "__main__":
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(digits, range(int(sys.argv[1]))))
