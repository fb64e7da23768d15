"""Copies a known number of bytes, by memcpy or memmove, in a function of the kind's name: `copies.py KIND`.

Prints {"bytes": what that function copies}. `elsewhere` copies without either function, or in the kernel.
"""

import array
import io
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading

EACH = 300_000
TIMES = 24_000


def of_bytes(times=TIMES):
    b = bytes(EACH + 1)
    for _ in range(times):
        b[1:]
    return times * EACH


def of_bytearray():
    b = bytearray(EACH + 1)
    for _ in range(TIMES):
        b[1:]
    return TIMES * EACH


def of_str():
    text = "x" * (EACH + 1)
    for _ in range(TIMES):
        text[1:]
    return TIMES * EACH


def of_join():
    parts = [bytes(EACH // 3)] * 3
    for _ in range(TIMES):
        b"".join(parts)
    return TIMES * EACH


def of_array():
    numbers = array.array("q", bytes(EACH))
    for _ in range(TIMES):
        numbers[:]
    return TIMES * EACH


def of_pickle():
    """Into the frame's buffer where the bytes are small."""
    b = [bytes(30_000)] * 1
    times = 40_000
    for _ in range(times):
        pickle.dumps(b, protocol=5)
    return times * 30_000


def of_write():
    with io.BytesIO() as file:
        b = bytes(EACH)
        for _ in range(TIMES):
            file.seek(0)
            file.write(b)
    return TIMES * EACH


def of_numpy():
    import numpy

    numbers = numpy.zeros(EACH // 8)
    for _ in range(TIMES):
        numbers.copy()
    return TIMES * (EACH // 8) * 8


def of_elsewhere():
    """list.copy takes a reference to each item, and a socket is read by the kernel."""
    items = [None] * 100_000
    for _ in range(300):
        items.copy()
    one, other = socket.socketpair()
    room = bytearray(50_000)
    for _ in range(2_000):
        one.sendall(room)
        left = len(room)
        while left:
            left -= other.recv_into(room, left)
    return 0


def of_threads():
    """Many threads one after another, and some at once; the last ones on the smallest stacks."""
    for _ in range(400):
        thread = threading.Thread(target=of_bytes, args=(10,))
        thread.start()
        thread.join()
    threading.stack_size(65_536)
    several = [threading.Thread(target=of_bytes, args=(1_000,)) for _ in range(4)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()
    return 8_000 * EACH


def of_forks():
    for _ in range(4):
        child = os.fork()
        if child == 0:
            of_bytes(1_000)
            os._exit(0)
        os.waitpid(child, 0)
        of_bytes(1_000)
        subprocess.run(["true"], check=True)
    return 8_000 * EACH


def of_handlers():
    """A signal handler in Python that copies, between the program's own copies."""
    copies = [0]

    def on_alarm(_number, _frame):
        copies[0] += 1
        of_bytes(1)

    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    of_bytes(7_000)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return (7_000 + copies[0]) * EACH


if __name__ == "__main__":
    print(json.dumps({"bytes": globals()[f"of_{sys.argv[1]}"]()}))
