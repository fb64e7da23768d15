"""Threads that stand still at known places, and one that never does. Prints its thread numbers by name, then waits for its input to end."""

import json
import os
import queue
import select
import sys
import threading

READ, WRITE = os.pipe()
HELD = threading.RLock()
TAKEN = threading.Lock()
NEVER = threading.Event()
# The second one lies in another word of the kernel's sets.
FAR = os.dup2(READ, 100)
NUMBERS = {}


def recursion(depth):
    if depth:
        return recursion(depth - 1)  # deeper
    return os.read(READ, 1)  # reads


def Привет(очередь):
    имя = "мир"
    return очередь.get(), имя  # gets


def numbers():
    yield os.read(READ, 1)  # yields


def generator():
    return sum(map(len, numbers()))  # sums


async def inner():
    return os.read(READ, 1)  # awaits


async def outer():
    return await inner()  # awaited


def coroutine():
    outer().send(None)  # sends


def rlock():
    HELD.acquire()  # acquires


def entered():
    with HELD:  # enters the lock
        pass


def lock():
    TAKEN.acquire()  # acquires the lock


def event():
    NEVER.wait()  # waits for the event


def selects():
    return select.select([READ], [], [FAR])  # selects


def spins():
    while True: pass  # spins


class Made:
    def __init__(self, waits):
        self.waits = waits
        if waits:
            os.read(READ, 1)  # reads in init


def made():
    for turn in range(100):
        Made(turn == 99)  # makes


def plain():
    number, big, negative, flag, nothing = 42, 1 << 200, -(10**12), True, None
    text, кириллица, data, share = "a" * 100, "я\n", b"\x00b", 0.5
    items, table, some = [1, 2, 3], {"key": "secret"}, {1, 2}

    def captures():
        return number

    os.read(READ, 1)  # plain
    return big, negative, flag, nothing, text, кириллица, data, share, items, table, some, captures


def enters(function, *arguments):
    NUMBERS[threading.current_thread().name] = threading.get_native_id()
    function(*arguments)


THREADS = {
    "recursion": (recursion, 4),
    "рабочий с длинным именем": (Привет, queue.SimpleQueue()),
    "generator": (generator,),
    "coroutine": (coroutine,),
    "rlock": (rlock,),
    "entered": (entered,),
    "lock": (lock,),
    "event": (event,),
    "selects": (selects,),
    "made": (made,),
    "plain": (plain,),
    "spins": (spins,),
}

HELD.acquire()
TAKEN.acquire()
for name, what in THREADS.items():
    threading.Thread(target=enters, args=what, name=name, daemon=True).start()
while len(NUMBERS) < len(THREADS):
    pass
print(json.dumps(NUMBERS), flush=True)
sys.stdin.read()  # waits
os._exit(0)
