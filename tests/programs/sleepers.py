"""Threads that sleep, each in another system call or on another kind of descriptor; prints for each: its id and how long it slept."""

import ctypes
import fcntl
import json
import os
import queue
import select
import socket
import tempfile
import threading
import time

MS = 1200
slept = {}
lock, rlock, event_set, simple_queue = threading.Lock(), threading.RLock(), threading.Event(), queue.SimpleQueue()
# As large as a sem_t; what stands before it may lead to a lock, but it is in no list of CPython's.
libc = ctypes.CDLL(None)
before_semaphore = (ctypes.c_uint64 * 8)(0, id(lock) + 16)
semaphore = ctypes.byref(before_semaphore, 16)
folder = tempfile.TemporaryDirectory()
pipes = [os.pipe() for _ in range(2)]
pairs = [socket.socketpair() for _ in range(5)]
event = os.eventfd(0)
server = socket.create_server(("127.0.0.1", 0))
# A chroot may have no /dev/pts.
master, terminal = os.openpty() if os.path.exists("/dev/pts/ptmx") else (None, None)
fifo_path, locked_path = (os.path.join(folder.name, name) for name in ("fifo", "locked"))
os.mkfifo(fifo_path)
fifo = os.open(fifo_path, os.O_RDWR)
locked, locking = (os.open(locked_path, os.O_RDWR | os.O_CREAT) for _ in range(2))


def in_poll():
    select.poll().poll(MS)


def in_clock_nanosleep():
    time.sleep(MS / 1000)


def in_read():
    os.read(pipes[0][0], 1)


def in_futex():
    lock.acquire()


def in_futex_of_an_rlock():
    rlock.acquire()
    rlock.release()


def in_futex_with_a_timeout():
    if rlock.acquire(timeout=60):
        rlock.release()


def in_futex_of_an_event():
    event_set.wait()


def in_futex_of_a_simple_queue():
    simple_queue.get()


def in_futex_of_c():
    libc.sem_wait(semaphore)


def in_recvfrom():
    pairs[0][0].recv(1)


def in_poll_of_sockets():
    poll(pairs[1][0], pairs[2][0])


def in_poll_of_two_kinds():
    poll(pairs[3][0], pipes[1][0])


def in_recv_with_a_timeout():
    pairs[4][0].settimeout(60)
    pairs[4][0].recv(1)


def in_accept():
    server.accept()


def in_flock():
    fcntl.flock(locking, fcntl.LOCK_EX)


def in_read_of_a_fifo():
    os.read(fifo, 1)


def in_read_of_a_terminal():
    os.read(terminal, 1)


def in_read_of_an_event():
    os.read(event, 8)


def poll(*what):
    polled = select.poll()
    for one in what:
        polled.register(one, select.POLLIN)
    polled.poll()


def wake():
    lock.release()
    rlock.release()
    event_set.set()
    simple_queue.put(None)
    libc.sem_post(semaphore)
    for _, writing in pipes:
        os.write(writing, b"x")
    for _, other in pairs:
        other.send(b"x")
    os.eventfd_write(event, 1)
    if master is not None:
        os.write(master, b"x\n")
    os.write(fifo, b"x")
    fcntl.flock(locked, fcntl.LOCK_UN)
    socket.create_connection(server.getsockname()).close()


def timed(function):
    start_ns = time.monotonic_ns()
    function()
    slept[function.__name__] = [threading.get_native_id(), time.monotonic_ns() - start_ns]


if __name__ == "__main__":
    libc.sem_init(semaphore, 0, 0)
    lock.acquire()
    rlock.acquire()
    fcntl.flock(locked, fcntl.LOCK_EX)
    functions = [function for name, function in sorted(globals().items()) if name.startswith("in_")]
    if terminal is None:
        functions.remove(in_read_of_a_terminal)
    threads = {function: threading.Thread(target=timed, args=(function,)) for function in functions}
    for thread in threads.values():
        thread.start()
    for function in (in_poll, in_clock_nanosleep):
        threads[function].join()
    wake()
    for thread in threads.values():
        thread.join()
    print(json.dumps(slept))
