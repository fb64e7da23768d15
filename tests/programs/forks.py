"""Forks two children; each does work of its own and reports its clock through a pipe. Prints pid: [function, CPU]."""

import json
import os
import sys
from time import process_time, process_time_ns

CPU_SECONDS = 1


def spin(count):
    total = 0
    for number in range(count):
        total += number
    return total


def work_of_parent():
    while process_time() < CPU_SECONDS:
        spin(10_000)


def work_of_first_child():
    while process_time() < CPU_SECONDS:
        spin(10_000)


def work_of_second_child():
    while process_time() < CPU_SECONDS:
        spin(10_000)


def forked(work):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        work()
        os.write(writing, json.dumps({os.getpid(): [work.__name__, process_time_ns()]}).encode())
        if os.environ.get("LEAVE") == "at once":
            os._exit(0)
        sys.exit(0)
    os.close(writing)
    return pid, reading


if __name__ == "__main__":
    children = [forked(work_of_first_child), forked(work_of_second_child)]
    work_of_parent()
    answers = {}
    for pid, reading in children:
        answers |= json.loads(os.read(reading, 4096))
        assert os.waitpid(pid, 0)[1] == 0
    answers[os.getpid()] = ["work_of_parent", process_time_ns()]
    print(json.dumps(answers))
