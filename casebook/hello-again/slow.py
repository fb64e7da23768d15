"""Counts how many of the words of a text are new at the place where they stand. argv: how many words. Prints the number."""

import sys


def words(count):
    state = 1
    for _ in range(count):
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        yield f"word{state % 6007}"


def count_new(words):
    seen = []
    for word in words:
        if word not in seen:
            seen.append(word)
    return len(seen)


if __name__ == "__main__":
    print(count_new(words(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)))
