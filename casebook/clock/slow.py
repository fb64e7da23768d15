"""Reads the clock twice for each event, as timeouts and logs do. Prints the CPU time that the events took."""

import sys
import time


def handle(event):
    return event * event % 97


def serve(events):
    late = 0
    for event in range(events):
        begin = time.monotonic()
        handle(event)
        late += time.monotonic() - begin > 1.0
    return late


if __name__ == "__main__":
    began = time.process_time()
    serve(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000)
    print(time.process_time() - began)
