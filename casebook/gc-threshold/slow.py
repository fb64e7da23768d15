"""A service whose requests make 2,000 small lists for each of five tables; none is garbage in a cycle. argv: how many requests; then, as
gc.set_threshold gets them, thresholds. Prints how many collections of each generation ran, as the interpreter itself counts them, and in how
many requests none ran, and no full one.
"""

import gc
import json
import sys

LISTS = 2_000
TABLES = 5


def table():
    rows = [[number] for number in range(LISTS)]
    return sum(row[0] for row in rows)


def handle():
    return [table() for _ in range(TABLES)]


def counts():
    return [generation["collections"] for generation in gc.get_stats()]


def serve(requests):
    ran = []
    for _ in range(requests):
        before = counts()
        handle()
        ran.append([now - then for now, then in zip(counts(), before)])
    return ran


def summed(ran):
    none, no_full = sum(not any(row) for row in ran), sum(not row[2] for row in ran)
    return {"generations": [sum(column) for column in zip(*ran)], "requests_without": none, "requests_without_full": no_full}


if __name__ == "__main__":
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    if len(sys.argv) > 2:
        gc.set_threshold(*map(int, sys.argv[2:]))
    print(json.dumps(summed(serve(requests))))
