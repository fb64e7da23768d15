"""The same sum in whole cents."""

import random
import sys
from decimal import Decimal


def gross(prices):
    cents = 0
    for price in prices:
        cents += (round(price * 100) * 119 + 50) // 100
    return Decimal(cents).scaleb(-2)


if __name__ == "__main__":
    choose = random.Random(1).random
    prices = [round(choose() * 100, 2) for _ in range(10_000)]
    for _ in range(int(sys.argv[1])):
        gross(prices)
