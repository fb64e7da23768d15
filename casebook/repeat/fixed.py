"""The same sums without the list: itertools.repeat holds one copy, and hands out the items one by one. argv: how often."""

import sys
from itertools import chain, islice, repeat

TIMES = int(sys.argv[1]) if len(sys.argv) > 1 else 4
READ = 250_000


def sum_of_items():
    return sum(islice(chain.from_iterable(repeat((0, 1))), READ))


if __name__ == "__main__":
    for _ in range(TIMES):
        print(sum_of_items())
