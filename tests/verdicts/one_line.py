"""Slow because one line of a loop does five things that need not be done there."""

import random
import sys
from decimal import Decimal


def gross(prices):
    total = Decimal(0)
    for price in prices:
        total += (Decimal(str(price)) * Decimal("1.19")).quantize(Decimal("0.01"))
    return total


if __name__ == "__main__":
    choose = random.Random(1).random
    prices = [round(choose() * 100, 2) for _ in range(10_000)]
    for _ in range(int(sys.argv[1])):
        gross(prices)
