"""spread.py, with those pieces made once that have a few values only."""

import sys
from functools import cache

import spread

FEW = {
    spread.title: 7,
    spread.body: 9,
    spread.when: 365,
    spread.month: 12,
    spread.colour: 5,
    spread.first: 9,
    spread.vowels: 20,
    spread.reverse: 3,
}


def once(piece):
    made, count = cache(piece), FEW[piece]
    return lambda row: made(row % count)


PIECES = [once(piece) if piece in FEW else piece for piece in spread.PIECES]


def page(row):
    return [piece(row) for piece in PIECES]


if __name__ == "__main__":
    for row in range(int(sys.argv[1])):
        page(row)
