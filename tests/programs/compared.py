"""Five small programs, each with one function whose work can be made larger by a few percent: `planted`.
argv: the program's name, how often its round is done, and by how many percent `planted` does more than usual."""

import hashlib
import json
import re
import sys
import zlib

ORDERS = [json.dumps({"id": number, "day": f"2026-11-{number % 28 + 1:02}", "rows": list(range(20))}) for number in range(40)]
TEXT = "the quick brown fox jumps over the lazy dog and runs away from 42 hounds " * 12
BYTES = bytes(range(256)) * 64


def orders(units):
    """C under Python: a decoder."""

    def planted(units):
        total = 0
        for _ in range(units):
            total += len(json.loads(ORDERS[total % 40])["rows"])
        return total

    def saved(rows):
        return sum(len(json.dumps(ORDERS[row % 40])) for row in range(rows))

    return planted(units) + saved(1000)


def words(units):
    """Regular expressions and dictionaries."""

    def planted(units):
        found = 0
        for _ in range(units // 4):
            found += len(re.findall(r"[a-z]+o[a-z]*", TEXT))
        return found

    def counted(rounds):
        counts = {}
        for _ in range(rounds):
            for word in TEXT.split():
                counts[word] = counts.get(word, 0) + 1
        return len(counts)

    return planted(units) + counted(80)


def matrix(units):
    """Loops in Python alone."""

    def planted(units):
        total = 0
        for row in range(units):
            for column in range(60):
                total += row * column % 7
        return total

    def transposed(size):
        rows = [[row * column for column in range(size)] for row in range(size)]
        return sum(sum(column) for column in zip(*rows, strict=True))

    return planted(units) + transposed(150)


def trees(units):
    """Many short calls and small objects, with the collector behind them."""

    def built(depth):
        return [built(depth - 1), built(depth - 1)] if depth else []

    def depth_of(tree):
        return 1 + max(map(depth_of, tree), default=0)

    def planted(units):
        return sum(depth_of(TREE) for _ in range(units // 10))

    TREE = built(5)
    return planted(units) + sum(len(built(9)) for _ in range(5))


def digests(units):
    """Long calls of C."""

    def planted(units):
        total = 0
        for _ in range(units // 2):
            total += hashlib.sha256(BYTES).digest()[0]
        return total

    def packed(rounds):
        return sum(len(zlib.compress(BYTES, 1)) for _ in range(rounds))

    return planted(units) + packed(20)


PROGRAMS = {program.__name__: program for program in (orders, words, matrix, trees, digests)}

if __name__ == "__main__":
    name, rounds, percent = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    for _ in range(rounds):
        PROGRAMS[name](round(1000 * (1 + percent / 100)))
