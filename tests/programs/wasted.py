"""Makes known numbers of objects in use and as many kinds of garbage, with the collector off; says how many, waits, and says what became of them."""

import collections
import datetime
import functools
import gc
import json
import os
import sys
import threading
import types
import weakref

ENDED = []


class Node:
    def __init__(self, *held):
        self.held, self.itself = held, self


class Ended(Node):
    def __del__(self):
        ENDED.append(1)


class Seen(Node):
    """Its attributes are in a dict, too, as pickle leaves them."""

    def __init__(self, number):
        super().__init__(number)
        vars(self)


class Text(str):
    __slots__ = ()


class InDict: pass
class InCell: pass
class InGenerator: pass
class InCoroutine: pass
class InTraceback: pass
class InFrozen: pass
class InThread: pass
class InModule: pass
class Watched: pass
class Shared: pass
class OfLateClass: pass
class Listed(list): pass
class Slotted:
    __slots__ = ("one", "two")


class Zone(datetime.tzinfo):
    def __init__(self, name=None):
        self.name = name


def generates(value, itself):
    itself.append((yield value))
    yield itself


@types.coroutine
def turn():
    yield


def waiting(value, itself):
    async def run():
        itself.append(value)
        await turn()

    coroutine = run()
    coroutine.send(None)
    itself.append(coroutine)
    return coroutine


def generator(value):
    itself = []
    made = generates(value, itself)
    next(made)
    itself.append(made)
    return made


def closed(value):
    def inner():
        return value, inner

    return inner


def traceback(value):
    def fails():
        kept = value
        try:
            raise ValueError(kept)
        except ValueError as error:
            saved = error
        return saved

    return fails()


def module(value):
    made = types.ModuleType("made")
    made.value, made.itself = value, made
    exec("def function(): return value", made.__dict__)
    return made


def late_class(number):
    made = type("Late", (OfLateClass,), {"number": number, "late": lambda self: __class__})
    made.kept = [made() for _ in range(3)]
    return made


def slotted():
    one, two = Slotted(), Slotted()
    one.one, one.two, two.one = two, one, one
    return one


def make(number):
    """One of each kind; all of them are part of a cycle."""
    table = collections.OrderedDict({Text(f"key {number}"): InDict()})
    table["itself"] = table
    queue = collections.deque([Listed([Text(f"listed {number}")])])
    queue.append(queue)
    partial = functools.partial(print, table, Text(f"partial {number}"))
    partial.__dict__["itself"] = partial
    watched = Node(Watched())
    day = datetime.datetime(2026, 1, 1, tzinfo=Zone(Text(f"zone {number}")))
    return [
        Node(Text(f"text {number}"), day, number * 1_000_003), Ended(), table, queue, partial, watched, closed(InCell()), generator(InGenerator()),
        waiting(InCoroutine(), []), traceback(InTraceback()), module(InModule()), late_class(number), slotted(), Node(bytearray(100), memoryview(b"x" * 9)), Seen(number),
    ], weakref.ref(watched.held[0], ENDED.append)


def keeps(ready, end):
    mine = [InThread(), InThread()]
    ready.set()
    end.wait()
    return mine


def main():
    gc.disable()
    frozen = Node(InFrozen())
    frozen = None
    gc.freeze()
    ready, end = threading.Event(), threading.Event()
    thread = threading.Thread(target=keeps, args=(ready, end))
    thread.start()
    ready.wait()
    running = generator(InGenerator())
    kept = [make(number) for number in range(20)]
    shared = Shared()
    for number in range(30):
        make(number)
        Node(shared)
    print("ready " + json.dumps({"live": counted(20, 1), "garbage": counted(30, 0)}), flush=True)
    sys.stdin.readline()
    end.set()
    thread.join()
    print(json.dumps({"ended": len(ENDED), "kept": len(kept), "running": running is not None, "enabled": gc.isenabled()}), flush=True)
    os._exit(0)


def counted(number, is_live):
    return {
        "Node": 3 * number + (1 if is_live else 30), "Ended": number, "Seen": number, "Text": 5 * number, "InDict": number, "InCell": number, "InGenerator": number + is_live, "InCoroutine": number,
        "InTraceback": number, "InModule": number, "InFrozen": is_live, "InThread": 2 * is_live, "Watched": number, "Shared": is_live, "Listed": number,
        "Late": 3 * number, "Slotted": 2 * number, "Zone": number,
    }


main()
