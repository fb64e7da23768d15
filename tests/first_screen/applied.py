"""pandas calls a function in Python for each group."""

import sys

import pandas


def spread_of(group):
    return group["value"].max() - group["value"].min()


def spreads(frame):
    return frame.groupby("key")[["value"]].apply(spread_of)


if __name__ == "__main__":
    frame = pandas.DataFrame({"key": [number % 2000 for number in range(10_000)], "value": range(10_000)})
    for _ in range(int(sys.argv[1])):
        spreads(frame)
