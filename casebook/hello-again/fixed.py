"""The same number: a set finds a word in one step."""

import sys

from slow import words


def count_new(words):
    seen = set()
    for word in words:
        if word not in seen:
            seen.add(word)
    return len(seen)


if __name__ == "__main__":
    print(count_new(words(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)))
