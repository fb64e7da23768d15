"""A file of prices is read with a dictionary for each row and a Decimal for each cell."""

import csv
import io
import sys
from decimal import Decimal

TEXT = "item,price,tax\n" + "".join(f"item {number},{number}.{number % 100:02d},{number % 20}.50\n" for number in range(2000))


def total(text):
    result = Decimal(0)
    for row in csv.DictReader(io.StringIO(text)):
        result += Decimal(row["price"]) + Decimal(row["tax"])
    return result


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        total(TEXT)
