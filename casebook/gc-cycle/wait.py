"""The dicts of slow.py, left to a collector that is off. Prints its pid, waits for a line, collects, and prints what that returned. argv: how many."""

import gc
import os
import sys

import slow

if __name__ == "__main__":
    gc.collect()
    gc.disable()
    slow.make(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    print("ready", os.getpid(), flush=True)
    sys.stdin.readline()
    print(gc.collect())
