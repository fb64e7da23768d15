"""A search in breadth takes the next one from the front of a list, and all behind it moves up."""

import sys


def neighbours(number, size):
    return [other for other in (2 * number, 2 * number + 1) if other < size]


def reachable(size):
    waiting = list(range(1, size))
    seen = set()
    while waiting:
        number = waiting.pop(0)
        if number not in seen:
            seen.add(number)
            waiting.extend(other for other in neighbours(number, size) if other not in seen)
    return len(seen)


if __name__ == "__main__":
    print(reachable(int(sys.argv[1])))
