"""Uses the signals that genba uses too. argv: `faulthandler` (enables it, then works) or `SIGURG` (its own handler, a hundred
signals to itself, each one counted). Prints what it counted."""

import faulthandler
import json
import os
import signal
import sys
from time import process_time

counted = 0


def count(number, frame):
    global counted
    counted += 1


def work(seconds):
    total, until = 0, process_time() + seconds
    while process_time() < until:
        for number in range(1000):
            total += number


if __name__ == "__main__":
    work(0.3)
    if sys.argv[1] == "faulthandler":
        faulthandler.enable()
        work(1.0)
    else:
        signal.signal(signal.SIGURG, count)
        for turn in range(1, 101):
            os.kill(os.getpid(), signal.SIGURG)
            while counted < turn:
                work(0.001)
        work(0.3)
    print(json.dumps({"counted": counted, "handler": str(signal.getsignal(signal.SIGURG))}))
