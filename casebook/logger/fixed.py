"""The same calls with arguments for the logger: nothing is formatted that nobody writes. argv: how many calls."""

import sys

from slow import call, lazy

if __name__ == "__main__":
    print(f"{call(lazy, int(sys.argv[1]) if len(sys.argv) > 1 else 200_000):.0f} ns a call")
