"""healthy.py, with each text split and digested once, however many rows have it."""

import hashlib
import sys

from healthy import make, rank, stored


def words(rows):
    return {word for text in {row["text"] for row in rows} for word in text.split()}


def digest(rows):
    digests = {text: hashlib.sha256(text.encode()).hexdigest() for text in {row["text"] for row in rows}}
    return [digests[row["text"]] for row in rows]


if __name__ == "__main__":
    for turn in range(int(sys.argv[1])):
        rows = make(2000)
        rank(rows)
        words(rows)
        digest(rows)
        if turn % 8 == 0:
            stored(rows)
