"""A heap of objects by the million: an instance, a string, a tuple and a number each. Waits for lines: `peer NAME` makes another
tool count them here, `cycles NUMBER` leaves so many to a collector that is off, `answer SECONDS` answers requests for so long, one after the other."""

import gc
import json
import statistics
import sys
import time

ROWS_A_REQUEST = 200


class Row:
    __slots__ = ("name", "parts")

    def __init__(self, number: int) -> None:
        self.name, self.parts = str(number), (number,)


def count_by(peer: str) -> int:
    if peer == "guppy3":
        from guppy import hpy

        return hpy().heap().count
    if peer == "pympler":
        from pympler import muppy, summary

        return sum(row[1] for row in summary.summarize(muppy.get_objects()))
    import objgraph

    return sum(number for _, number in objgraph.most_common_types(limit=1_000_000))


def leave(cycles: int) -> dict:
    gc.disable()
    for _ in range(cycles):
        garbage = {}
        garbage["key"] = garbage
    return {"cycles": cycles}


def answer(seconds: float) -> dict:
    took, at = [], 0
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        at = (at + ROWS_A_REQUEST) % (len(rows) - ROWS_A_REQUEST)
        json.dumps([(row.name, row.parts) for row in rows[at : at + ROWS_A_REQUEST]])
        took.append((time.perf_counter() - began) * 1000)
    return {"requests": len(took), "median_ms": statistics.median(took), "p99_ms": statistics.quantiles(took, n=100)[-1], "slowest_ms": max(took)}


def counted(peer: str) -> dict:
    began = time.perf_counter()
    try:
        found = count_by(peer)
    except ImportError:
        found = None
    return {"objects": found, "ms": (time.perf_counter() - began) * 1000}


rows = [Row(number) for number in range(int(sys.argv[1]) // 4)]
gc.collect()
print("ready", flush=True)
for line in sys.stdin:
    word, value = line.split()
    said = counted(value) if word == "peer" else leave(int(value)) if word == "cycles" else answer(float(value))
    print(json.dumps(said), flush=True)
