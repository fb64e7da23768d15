"""Answers requests, and keeps the session of each: `python slow.py REQUESTS [SECONDS]`, SECONDS to wait afterwards."""

import sys
import time
import tracemalloc


class Session:
    def __init__(self, number: int) -> None:
        self.user = f"user-{number}"
        self.items = list(range(20))


sessions: dict[int, Session] = {}


def handle(number: int) -> int:
    sessions[number] = Session(number)
    return len(sessions[number].items)


def serve(requests: int, seconds: float) -> int:
    answered = 0
    for number in range(requests):
        answered += handle(number)
        # A pause now and then, if there is time to look.
        if seconds and number % 1000 == 0:
            time.sleep(0.01)
    time.sleep(seconds)
    return answered


print(serve(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0))
if tracemalloc.is_tracing():
    for line in tracemalloc.take_snapshot().statistics("lineno")[:3]:
        print(line)
