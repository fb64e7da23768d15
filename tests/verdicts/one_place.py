"""One hot expression: each slice copies the rest of the bytes."""

import sys


def pairs(data):
    return [data[i:][:2] for i in range(len(data))]


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        pairs(bytes(60_000))
