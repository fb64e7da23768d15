"""Looks at two bytes after every position of a bytes object: once by slicing twice, once by slicing once."""

import sys


def before(b):
    n = 0
    for i in range(len(b)):
        n += len(b[i:][:2])
    return n


def after(b):
    n = 0
    for i in range(len(b)):
        n += len(b[i:i + 2])
    return n


if __name__ == "__main__":
    b = bytes(int(sys.argv[1]) if len(sys.argv) > 1 else 400_000)
    assert before(b) == after(b)
