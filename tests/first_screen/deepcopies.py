"""A whole configuration is copied for each request."""

import copy
import sys

SETTINGS = {f"section {number}": {"on": True, "values": list(range(20))} for number in range(100)}


def handle(request):
    settings = copy.deepcopy(SETTINGS)
    settings["request"] = request
    return len(settings)


if __name__ == "__main__":
    for request in range(int(sys.argv[1])):
        handle(request)
