"""Copies a known number of bytes each time that a line says so: `slices`, or `arrays`, by a library that `loads` has loaded. Answers with the number.

At the end of its input it prints whether all copies were right.
"""

import sys

EACH = 300_000
TIMES = 24_000
PATTERN = bytes(range(256)) * (EACH // 256 + 2)
right = True


def slices():
    b = PATTERN[: EACH + 1]
    for _ in range(TIMES):
        part = b[1:]
    return part == PATTERN[1 : EACH + 1]


def arrays():
    import array

    numbers = array.array("b", PATTERN[:EACH])
    for _ in range(TIMES):
        part = numbers[:]
    return part.tobytes() == PATTERN[:EACH]


def loads():
    import array

    return bool(array)


print("ready", flush=True)
for line in sys.stdin:
    right &= {"slices": slices, "loads": loads, "arrays": arrays, "": lambda: True}[line.strip()]()
    print(EACH * TIMES, flush=True)
print('{"right": %s}' % ("true" if right else "false"))
