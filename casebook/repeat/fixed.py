"""Reads the repeated items one by one instead of building them: itertools.repeat and cycle hold one copy."""

from itertools import chain, islice, repeat

if __name__ == "__main__":
    some = islice(chain.from_iterable(repeat((0, 1))), 0, 1_000_000)
    assert sum(some) == 500_000
