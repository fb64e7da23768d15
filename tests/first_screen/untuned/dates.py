"""Each line of a log has its date read by a format, though all of them are written in ISO 8601."""

import sys
from datetime import datetime

LINES = [f"2026-11-{day:02d}T{hour:02d}:15:00 GET /orders/{hour}" for day in range(1, 29) for hour in range(24)]


def hours(lines):
    found = {}
    for line in lines:
        stamp, _, path = line.partition(" ")
        when = datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%S")
        found.setdefault(when.hour, []).append(path)
    return found


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        hours(LINES)
