"""A program with as many distinct stacks as a large application has: calls among many functions, chosen from a fixed seed."""

import random
from time import process_time

FUNCTIONS = 60
CPU_SECONDS = 12.0
DEPTH = 12
PATHS = 1_000


def made(number):
    """A function with a name of its own and eight places to call from."""
    calls = "\n".join(f"    elif way == {way}: rest[-1](rest[:-1], ways >> 3)" for way in range(1, 8))
    source = f"""
def step_{number}(rest, ways):
    way = ways & 7
    if not rest: sum(range(40))
    elif way == 0: rest[-1](rest[:-1], ways >> 3)
{calls}
"""
    names = {}
    exec(source, names)
    return names[f"step_{number}"]


if __name__ == "__main__":
    chance = random.Random(1)
    functions = [made(number) for number in range(FUNCTIONS)]
    paths = [(chance.choices(functions, k=DEPTH), chance.getrandbits(3 * DEPTH)) for _ in range(PATHS)]
    until = process_time() + CPU_SECONDS
    while process_time() < until:
        path, ways = chance.choice(paths)
        for _ in range(8):
            path[-1](path[:-1], ways)
