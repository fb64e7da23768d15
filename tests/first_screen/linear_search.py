"""A list is searched for each value."""

import sys


def distinct(values):
    found = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


if __name__ == "__main__":
    distinct(f"value {number}" for number in range(int(sys.argv[1])))
