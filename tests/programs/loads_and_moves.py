"""Threads that load a library, copy with it and unload it, again and again, until a line comes: `loads_and_moves.py LIBRARY…`."""

import _ctypes
import ctypes
import json
import sys
import threading

BYTES = 10_000
FROM = bytes(range(250)) * (BYTES // 250)
over = threading.Event()
rounds, wrong = 0, 0


def loads(path):
    global rounds, wrong
    room = ctypes.create_string_buffer(BYTES)
    while not over.is_set():
        library = ctypes.CDLL(path)
        wrong += library.moves(room, FROM, ctypes.c_ulong(BYTES)) != 1
        _ctypes.dlclose(library._handle)
        rounds += 1


threads = [threading.Thread(target=loads, args=(path,)) for path in sys.argv[1:]]
for thread in threads:
    thread.start()
print("ready", flush=True)
sys.stdin.readline()
over.set()
for thread in threads:
    thread.join()
print(json.dumps({"loaded": rounds > 0, "wrong": wrong}))
