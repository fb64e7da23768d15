"""A program with many libraries and 300,000 objects, which counts its own objects by the blocks of its allocator (blocks.c, preloaded)."""

import argparse
import asyncio
import ctypes
import dataclasses
import datetime
import decimal
import email.message
import gc
import json
import logging
import sys
import typing
import unittest
import xml.etree.ElementTree


class Row:
    def __init__(self, number):
        self.number, self.name, self.parts = number * 1000, f"row {number}", (number, str(number))


@dataclasses.dataclass
class Point:
    x: float
    day: datetime.datetime


def all_types():
    found, waiting = {object}, [object]
    while waiting:
        for one in type.__subclasses__(waiting.pop()):
            if one not in found:
                found.add(one)
                waiting.append(one)
    return sorted(found, key=id)


library = ctypes.CDLL(sys.argv[1])
rows = [Row(number) for number in range(50_000)]
points = [Point(number / 7, datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(minutes=number)))) for number in range(1000)]
ranges = [range(number << 40) for number in range(1000)]
table = {f"key {number}": {number: [number / 3]} for number in range(10_000)}
codes = [compile(f"def f{number}(a, b): return a + b * {number + 1000}", f"file {number}", "exec") for number in range(500)]
classes = [type(f"Class{number}", (), {"__slots__": ("a", "b"), "method": lambda self: None}) for number in range(500)]
gc.collect()
gc.disable()
types = all_types()
addresses = (ctypes.c_size_t * len(types))(*map(id, types))
counts = (ctypes.c_int64 * len(types))()
library.count.restype = library.count_static.restype = ctypes.c_long
total = library.count(addresses, counts, ctypes.c_long(len(types)), sys.version_info.minor)
said = [[str(one.__module__), one.__qualname__, counts[index]] for index, one in enumerate(types) if counts[index]]
static = {one.__name__: library.count_static(ctypes.c_size_t(id(one))) for one in (str, bytes, int)}
print("ready " + json.dumps({"total": total, "counts": said, "static": static}), flush=True)
sys.stdin.readline()
