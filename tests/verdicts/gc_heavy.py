"""Many living objects, and new ones in cycles all the time: the collector looks at them again and again."""

import gc
import sys


def cycle():
    one = {}
    one["self"] = one
    return one


def request(kept):
    for _ in range(400):
        kept.append({"key": [cycle(), cycle()]})
    return sum(len(one) for one in kept)


if __name__ == "__main__":
    gc.set_threshold(300, 3, 3)
    kept = []
    for _ in range(int(sys.argv[1])):
        request(kept)
