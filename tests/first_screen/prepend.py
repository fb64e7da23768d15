"""A line put before a growing text copies all of it."""

import sys


def newest_first(lines):
    text = ""
    for line in lines:
        text = line + text
    return text


if __name__ == "__main__":
    newest_first(["a line of the log of some length\n"] * int(sys.argv[1]))
