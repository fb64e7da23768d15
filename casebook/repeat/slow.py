"""Repeats a sequence to 1 GiB and drops it, a few times. argv: `bytes`, `list`, or `sum` (of the first items of the list); then how often."""

import sys
from itertools import islice

KIND = sys.argv[1] if len(sys.argv) > 1 else "list"
TIMES = int(sys.argv[2]) if len(sys.argv) > 2 else 4
READ = 250_000


def repeat_bytes():
    b"ABCDEFGH" * (128 * 1024 * 1024)


def repeat_list():
    [0, 1] * (64 * 1024 * 1024)


def sum_of_list():
    return sum(islice([0, 1] * (64 * 1024 * 1024), READ))


if __name__ == "__main__":
    for _ in range(TIMES):
        if KIND == "bytes":
            repeat_bytes()
        elif KIND == "sum":
            print(sum_of_list())
        else:
            repeat_list()
