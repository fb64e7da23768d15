"""Slow because of one loop, whose lines cost about the same each."""

import random
import sys


def distance(left, right):
    """How many letters to add, to remove or to replace."""
    row = list(range(len(right) + 1))
    for at, letter in enumerate(left, 1):
        above, row[0] = row[0], at
        for to, other in enumerate(right, 1):
            best = above if letter == other else above + 1
            above = row[to]
            if above < best:
                best = above + 1
            if row[to - 1] < best:
                best = row[to - 1] + 1
            row[to] = best
    return row[-1]


def nearest(word, words):
    return min(words, key=lambda known: distance(word, known))


def made(choose, count):
    return ["".join(choose("abcdefgh") for _ in range(4 + number % 20)) for number in range(count)]


if __name__ == "__main__":
    choose = random.Random(1).choice
    words = made(choose, 200)
    for word in made(choose, int(sys.argv[1])):
        nearest(word, words)
