"""A heap of objects by the million: an instance, a string, a tuple and a number each. Waits for lines; `peer NAME` makes another tool count them here."""

import gc
import json
import sys
import time


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


rows = [Row(number) for number in range(int(sys.argv[1]) // 4)]
gc.collect()
print("ready", flush=True)
for line in sys.stdin:
    began = time.perf_counter()
    try:
        found = count_by(line.split()[1])
    except ImportError:
        found = None
    print(json.dumps({"objects": found, "ms": (time.perf_counter() - began) * 1000}), flush=True)
