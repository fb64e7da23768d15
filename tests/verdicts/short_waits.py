"""Waits shorter than a tick at 1 kHz, hundreds of them. argv: which of the functions, and how often it waits."""

import json
import multiprocessing
import os
import queue
import socket
import sys
import tempfile
import threading
import time

# Shorter than a tick, and long beside what it costs to wait on a machine whose CPUs are all taken.
ANSWER_SECONDS = 0.0005
FORK = multiprocessing.get_context("fork")


def turns():
    """How often this thread got a CPU."""
    return int(open("/proc/thread-self/schedstat").read().split()[2])


def commits(count):
    """Rows come one by one, into a file in this folder; each is a transaction of its own. Did each wait for that disk?"""
    try:
        import sqlite3
    except ImportError:
        return None
    with tempfile.TemporaryDirectory(dir=".") as folder:
        rows = sqlite3.connect(f"{folder}/rows.db")
        # Its journal stays: to make a file and take it away again is work.
        rows.execute("PRAGMA journal_mode = TRUNCATE")
        rows.execute("CREATE TABLE row (number)")
        waited = 0
        for number in range(count):
            time.sleep(2 * ANSWER_SECONDS)
            rows.execute("INSERT INTO row VALUES (?)", (number,))
            before = turns()
            rows.commit()
            waited += turns() > before
    return waited == count


def pipes(count):
    """A question and an answer, each a byte."""
    asked, ask, answered, answer = *os.pipe(), *os.pipe()
    if os.fork() == 0:
        while os.read(asked, 1) == b"?":
            time.sleep(ANSWER_SECONDS)
            os.write(answer, b"!")
        os._exit(0)
    for _ in range(count):
        os.write(ask, b"?")
        os.read(answered, 1)
    os.write(ask, b".")
    os.wait()


def answers(server):
    while server.recv(100) != b"QUIT":
        time.sleep(ANSWER_SECONDS)
        server.sendall(b"answer")


def queries(client, count):
    for _ in range(count):
        client.sendall(b"SELECT 1")
        client.recv(100)
    client.sendall(b"QUIT")


def thread(count):
    """Small queries to a thread."""
    client, server = socket.socketpair()
    threading.Thread(target=answers, args=(server,)).start()
    queries(client, count)


def process(count):
    """Small queries to a process."""
    client, server = socket.socketpair()
    child = FORK.Process(target=answers, args=(server,))
    child.start()
    queries(client, count)
    child.join()


def produce(made, count):
    for number in range(count):
        time.sleep(ANSWER_SECONDS)
        made.put(number)


def items(count):
    """From a thread, by a lock."""
    made = queue.Queue()
    threading.Thread(target=produce, args=(made, count)).start()
    for _ in range(count):
        made.get()


def messages(count):
    """From a process, by a pipe."""
    made = FORK.SimpleQueue()
    child = FORK.Process(target=produce, args=(made, count))
    child.start()
    for _ in range(count):
        made.get()
    child.join()


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](int(sys.argv[2]))))
