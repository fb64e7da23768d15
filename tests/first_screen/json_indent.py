"""`indent` makes json leave its encoder in C for the one in Python."""

import json
import sys

ROWS = [{"id": number, "name": f"name {number}", "tags": ["a", "b"], "price": number / 3} for number in range(2000)]


def page(rows):
    return json.dumps(rows, indent=2)


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        page(ROWS)
