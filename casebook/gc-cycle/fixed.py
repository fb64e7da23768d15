"""The same dicts, which are emptied when they are done: nothing is left for the collector. argv and output: as slow.py has them."""

import gc
import json
import sys

import slow


def make(count):
    for _ in range(count):
        d = {}
        d["key"] = d
        d.clear()


if __name__ == "__main__":
    gc.collect()
    gc.callbacks.append(slow.note)
    make(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    gc.callbacks.remove(slow.note)
    print(json.dumps(slow.told))
