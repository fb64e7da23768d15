"""Children that work until their parent kills them, in the way the first argument names, as many as the second says. Each is killed when it has
used a different amount of CPU. Prints each one's process clock, as it told it before the kill and as it last told it. Further words come in front of
the command of each child that is a program of its own.
"""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time

TOLD_EVERY_NS = 5_000_000


def work(number):
    told_ns = 0
    while True:
        sum(range(1000))
        clock_ns = time.process_time_ns()
        if clock_ns - told_ns >= TOLD_EVERY_NS:
            told_ns = clock_ns
            os.write(number, f"{clock_ns}\n".encode())


def process(number):
    child = multiprocessing.get_context("fork").Process(target=work, args=(number,))
    child.start()
    return child.pid, child.terminate, child.join


def work_after_a_failed_exec(number):
    try:
        os.execv("/nowhere", ["nowhere"])
    except FileNotFoundError:
        work(number)


def failed_exec(number):
    child = multiprocessing.get_context("fork").Process(target=work_after_a_failed_exec, args=(number,))
    child.start()
    return child.pid, child.terminate, child.join


def popen(number, **options):
    # Descriptors are closed, all but this one.
    child = subprocess.Popen([*sys.argv[3:], sys.executable, __file__, "work", str(number)], pass_fds=[number], **options)
    return child.pid, child.kill, child.wait


def group(number):
    # Not a session of its own: on a busy machine its threads would each wait for the session's share of their CPU (docs/limits.md).
    pid, _, wait = popen(number, process_group=0)
    return pid, lambda: os.killpg(pid, signal.SIGTERM), wait


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(int(sys.argv[2]))
    clocks = {}
    for turn in range(int(sys.argv[2])):
        reading, writing = os.pipe()
        pid, kill, wait = globals()[sys.argv[1]](writing)
        os.close(writing)
        with open(reading) as told:
            while (clock_ns := int(told.readline())) < 120_000_000 + turn * 17_000_000:
                pass
            kill()
            wait()
            clocks[pid] = clock_ns, max([clock_ns, *map(int, told)])
    print(json.dumps(clocks))
