"""A cache that is too small for its keys, and a function with a loop behind it."""

import functools
import sys


@functools.lru_cache(maxsize=100)
def steps(number):
    count = 0
    while number != 1:
        number = number // 2 if number % 2 == 0 else 3 * number + 1
        count += 1
    return count


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        for number in range(1, 3000):
            steps(number)
