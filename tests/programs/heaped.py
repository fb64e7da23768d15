"""Makes known numbers of objects in all the ways that keep one alive, says how many, waits for a line, and says whether all are as they were.

`broken`: a class gets a `tp_traverse` that leads nowhere, as a faulty extension has it; `loops`: one that has no end. `names`: classes with names that nobody should have.
"""

import ctypes
import gc
import json
import mmap
import os
import sys
import threading
from collections import deque

TP_TRAVERSE = 184
JUMP_TO_ITSELF = b"\xeb\xfe"
LOOP = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)


class Slotted:
    __slots__ = ("one", "two")

    def __init__(self, one, two):
        self.one, self.two = one, two


class Plain:
    def __init__(self, number):
        self.number, self.text = number, f"text {number}"


class Number(int):
    pass


class Text(str):
    pass


class Fraction(float):
    pass


class Listed(list):
    pass


class InCell:
    pass


class InGenerator:
    pass


class InFrame:
    pass


class InThread:
    pass


class InDeque:
    pass


class InKey(str):
    pass


class Frozen:
    pass


class InCycle:
    pass


class Lonely:
    """Never made."""


def closed(value):
    return lambda: value


def generates(value):
    yield 1
    print(value)


def keeps(ready, end):
    mine = [InThread(), InThread()]
    ready.set()
    end.wait()
    return mine


def main():
    local = InFrame()
    slotted = [Slotted(number, str(number)) for number in range(10_000)]
    plain = [Plain(number) for number in range(3_000)]
    numbers = tuple(Number(number) for number in range(400))
    texts = {Text(f"t{number}") for number in range(300)}
    fractions = [Fraction(number) for number in range(200)]
    lists = [Listed(range(number)) for number in range(100)]
    cells = [closed(InCell()) for _ in range(50)]
    generators = [generates(InGenerator()) for _ in range(40)]
    for generator in generators:
        next(generator)
    queue = deque(InDeque() for _ in range(30))
    keys = {InKey(f"k{number}"): number for number in range(20)}
    unique = {f"unique {number}": None for number in range(5_000)}
    for _ in range(10):
        one = InCycle()
        one.itself = one
    one = None
    ready, end = threading.Event(), threading.Event()
    thread = threading.Thread(target=keeps, args=(ready, end))
    thread.start()
    ready.wait()
    frozen = [Frozen() for _ in range(7)]
    gc.collect()
    gc.disable()
    for _ in range(10):
        one = InCycle()
        one.itself = one
    one = None
    gc.freeze()
    counts = {
        "Slotted": 10_000, "Plain": 3_000, "Number": 400, "Text": 300, "Fraction": 200, "Listed": 100, "InCell": 50, "InGenerator": 40,
        "InFrame": 1, "InThread": 2, "InDeque": 30, "InKey": 20, "Frozen": 7, "InCycle": 10, "Lonely": 0,
    }
    extra = {}
    if "broken" in sys.argv:
        # The collector is off: nobody else calls it.
        ctypes.c_void_p.from_address(id(Plain) + TP_TRAVERSE).value = 8
    if "loops" in sys.argv:
        LOOP.write(JUMP_TO_ITSELF)
        address = ctypes.addressof(ctypes.c_char.from_buffer(LOOP))
        ctypes.c_void_p.from_address(id(Plain) + TP_TRAVERSE).value = address
    if "names" in sys.argv:
        extra = odd_names()
    print("ready " + json.dumps({"counts": counts, "slotted_bytes": sys.getsizeof(slotted[0]) * 10_000}), flush=True)
    sys.stdin.readline()
    end.set()
    thread.join()
    is_whole = all(one.one == number and one.two == str(number) for number, one in enumerate(slotted))
    kept = [plain, numbers, texts, fractions, lists, cells, generators, queue, keys, unique, frozen, local, extra]
    print(json.dumps({"whole": is_whole, "kept": len(kept), "tracked": gc.is_tracked(slotted[0]), "enabled": gc.isenabled()}), flush=True)
    # Finalization would collect.
    os._exit(0)


def odd_names():
    class Liar(type):
        @property
        def __module__(cls):
            return "a.lie"

        @property
        def __name__(cls):
            return "Lie"

        __qualname__ = "Honest"

    long = type("L" * 1_000_000, (), {"__module__": "m" * 1_000_000})
    without_text = type("WithoutText", (), {"__module__": 42})
    surrogate = type("Half", (), {})
    surrogate.__qualname__ = "Half\ud800"
    unicode = type("Füße", (), {"__module__": "модуль"})
    dotted = type("numpy.ndarray", (), {})
    honest = Liar("Honest", (), {})
    lying_class = type("Liar2", (), {"__class__": property(lambda self: int)})
    return {index: [made() for _ in range(3)] for index, made in enumerate([long, without_text, surrogate, unicode, dotted, honest, lying_class])}


main()
