"""A busy program with several threads that says for how long it was stopped: the program that benches/goals/attach.py attaches to.

argv: the library made of stops.c, how many threads of Python are busy, and how many more wait. Says its pid; then for each line on stdin, as JSON, the stops since the last
line that one thread had: the length of each, and how much of it the thread waited for a CPU, in nanoseconds. That thread runs without the GIL. Ends with stdin.
"""

import ctypes
import json
import os
import sys
import threading

STOPS_MAX = 1_000_000


class Stop(ctypes.Structure):
    _fields_ = (("whole_ns", ctypes.c_longlong), ("queued_ns", ctypes.c_longlong))


def works():
    total = 0
    while True:
        total = spin(2_000, total)


def spin(count, total):
    for number in range(count):
        total ^= number * number
    return total


def main():
    library = ctypes.CDLL(sys.argv[1])
    stops, count = (Stop * STOPS_MAX)(), ctypes.c_long()
    watching = threading.Thread(target=library.watch, args=(stops, ctypes.c_long(STOPS_MAX), ctypes.byref(count)), name="watches")
    watching.start()
    for number in range(int(sys.argv[2])):
        threading.Thread(target=works, name=f"works-{number}", daemon=True).start()
    for _ in range(int(sys.argv[3])):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    print(os.getpid(), flush=True)
    told = 0
    for _ in sys.stdin:
        known = count.value
        assert known <= STOPS_MAX, "more stops than there is room for"
        print(json.dumps([(stop.whole_ns, stop.queued_ns) for stop in stops[told:known]]), flush=True)
        told = known
    library.end()
    watching.join()


if __name__ == "__main__":
    main()
