"""What the images of testdata/memory were recorded from: two threads that sleep, each below functions that are known by name."""

import threading
import time


def inner(seconds):
    time.sleep(seconds)


def middle(seconds):
    inner(seconds)


def outer(seconds):
    middle(seconds)


class Worker:
    def run(self):
        outer(1000)


threading.Thread(target=Worker().run, daemon=True).start()
# The other thread sleeps by then.
time.sleep(1)
print("ready", flush=True)
outer(1000)
