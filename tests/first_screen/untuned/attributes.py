"""Rows like those of an ORM: each attribute goes through `__getattr__` and a table of columns."""

import sys

COLUMNS = {name: index for index, name in enumerate(["id", "price", "count", "discount", "customer"])}


class Row:
    def __init__(self, values):
        self._values = values

    def __getattr__(self, name):
        if name in COLUMNS:
            return self._values[COLUMNS[name]]
        raise AttributeError(name)


def revenue(rows):
    total = 0
    for row in rows:
        total += row.price * row.count - row.discount
    return total


if __name__ == "__main__":
    rows = [Row((number, number * 3, number % 7, number % 2, "somebody")) for number in range(1000)]
    for _ in range(int(sys.argv[1])):
        revenue(rows)
