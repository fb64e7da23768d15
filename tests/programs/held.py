"""Keeps known numbers of objects alive, each in a way of its own, and says by which; waits for a line, and ends."""

import collections
import ctypes
import gc
import json
import os
import sys
import threading
import types


class Leak:
    pass


class ByAttribute(Leak): pass
class ByKey(Leak): pass
class BySlot(Leak): pass
class ByItem(Leak): pass
class AsKey(Leak): pass
class ByLocal(Leak): pass
class ByClosure(Leak): pass
class ByGenerator(Leak): pass
class ByClass(Leak): pass
class ByC(Leak): pass
class ByNothing(Leak): pass
class ByNamespace(Leak): pass
class InThread(Leak): pass
class ByDict(Leak): pass
class Slow(Leak): pass
class Two(Leak): pass
class InCellDict(Leak): pass
class InSlotDict(Leak): pass
class InGlobals(Leak): pass
class OfTuple(Leak): pass
class OfFunction(Leak): pass
class OfDict(Leak): pass
class InDict(Leak): pass
class OfList(Leak): pass
class InList(Leak): pass
class BySlotOfList(Leak): pass
class OfSet(Leak): pass
class OfOrdered(Leak): pass


class Chained(Leak):
    def __init__(self, next):
        self.next = next


class Cache:
    def __init__(self):
        self.store = {"hot": [(ByKey(),) for _ in range(300)], 7: [(ByKey(),) for _ in range(100)]}
        self.one = ByAttribute()


class Slotted:
    __slots__ = ("first", "second")


class Row(tuple):
    pass


class Index(dict):
    pass


class Rows(list):
    pass


class Labelled(list):
    __slots__ = ("label",)


class Names(set):
    pass


class Base:
    kept = ByClass()


class WithDict:
    pass


def closed(value):
    return lambda: value


def generates():
    held = ByGenerator()
    yield 1
    print(held)


def keeps(ready, end):
    mine = [InThread(), InThread()]
    ready.set()
    end.wait()
    return mine


LEAK = Leak()
CACHE = Cache()
SLOTTED = Slotted()
SLOTTED.second = BySlot()
ITEMS = [ByItem() for _ in range(50)]
KEYS = {AsKey(): 1}
CLOSURE = closed(ByClosure())
GENERATOR = generates()
next(GENERATOR)
SPENT = generates()
list(zip(SPENT, range(0)))
SPENT.close()
DICT = WithDict()
DICT.__dict__["late"] = ByDict()
IN_CELL = closed({"in": InCellDict()})
IN_SLOT = Slotted()
IN_SLOT.first = {"in": InSlotDict()}
FOREIGN = types.FunctionType(compile("0", "foreign.py", "exec"), {"in": InGlobals()})
ROW = Row((1, 2, 3))
ROW.late = OfTuple()
closed.late = OfFunction()
INDEX = Index(one=InDict())
INDEX.late = OfDict()
ROWS = Rows([InList()])
ROWS.late = OfList()
LABELLED = Labelled([1, 2])
LABELLED.label = BySlotOfList()
NAMES = Names(["one"])
NAMES.late = OfSet()
ORDERED = collections.OrderedDict(one=1)
ORDERED.late = OfOrdered()
CHAIN = None
for _ in range(5_000):
    CHAIN = Chained(CHAIN)
TWO_A, TWO_B = [Two() for _ in range(30)], {number: Two() for number in range(10)}
other = types.ModuleType("other")
other.Slow = type("Slow", (), {"__module__": "other"})
other.held = other.Slow()
SLOW = Slow()


def main():
    local = ByLocal()
    gc.collect()
    gc.disable()
    garbage = ByNothing()
    garbage.itself = garbage
    garbage = None
    by_c = ByC()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(by_c))
    by_c = None
    ready, end = threading.Event(), threading.Event()
    thread = threading.Thread(target=keeps, args=(ready, end))
    thread.start()
    ready.wait()
    exec("held = made()\nwait()", {"made": ByNamespace, "wait": wait})
    end.set()
    thread.join()
    print(json.dumps({"local": local is not None}), flush=True)
    os._exit(0)


def wait():
    print("ready {}", flush=True)
    sys.stdin.readline()


main()
