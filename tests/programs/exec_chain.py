"""Replaces itself by itself, argv[1] times, working a little each time; the last image prints its pid."""

import json
import os
import sys
from time import process_time


def work_of_image(seconds):
    total, until = 0, process_time() + seconds
    while process_time() < until:
        for number in range(1000):
            total += number


if __name__ == "__main__":
    left = int(sys.argv[1])
    work_of_image(0.3)
    if left:
        os.execv(sys.executable, [sys.executable, __file__, str(left - 1)])
    print(json.dumps({"pid": os.getpid()}))
