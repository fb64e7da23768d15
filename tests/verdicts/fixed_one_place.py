"""one_place.py, with slices of two bytes instead of slices to the end."""

import sys


def pairs(data):
    return [data[i : i + 2] for i in range(len(data))]


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        pairs(bytes(60_000))
