"""Makes dicts that hold themselves: only the collector can free them. argv: how many. Prints what gc.callbacks were told of collections that began
by themselves, each as [generation, collected]."""

import gc
import json
import sys

told = []


def note(phase, info):
    if phase == "stop":
        told.append([info["generation"], info["collected"]])


def make(count):
    for _ in range(count):
        d = {}
        d["key"] = d


if __name__ == "__main__":
    gc.collect()
    gc.callbacks.append(note)
    make(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    gc.callbacks.remove(note)
    print(json.dumps(told))
