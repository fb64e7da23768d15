"""The main thread asks again and again whether the worker is done, and sleeps in between longer than the work takes."""

import sys
import threading
import time


class Job:
    def __init__(self):
        self.result = None

    def work(self):
        self.result = sum(range(10_000))


def finished(job):
    while job.result is None:
        time.sleep(0.02)
    return job.result


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        job = Job()
        threading.Timer(0.001, job.work).start()
        finished(job)
