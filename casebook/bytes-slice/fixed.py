"""The same answer with one small slice: nothing is copied but the two bytes."""

import sys


def after(b):
    n = 0
    for i in range(len(b)):
        n += len(b[i:i + 2])
    return n


if __name__ == "__main__":
    b = bytes(int(sys.argv[1]) if len(sys.argv) > 1 else 400_000)
    assert after(b) == 2 * len(b) - 1
