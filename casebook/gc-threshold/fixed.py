"""The same service with a threshold that no request reaches. argv: how many requests."""

import gc
import json
import sys

import slow

if __name__ == "__main__":
    gc.set_threshold(10_000, 10, 10)
    print(json.dumps(slow.summed(slow.serve(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000))))
