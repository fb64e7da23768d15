"""Texts that are no numbers cost an exception each."""

import sys


def number(text):
    try:
        return int(text)
    except ValueError:
        return None


if __name__ == "__main__":
    texts = [f"word {position}" for position in range(1000)]
    for _ in range(int(sys.argv[1])):
        for text in texts:
            number(text)
