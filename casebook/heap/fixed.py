"""Answers requests, and forgets each session when its request is answered: `python fixed.py REQUESTS [SECONDS]`, SECONDS to wait afterwards.
One that will wait prints how far it is."""

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
    try:
        return len(sessions[number].items)
    finally:
        del sessions[number]


def serve(requests: int, is_watched: bool) -> int:
    answered = 0
    for number in range(requests):
        answered += handle(number)
        # A pause now and then: time to look.
        if is_watched and number % 1000 == 0:
            print(number, "requests", flush=True)
            time.sleep(0.02)
    return answered


seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
print(serve(int(sys.argv[1]), seconds > 0), "items", flush=True)
time.sleep(seconds)
if tracemalloc.is_tracing():
    for line in tracemalloc.take_snapshot().statistics("lineno")[:3]:
        print(line)
