"""recursion.py, with a loop."""

import sys


def fib(n):
    last, this = 0, 1
    for _ in range(n):
        last, this = this, last + this
    return last


if __name__ == "__main__":
    print(fib(int(sys.argv[1])))
