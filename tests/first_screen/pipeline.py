"""Generators hand rows on, and each copies the row."""

import sys


def rows(amount):
    for number in range(amount):
        yield {"id": number, "price": number % 100, "name": "thing", "tags": ("a", "b"), "stock": 5}


def taxed(source):
    for row in source:
        yield {**row, "gross": row["price"] * 1.19}


def labelled(source):
    for row in source:
        yield {**row, "label": row["name"].upper()}


def expensive(source):
    for row in source:
        if row["gross"] > 50:
            yield dict(row)


if __name__ == "__main__":
    print(sum(1 for _ in expensive(labelled(taxed(rows(int(sys.argv[1])))))))
