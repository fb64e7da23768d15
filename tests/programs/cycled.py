"""Leaves known cycles to the collector, one kind of each unless a number says more, and says how many objects they are; at a line on stdin it
collects, says what that returned, and ends. argv: which kinds, each as name or name:count; "off" leaves the collector on, as it is."""

import functools
import gc
import json
import sys
import weakref


class Node:
    def __init__(self, parent=None):
        self.parent = parent
        self.children = []
        if parent is not None:
            parent.children.append(self)


class Slotted:
    __slots__ = ("other", "payload")


class Ends:
    ended = 0

    def __del__(self):
        Ends.ended += 1


class Held:
    pass


class WithDict:
    pass


KEPT = []
SEEN = weakref.WeakSet()


def key():
    d = {}
    d["key"] = d


def html():
    d = {}
    d["</script><b>"] = d


def two_dicts():
    one, other = {}, {}
    one["child"], other["parent"] = other, one


def tree():
    root = Node()
    for _ in range(3):
        Node(root)


def slots():
    one, other = Slotted(), Slotted()
    one.other, other.other = other, one
    # Only this one holds it.
    one.payload = bytes(10_000)


def circle(length=5):
    first = last = []
    for _ in range(length - 1):
        last.append([])
        last = last[0]
    last.append(first)


def in_tuple():
    items = []
    items.append((items,))


def closure():
    def countdown(n):
        return n and countdown(n - 1)
    countdown(1)


def generator():
    def ticks():
        yield me
    me = []
    made = ticks()
    next(made)
    me.append(made)


def local():
    def keeps(held):
        yield
        print(held)
    held = Held()
    held.by = keeps(held)
    next(held.by)


def traceback():
    def fails():
        try:
            raise ValueError("no")
        except ValueError as error:
            kept = error
        return None if kept else kept
    fails()


def weak():
    first = Held()
    first.itself = first
    first.seen = weakref.ref(first)


def weak_set():
    one = Held()
    one.itself = one
    SEEN.add(one)


def partial():
    items = []
    items.append(functools.partial(print, items))


def of_class():
    class Made:
        pass

    return Made is None


def ends():
    one = Ends()
    one.itself = one


def with_dict():
    one = WithDict()
    one.__dict__["itself"] = one


def keys(count=20):
    for number in range(count):
        d = {}
        d[f"user:{number}"] = d


def escapes():
    d = {}
    d["\x1b[31m'\n"] = d


def long_name():
    KEPT.append(type("L" * 100_000, (), {}))
    one = KEPT[-1]()
    one.itself = one


def in_use():
    kept = Node()
    Node(kept)
    KEPT.append(kept)


def uncollectable():
    gc.set_debug(gc.DEBUG_SAVEALL)
    key()
    gc.collect()
    gc.set_debug(0)


def hanging():
    one = Held()
    one.itself = one
    one.table = [[number] for number in range(100)]


def main():
    collect, made = gc.collect, {}
    stays_on = "on" in sys.argv[1:]
    collect()
    if not stays_on:
        gc.disable()
    for word in sys.argv[1:]:
        name, _, count = word.partition(":")
        if name == "circle_of":
            circle(int(count))
        elif name != "on":
            for _ in range(int(count or 1)):
                globals()[name]()
        made[name] = int(count or 1)
    print("ready " + json.dumps(made), flush=True)
    sys.stdin.readline()
    collected = collect()
    print(json.dumps({"collected": collected, "ended": Ends.ended, "kept": len(KEPT)}))


main()
