"""Each price becomes a text and then a Decimal, and is rounded on its own."""

import sys
from decimal import Decimal


def total(prices):
    result = Decimal(0)
    for price in prices:
        result += (Decimal(str(price)) * Decimal("1.19")).quantize(Decimal("0.01"))
    return result


if __name__ == "__main__":
    prices = [number / 7 for number in range(10_000)]
    for _ in range(int(sys.argv[1])):
        total(prices)
