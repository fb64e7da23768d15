"""C calls Python calls C calls Python: sorted(key=…) in a re.sub callback in a generator, twice."""
# families: _a _b

import re
import sys
from time import process_time

WORD = re.compile(r"\w+")
TEXT = "the quick brown fox jumps over the lazy dog"


def key_a(letter):
    total = 0
    for number in range(ord(letter) & 15):
        total += number
    return total


def sorted_a(match):
    return "".join(sorted(match.group(), key=key_a))  # calls: key_a


def texts_a():
    while True:
        yield WORD.sub(sorted_a, TEXT)  # calls: sorted_a


def key_b(letter):
    total = 0
    for number in range(ord(letter) & 15):
        total += number
    return total


def sorted_b(match):
    return "".join(sorted(match.group(), key=key_b))  # calls: key_b


def texts_b():
    while True:
        yield WORD.sub(sorted_b, TEXT)  # calls: sorted_b


def main(cpu_seconds):
    some_a, some_b = texts_a(), texts_b()  # calls: texts_a, texts_b
    while process_time() < cpu_seconds:
        for _ in range(50):
            next(some_a)  # calls: texts_a
            next(some_b)  # calls: texts_b


if __name__ == "__main__":
    # When it returns, its frame is cleared, and with it the generators are closed.
    main(float(sys.argv[1]))  # calls: main, texts_a, texts_b
