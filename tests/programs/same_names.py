"""Functions that have one name and do the same, in an order that differs from run to run: two lambdas of one text, and two `_` of a singledispatch.
argv: `lambdas` or `dispatched`, and how many rounds."""

import random
import sys
from functools import singledispatch

rows = [(at * 7919 % 1000, at * 104729 % 1000) for at in range(20_000)]
price = lambda row: (row[0] - 500) ** 2 % 997
stock = lambda row: (row[0] - 500) ** 2 % 997


def lambdas(chance):
    for key, count in chance.sample([(price, 5_000), (stock, 15_000)], 2):
        sorted(rows[:count], key=key)


@singledispatch
def cost(units):
    raise TypeError(units)


@cost.register
def _(units: list):
    total = 0
    for unit in units:
        total += unit * unit % 7
    return total


@cost.register
def _(units: tuple):
    total = 0
    for unit in units:
        total += unit * unit % 7
    return total


small, large = list(range(20_000)), tuple(range(60_000))


def dispatched(chance):
    for units in chance.sample([small, large], 2):
        cost(units)


def main():
    chance = random.Random()
    work = {"lambdas": lambdas, "dispatched": dispatched}[sys.argv[1]]
    for _ in range(int(sys.argv[2])):
        work(chance)


if __name__ == "__main__":
    main()
