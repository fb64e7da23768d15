"""A program that is as fast as it should be: some pieces of work, none of them out of place."""

import hashlib
import json
import random
import sys
import zlib

CHOOSE = random.Random(1).random


def make(count):
    return [{"id": number, "score": CHOOSE(), "text": "some words " * 12} for number in range(count)]


def rank(rows):
    return sorted(rows, key=lambda row: row["score"])


def words(rows):
    return {word for row in rows[::3] for word in row["text"].split()}


def stored(rows):
    return zlib.compress(json.dumps(rows).encode(), 1)


def digest(rows):
    return [hashlib.sha256(row["text"].encode()).hexdigest() for row in rows]


if __name__ == "__main__":
    for turn in range(int(sys.argv[1])):
        rows = make(2000)
        rank(rows)
        words(rows)
        digest(rows)
        if turn % 8 == 0:
            stored(rows)
