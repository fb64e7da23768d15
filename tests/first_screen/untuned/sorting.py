"""A list of the best scores is sorted again after each new one."""

import random
import sys


def ranked(scores):
    best = []
    for player, score in enumerate(scores):
        best.append((player, score))
        best.sort(key=lambda entry: entry[1])
    return best


if __name__ == "__main__":
    choose = random.Random(1).random
    ranked([choose() for _ in range(int(sys.argv[1]))])
