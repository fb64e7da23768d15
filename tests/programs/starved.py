"""Ends while genba's thread gets no CPU: a real-time process has taken the one it may run on.

argv: milliseconds that it is kept away. Prints `not allowed` where no real-time process or second CPU can be had.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

HOG = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
until = time.monotonic() + int(sys.argv[2]) / 1000
os.write(1, b"\\n")
while time.monotonic() < until:
    pass
"""


def spin(milliseconds):
    until = time.monotonic() + milliseconds / 1000
    while time.monotonic() < until:
        pass


def main(milliseconds):
    spin(50)
    samplers = [int(task.name) for task in Path("/proc/self/task").iterdir() if (task / "comm").read_text() == "genba\n"]
    theirs, *others = sorted(os.sched_getaffinity(0))
    if others:
        for sampler in samplers:
            os.sched_setaffinity(sampler, {theirs})
        os.sched_setaffinity(0, others)
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "GENBA_SESSION")}
    command = [sys.executable, "-S", "-c", HOG, str(theirs), milliseconds]
    hog = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if not others or hog.stdout.read(1) != b"\n":
        print("not allowed", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
