"""C that calls itself deeply, with Python at the end of it: the repr of nested lists. Shallow nests are seen whole, deep ones
reach past the bound of C frames, where a mark must say so. argv: CPU seconds."""
# families: _a _b

import sys
from time import process_time


def work_a(count):
    total = 0
    for number in range(count):
        total += number
    return total


class Leaf_a:
    def __repr__(self):
        return str(work_a(2000))  # calls: work_a


def shown_a(nest):
    return repr(nest)  # calls: Leaf_a.__repr__


def shallow_a(nest):
    return shown_a(nest)  # calls: shown_a


def deep_a(nest):
    return shown_a(nest)  # calls: shown_a


def work_b(count):
    total = 0
    for number in range(count):
        total += number
    return total


class Leaf_b:
    def __repr__(self):
        return str(work_b(2000))  # calls: work_b


def shown_b(nest):
    return repr(nest)  # calls: Leaf_b.__repr__


def shallow_b(nest):
    return shown_b(nest)  # calls: shown_b


def deep_b(nest):
    return shown_b(nest)  # calls: shown_b



def nested(leaf, depth):
    for _ in range(depth):
        leaf = [leaf]
    return leaf


def main(cpu_seconds):
    few_a, many_a = nested(Leaf_a(), 20), nested(Leaf_a(), 400)  # calls: nested
    few_b, many_b = nested(Leaf_b(), 20), nested(Leaf_b(), 400)  # calls: nested
    while process_time() < cpu_seconds:
        shallow_a(few_a)  # calls: shallow_a
        deep_b(many_b)  # calls: deep_b
        shallow_b(few_b)  # calls: shallow_b
        deep_a(many_a)  # calls: deep_a


if __name__ == "__main__":
    main(float(sys.argv[1]))  # calls: main
