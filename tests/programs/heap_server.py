"""Busy in four threads, with a SIGCHLD handler and `waitpid(-1)`, until a line comes. Says whether anything was not as it has to be."""

import hashlib
import json
import os
import signal
import sys
import threading
import zlib

WRONG = []
CHILDREN = []
END = threading.Event()
ROUNDS = {"hashes": 0, "squeezes": 0, "churns": 0, "waits": 0}
DIGEST = hashlib.sha256(b"genba" * 40_000).hexdigest()


def hashes():
    data = b"genba" * 40_000
    while not END.is_set():
        if hashlib.sha256(data).hexdigest() != DIGEST:
            WRONG.append("digest")
        ROUNDS["hashes"] += 1


def squeezes():
    data = bytes(range(256)) * 400
    while not END.is_set():
        if zlib.decompress(zlib.compress(data)) != data:
            WRONG.append("zlib")
        ROUNDS["squeezes"] += 1


def churns():
    while not END.is_set():
        made = {number: [number, str(number), {"number": number}] for number in range(2_000)}
        if sum(row[0] for row in made.values()) != 1_999_000:
            WRONG.append("sum")
        ROUNDS["churns"] += 1


def waits():
    while not END.is_set():
        try:
            WRONG.append(f"waited for {os.waitpid(-1, os.WNOHANG)}")
        except ChildProcessError:
            pass
        ROUNDS["waits"] += 1
        END.wait(0.001)


signal.signal(signal.SIGCHLD, lambda *_: CHILDREN.append(1))
THREADS = [threading.Thread(target=one) for one in (hashes, squeezes, churns, waits)]
for thread in THREADS:
    thread.start()
print("ready", flush=True)
sys.stdin.readline()
END.set()
for thread in THREADS:
    thread.join()
print(json.dumps({"wrong": WRONG[:5], "children": len(CHILDREN), "idle": [name for name, rounds in ROUNDS.items() if rounds == 0]}), flush=True)
