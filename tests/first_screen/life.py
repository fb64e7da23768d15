"""Conway's game of life on sets, in two functions."""

import sys


def neighbours(cell):
    x, y = cell
    return [(x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy]


def step(alive):
    counts = {}
    for cell in alive:
        for near in neighbours(cell):
            counts[near] = counts.get(near, 0) + 1
    return {cell for cell, count in counts.items() if count == 3 or (count == 2 and cell in alive)}


if __name__ == "__main__":
    alive = {(x, y) for x in range(60) for y in range(60) if (x * 7 + y * 3) % 5 < 2}
    for _ in range(int(sys.argv[1])):
        alive = step(alive)
