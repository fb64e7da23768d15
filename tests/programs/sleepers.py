"""Threads that sleep, each in another system call; prints for each: its id and how long it slept."""

import json
import os
import select
import socket
import threading
import time

MS = 1200
slept = {}
reading, writing = os.pipe()
lock = threading.Lock()
listening, other = socket.socketpair()


def in_poll():
    select.poll().poll(MS)


def in_clock_nanosleep():
    time.sleep(MS / 1000)


def in_read():
    os.read(reading, 1)


def in_futex():
    lock.acquire()


def in_recvfrom():
    listening.recv(1)


def timed(function):
    start_ns = time.monotonic_ns()
    function()
    slept[function.__name__] = [threading.get_native_id(), time.monotonic_ns() - start_ns]


if __name__ == "__main__":
    lock.acquire()
    functions = [in_poll, in_clock_nanosleep, in_read, in_futex, in_recvfrom]
    threads = [threading.Thread(target=timed, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads[:2]:
        thread.join()
    os.write(writing, b"x")
    lock.release()
    other.send(b"x")
    for thread in threads[2:]:
        thread.join()
    print(json.dumps(slept))
