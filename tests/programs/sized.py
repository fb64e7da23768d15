"""Local variables of many types. Prints what `sys.getsizeof` says of each, null where `genba dump` says nothing; then waits for its input to end."""

import collections
import json
import os
import sys


class Plain:
    def __init__(self):
        self.first, self.second = 1, 2


class Slotless:
    __slots__ = ()


class Slots:
    __slots__ = ("one",)


class OwnList(list):
    pass


def holds():
    zero, flag, large, negative, real, nothing = 0, True, 1 << 70, -(1 << 31), 0.5, None
    ascii, latin, wide, asked = "a" * 1000, "é" * 1000, "я" * 1000, "€" * 1000
    asked.encode()
    empty_bytes, data, empty_tuple, pair = b"", bytes(1000), (), (1, 2)
    empty_list, literal, million, grown = [], [1, 2, 3], list(range(1_000_000)), []
    for number in range(100):
        grown.append(number)
    empty_dict, words, numbers = {}, {"one": 1, "two": 2}, {number: number for number in range(100_000)}
    empty_set, small_set, large_set, frozen = set(), {1, 2}, set(range(1000)), frozenset(range(100))
    empty_array, array, shrunk = bytearray(), bytearray(10_000_000), bytearray(100)
    del shrunk[10:]
    plain, bare, without = Plain(), object(), Slotless()
    shared = Plain().__dict__
    slots, own_list, queue, ordered, function = Slots(), OwnList([1]), collections.deque([1]), collections.OrderedDict(a=1), holds
    unknown = {"slots", "own_list", "queue", "ordered", "function"}
    sizes = {name: None if name in unknown else sys.getsizeof(value) for name, value in locals().items() if name not in ("unknown", "sizes")}
    print(json.dumps(sizes), flush=True)
    sys.stdin.read()  # waits
    os._exit(0)


holds()
