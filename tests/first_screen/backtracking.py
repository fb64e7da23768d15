"""A pattern that tries every way to split a run of `a`."""

import re
import sys

NESTED = re.compile(r"(a+)+$")


def matching(lines):
    return [line for line in lines if NESTED.match(line)]


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        matching(["a" * 18 + "b", "plain"])
