"""gc_heavy.py, with a collector that looks when much is new, and not at all once the work is done."""

import gc
import sys

from gc_heavy import request

if __name__ == "__main__":
    gc.set_threshold(100_000, 50, 1000)
    kept = []
    for _ in range(int(sys.argv[1])):
        request(kept)
    gc.freeze()
