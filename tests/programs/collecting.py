"""One thread collects garbage all the time and holds the GIL meanwhile; another one wants the GIL. Prints their numbers, then waits for its input to end."""

import gc
import json
import os
import sys
import threading

MANY = [[] for _ in range(300_000)]
NUMBERS = {}


def collects():
    NUMBERS["collects"] = threading.get_native_id()
    while True:
        gc.collect()


def wants():
    NUMBERS["wants"] = threading.get_native_id()
    while True:
        pass


for function in (collects, wants):
    threading.Thread(target=function, name=function.__name__, daemon=True).start()
while len(NUMBERS) < 2:
    pass
print(json.dumps(NUMBERS), flush=True)
sys.stdin.read()
os._exit(0)
